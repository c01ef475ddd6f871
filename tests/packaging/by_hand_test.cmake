# The compile commands that the guide and examples/first_program.cpp show, as they stand there, against the installation: what
# pkg-config says must be all that a program needs.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
find_program(AWK awk REQUIRED)
set(folder "${SCRATCH}/by_hand")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
set(ENV{PKG_CONFIG_PATH} "${PREFIX}/${LIBDIR}/pkgconfig")
foreach(name C_INCLUDE_PATH CPATH LIBRARY_PATH LD_LIBRARY_PATH NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS)
  unset(ENV{${name}})
endforeach()

# commands(FILE REGEX): the commands in FILE whose first line begins with what REGEX matches, a line each, in `found`.
function(commands file regex)
  file(READ "${file}" text)
  string(REGEX REPLACE "\\\\\n *" "" text "${text}")
  string(REGEX MATCHALL "\n *${regex} [^\n]*" lines "${text}")
  list(TRANSFORM lines STRIP)
  if(NOT lines)
    message(FATAL_ERROR "${file} shows no command `${regex}`")
  endif()
  set(found "${lines}" PARENT_SCOPE)
endfunction()

set(guide "${SOURCE_TREE}/docs/writing-a-program.md")
set(first_program "${SOURCE_TREE}/examples/first_program.cpp")
file(MAKE_DIRECTORY "${folder}/snippets")
run("${AWK}" -v "folder=${folder}/snippets" -v stem=guide -f "${CMAKE_CURRENT_LIST_DIR}/../docs/extract.awk" "${guide}")
file(COPY_FILE "${folder}/snippets/guide_1.cpp" "${folder}/nearest.cpp")
file(COPY_FILE "${first_program}" "${folder}/first_program.cpp")

commands("${guide}" "g\\+\\+")
run(sh -ec "cd '${folder}' && ${found} && ./nearest")
file(READ "${folder}/snippets/guide_1.txt" expected)
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "The guide says:\n${expected}\nThe program, compiled as it says, prints:\n${output}")
endif()
commands("${first_program}" "g\\+\\+")
run(sh -ec "cd '${folder}' && ${found} && ./first_program")
expect("${output}" "90000 of 90000 vertices reached .*verified" "first_program")

# Of the library with 64-bit ids, where it is installed, the flags.
if(EXISTS "${PREFIX}/${LIBDIR}/libchatty64.a")
  run("${PKG_CONFIG}" --cflags --libs chatty64)
  expect("${output}" "-I${PREFIX}/.*-DCHATTY_VERTEX_BITS=64 .*-L${PREFIX}/.* -lchatty64 .*-lspdlog" "chatty64.pc")
endif()

if(NOT CUDA_COMPILER)
  return()
endif()
# nvcc takes a minute for a program. Whether it knows all that it is told, it says before it begins; and that it refuses a
# function that is not there on GPUs, by a source that takes a second.
get_filename_component(nvcc "${CUDA_COMPILER}" DIRECTORY)
set(ENV{PATH} "${nvcc}:$ENV{PATH}")
file(WRITE "${folder}/host_function.cu" "int HostOnly(int x) { return 2 * x; }
__host__ __device__ int Both(int x) { return HostOnly(x); }
__global__ void Kernel(int* p) { *p = Both(*p); }
int main() { Kernel<<<1, 1>>>(nullptr); }
")
foreach(page "${guide}" "${first_program}")
  commands("${page}" nvcc)
  run(sh -ec "cd '${folder}' && ${found} --dryrun")
  expect("${output}${errors}" "-lchatty.*-lcudart_static" "${found} --dryrun")
  string(REGEX REPLACE "[a-z_]+\\.cpp" "host_function.cu" found "${found}")
  run_fails(ANY "cross-execution-space-call|calling a __host__ function" sh -ec "cd '${folder}' && ${found}")
endforeach()
