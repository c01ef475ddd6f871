# The least that can be built, library and programs without CUDA, builds, and a small program links against what it installs.
#
# BUILD=OFF: the small program links against the installation in PREFIX. (Preset `tsan-set` builds the library without optional
# packages for each change.)
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
set(build "${SCRATCH}/minimal")
file(REMOVE_RECURSE "${build}")
set(prefix "${PREFIX}")
if(NOT DEFINED BUILD OR BUILD)
  set(prefix "${build}/prefix")
  run(${CONFIGURE} -S "${SOURCE_TREE}" -B "${build}" -DCMAKE_INSTALL_PREFIX=${prefix} -DCHATTY_ENABLE_CUDA=OFF
      -DCHATTY_ENABLE_NCCL=OFF -DCHATTY_ENABLE_METIS=OFF -DCHATTY_ENABLE_HWLOC=OFF -DCHATTY_ENABLE_LIBDEFLATE=OFF
      -DCHATTY_BUILD_CLI=OFF -DCHATTY_BUILD_TESTS=OFF
      -DCHATTY_BUILD_BENCHMARKS=OFF -DCHATTY_BUILD_EXAMPLES=OFF -DCHATTY_BUILD_64=OFF -DCHATTY_WERROR=ON
      -DCHATTY_UNITY=ON
      # Packages of the command line and of the tests are not for this.
      -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON)
  # What one target leaves out is built by the installation.
  run("${CMAKE_COMMAND}" --build "${build}" --target chatty --parallel 1)
  run("${CMAKE_COMMAND}" --install "${build}")
  # The library and its programs, which go in groups like this, and nothing of the command line.
  file(GLOB_RECURSE libraries RELATIVE "${prefix}" "${prefix}/*.a")
  set(others ${libraries})
  list(FILTER others EXCLUDE REGEX "/libchatty(_programs_prebuilt_[0-9]+)?\\.a$")
  list(LENGTH libraries count)
  if(others OR count LESS 2)
    message(FATAL_ERROR "installed are ${libraries}")
  endif()
  if(EXISTS "${prefix}/bin")
    message(FATAL_ERROR "a program was installed")
  endif()
endif()
set(small "${build}/small")
file(WRITE "${small}/CMakeLists.txt" "cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES CXX)
find_package(chatty 0.1 REQUIRED)
chatty_add_executable(small PROGRAMS bfs cc SOURCES main.cpp)
")
file(WRITE "${small}/main.cpp" "#include <chatty/chatty.h>
#include <chatty/framework/registry.h>
#include <chatty/programs/bfs.h>
#include <cstdio>
int main() {
  chatty::Registry registry;
  chatty::RegisterPrograms(registry);
  chatty::GeneratorSpec chain;
  chain.family = \"chain\";
  chain.count = 100;
  const auto result = chatty::Run(chatty::Generate(chain), chatty::Bfs{}, \"host:2\");
  std::printf(\"%zu programs, vertex 99 at level %u\\n\", registry.All().size(), static_cast<unsigned>(result.values[99]));
}
")
# Nor does an installed library ask for what only its own sources include.
run(${CONFIGURE} -S "${small}" -B "${small}/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
run("${CMAKE_COMMAND}" --build "${small}/build")
run("${small}/build/small")
expect("${output}" "^2 programs, vertex 99 at level 99\n$" small)
