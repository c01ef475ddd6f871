# Configures, without building, what the options can be combined to, and what must be refused with words. Two at a time, by two
# tests: SHARE is 0 or 1.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
set(number 0)

# Whether it is this share's turn, in `mine`; the folder is then `build`.
macro(next)
  math(EXPR turn "${number} % 2")
  math(EXPR number "${number} + 1")
  set(mine FALSE)
  if(turn EQUAL "${SHARE}")
    set(mine TRUE)
    set(build "${SCRATCH}/options-${SHARE}")
    file(REMOVE_RECURSE "${build}")
  endif()
endmacro()

# The two least configurations are enough for most: what is not asked for is off.
set(off -DCHATTY_ENABLE_CUDA=OFF -DCHATTY_ENABLE_METIS=OFF -DCHATTY_ENABLE_HWLOC=OFF
        -DCHATTY_ENABLE_LIBDEFLATE=OFF
        -DCHATTY_BUILD_TESTS=OFF)

# accepts(TEXT option...): configures, and the table or the messages have TEXT.
macro(accepts text)
  next()
  if(mine)
    run(${CONFIGURE} -S "${SOURCE_TREE}" -B "${build}" ${ARGN})
    expect("${output}${errors}" "${text}" "${ARGN}")
    if("${errors}" MATCHES "CMake [A-Za-z ]*Warning")
      message(FATAL_ERROR "${ARGN}: configures with warnings:\n${errors}")
    endif()
    file(STRINGS "${build}/build.ninja" edges LIMIT_COUNT 1 REGEX "^build .*libchatty\\.a")
    if(NOT edges)
      message(FATAL_ERROR "${ARGN}: no rule for the library")
    endif()
    message("configures: ${ARGN}")
  endif()
endmacro()

# lacks(TARGET): the last configuration has no such target. has(TARGET) the reverse.
macro(has target)
  if(mine)
    file(STRINGS "${build}/build.ninja" edges LIMIT_COUNT 1 REGEX "^build ${target}:")
    if(NOT edges)
      message(FATAL_ERROR "there is no target ${target}")
    endif()
  endif()
endmacro()
macro(lacks target)
  if(mine)
    file(STRINGS "${build}/build.ninja" edges LIMIT_COUNT 1 REGEX "^build ${target}:")
    if(edges)
      message(FATAL_ERROR "there is a target ${target}")
    endif()
  endif()
endmacro()

# refuses(TEXT option...): does not configure, and says TEXT.
macro(refuses text)
  next()
  if(mine)
    run_fails(ANY "${text}" ${CONFIGURE} -S "${SOURCE_TREE}" -B "${build}" ${ARGN})
    message("refuses: ${ARGN}")
  endif()
endmacro()

accepts("CUDA +switched off" -DCHATTY_ENABLE_CUDA=OFF)
has(core_test)
has(chatty_cli)
has(chatty64)
accepts("METIS +switched off" ${off})
lacks(core_test)
lacks(chatty64)
has(chatty_manual)
accepts("nlohmann_json +[0-9.]+" ${off} -DCHATTY_BUILD_CLI=OFF)
lacks(chatty_cli)
lacks(chatty_manual)
accepts("GTest" -DCHATTY_ENABLE_CUDA=OFF -DCHATTY_BUILD_CLI=OFF -DCHATTY_BUILD_64=OFF)
has(core_test)
lacks(cli_test)
lacks(chatty64)
accepts("CUDA" ${off} -DCHATTY_BUILD_64=ON -DCHATTY_NATIVE=ON -DCHATTY_WERROR=ON)
has(chatty64)
accepts("CUDA" ${off} -DCHATTY_INSTALL=OFF)
lacks(chatty_manual)
accepts("CUDA" ${off} -DCHATTY_BUILD_EXAMPLES=OFF -DCHATTY_BUILD_BENCHMARKS=OFF)
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  accepts("CUDA" ${off} -DCHATTY_BUILD_DOCS=ON)
  has(docs)
endif()
accepts("sanitizers: address,undefined" ${off} -DCHATTY_SANITIZE=address,undefined)
lacks(chatty_manual)
accepts("METIS +not found" ${off} -DCHATTY_ENABLE_METIS=AUTO -DCMAKE_DISABLE_FIND_PACKAGE_METIS=ON)
accepts("HWLOC +not found +NUMA nodes of GPUs from /sys" ${off} -DCHATTY_ENABLE_HWLOC=AUTO -DCMAKE_DISABLE_FIND_PACKAGE_HWLOC=ON)
refuses("CHATTY_ENABLE_NCCL is ON, but .*no CUDA" ${off} -DCHATTY_ENABLE_NCCL=ON)
if(CUDA_COMPILER)
  set(cuda -DCHATTY_ENABLE_CUDA=ON "-DCMAKE_CUDA_COMPILER=${CUDA_COMPILER}" -DCHATTY_ENABLE_METIS=OFF -DCHATTY_ENABLE_HWLOC=OFF
           -DCHATTY_ENABLE_LIBDEFLATE=OFF -DCHATTY_BUILD_TESTS=OFF)
  accepts("CUDA +[0-9.]+ +for 80-real 90-real 90-virtual" ${cuda} -DCHATTY_ENABLE_NCCL=OFF)
  accepts("CUDA +[0-9.]+ +for 75" ${cuda} -DCMAKE_CUDA_ARCHITECTURES=75 -DCMAKE_DISABLE_FIND_PACKAGE_NCCL=ON)
  refuses("CHATTY_ENABLE_NCCL is ON, but NCCL was not found" ${cuda} -DCHATTY_ENABLE_NCCL=ON -DCMAKE_DISABLE_FIND_PACKAGE_NCCL=ON)
endif()

refuses("CHATTY_ENABLE_METIS is ON, but METIS was not found.*CHATTY_ENABLE_METIS=OFF" ${off} -DCHATTY_ENABLE_METIS=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_METIS=ON)
accepts("LIBDEFLATE +not found +checksums by zlib" ${off} -DCHATTY_ENABLE_LIBDEFLATE=AUTO
        -DCMAKE_DISABLE_FIND_PACKAGE_LIBDEFLATE=ON)
refuses("CHATTY_ENABLE_HWLOC is ON, but HWLOC was not found" ${off} -DCHATTY_ENABLE_HWLOC=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_HWLOC=ON)
refuses("CHATTY_ENABLE_CUDA is AUTO, ON or OFF, not `ATUO`" ${off} -DCHATTY_ENABLE_CUDA=ATUO)
refuses("CHATTY_ENABLE_METIS is AUTO, ON or OFF, not `none`" ${off} -DCHATTY_ENABLE_METIS=none)
refuses("there is no sanitizer `adress`" ${off} -DCHATTY_SANITIZE=adress)
refuses("apt-get install .*libzstd-dev" ${off} -DCMAKE_DISABLE_FIND_PACKAGE_Zstd=ON)
refuses("nlohmann_json +not found +required: apt-get install nlohmann-json3-dev" ${off} -DCHATTY_BUILD_CLI=OFF
        -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
refuses("CLI11 +not found +required: apt-get install libcli11-dev" ${off} -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
refuses("CHATTY_FUZZ: libFuzzer comes with clang" ${off} -DCHATTY_FUZZ=ON -DCMAKE_CXX_COMPILER=g++)

# nvcc away.
next()
if(mine)
  file(MAKE_DIRECTORY "${build}/bin")
  run_fails(ANY "CHATTY_ENABLE_CUDA is ON, but no usable nvcc was found.*CHATTY_ENABLE_CUDA=OFF"
            "${CMAKE_COMMAND}" -E env --unset=CUDACXX --unset=CUDA_PATH --unset=CUDA_HOME "PATH=${build}/bin:/usr/bin:/bin"
            ${CONFIGURE} -S "${SOURCE_TREE}" -B "${build}" ${off} -DCHATTY_ENABLE_CUDA=ON "-DCHATTY_NVCC=${build}/bin/nvcc")
  message("refuses: CUDA without nvcc")
endif()
