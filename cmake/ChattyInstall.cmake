# `cmake --install`: library, programs, command line program, headers, and the package files that find_package(chatty) reads.
include(CMakePackageConfigHelpers)
set(chatty_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/chatty")

set(chatty_exported chatty)
if(TARGET chatty_commands)
  list(APPEND chatty_exported chatty_commands)
endif()
foreach(program IN LISTS CHATTY_PROGRAMS)
  list(APPEND chatty_exported chatty_program_${program})
endforeach()
if(CHATTY_BUILD_64)
  list(APPEND chatty_exported chatty64)
  foreach(program IN LISTS CHATTY_PROGRAMS_64)
    list(APPEND chatty_exported chatty64_program_${program})
  endforeach()
endif()
install(TARGETS ${chatty_exported} EXPORT chattyTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET chatty_cli)
  install(TARGETS chatty_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

foreach(folder IN LISTS CHATTY_FOLDERS)
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty/${folder}"
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.cuh")
endforeach()
install(FILES "${chatty_generated}/chatty/core/config.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty/core")
install(FILES "${PROJECT_SOURCE_DIR}/chatty.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty" OPTIONAL)

install(EXPORT chattyTargets NAMESPACE chatty:: DESTINATION "${chatty_package_dir}")
configure_package_config_file(cmake/chattyConfig.cmake.in "${PROJECT_BINARY_DIR}/chattyConfig.cmake"
                              INSTALL_DESTINATION "${chatty_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/chattyConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/chattyConfig.cmake"
        "${PROJECT_BINARY_DIR}/chattyConfigVersion.cmake"
        cmake/ChattyPrograms.cmake
        cmake/program.host.cpp.in
        cmake/program.cuda.cu.in
        cmake/registry.cpp.in
        cmake/FindZstd.cmake
        cmake/FindNCCL.cmake
        cmake/FindMETIS.cmake
  DESTINATION "${chatty_package_dir}")
