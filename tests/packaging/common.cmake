# What the scripts of this folder share. Each is run as `cmake -D SETTINGS=file ... -P script.cmake` by a test; the file says what
# the build is that is being packaged.
cmake_minimum_required(VERSION 3.25)
include("${SETTINGS}")
set(ENV{OMP_WAIT_POLICY} passive)
# What a build or a shell around the test says shall not reach the projects that it builds.
foreach(name CXXFLAGS CUDAFLAGS LDFLAGS CMAKE_PREFIX_PATH CMAKE_BUILD_TYPE CMAKE_GENERATOR DESTDIR)
  unset(ENV{${name}})
endforeach()

# run(COMMAND...): fails with what the command printed if it fails; its standard output is then in `output`, errors in `errors`.
# run_fails(CODE TEXT COMMAND...): fails unless the command exits with CODE (or ANY but 0) and prints TEXT, a regular expression.
macro(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT result STREQUAL "0")
    set(shown ${ARGN})
    list(JOIN shown " " shown)
    message(FATAL_ERROR "${shown}\nended with ${result}:\n${output}\n${errors}")
  endif()
endmacro()

macro(run_fails code text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  set(shown ${ARGN})
  list(JOIN shown " " shown)
  if(result STREQUAL "0" OR (NOT "${code}" STREQUAL "ANY" AND NOT result STREQUAL "${code}"))
    message(FATAL_ERROR "${shown}\nended with ${result} instead of ${code}:\n${output}\n${errors}")
  endif()
  # CMake wraps its messages.
  string(REGEX REPLACE "[ \n]+" " " said "${output} ${errors}")
  if(NOT said MATCHES "${text}")
    message(FATAL_ERROR "${shown}\ndid not say `${text}` but\n${output}\n${errors}")
  endif()
endmacro()

# expect(TEXT REGEX WHAT): fails unless TEXT matches.
function(expect text regex what)
  if(NOT "${text}" MATCHES "${regex}")
    message(FATAL_ERROR "${what}: expected `${regex}` in\n${text}")
  endif()
endfunction()

# A configure command with this build's tools. (No build type: what it is for is to build quickly.)
set(CONFIGURE "${CMAKE_COMMAND}" -G Ninja "-DCMAKE_MAKE_PROGRAM=${NINJA}" "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
              "-DCMAKE_CXX_COMPILER_LAUNCHER=${CXX_LAUNCHER}" -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O0"
              -DCMAKE_COLOR_DIAGNOSTICS=OFF)
