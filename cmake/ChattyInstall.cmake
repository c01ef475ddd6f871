# `cmake --install`: library, programs, command line program, its manual and completions, headers, and the package files that
# find_package(chatty) and pkg-config read. Two components: `runtime` is what one needs to run `chatty`, `development` to build
# with it.
include(CMakePackageConfigHelpers)
include(ChattyPkgConfig)
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
get_property(archives GLOBAL PROPERTY CHATTY_PROGRAM_ARCHIVES)  # of programs that are compiled together, one for several
foreach(archive IN LISTS archives)
  if(archive MATCHES "_programs_prebuilt_")
    list(APPEND chatty_exported ${archive})
  endif()
endforeach()

# ---------------------------------------------------------- what is missing ----
# Who has built one target alone, as scripts/demo does, has not all that is installed: it is built first, so that nothing is
# installed by halves. chatty_install_first(COMPONENT TARGETS... FILES...) sees to it for a component.
add_custom_target(chatty_installed)
function(chatty_install_first component)
  cmake_parse_arguments(PARSE_ARGV 1 first "" "" "TARGETS;FILES")
  set(files ${first_FILES})
  foreach(target IN LISTS first_TARGETS)
    add_dependencies(chatty_installed ${target})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "_LIBRARY|EXECUTABLE" AND NOT type STREQUAL INTERFACE_LIBRARY)
      list(APPEND files "$<TARGET_FILE:${target}>")
    endif()
  endforeach()
  set(code
      [[
foreach(file IN ITEMS @files@)
  if(EXISTS "${file}")
    continue()
  endif()
  message(STATUS "Building what is not built yet; this may take minutes")
  execute_process(COMMAND "@CMAKE_COMMAND@" --build "@PROJECT_BINARY_DIR@" --config "$<CONFIG>" --target chatty_installed
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${file} is to be installed and cannot be built; nothing was installed")
  endif()
  break()
endforeach()
]])
  list(TRANSFORM files REPLACE "(.+)" "\"\\1\"")
  list(JOIN files " " files)
  string(CONFIGURE "${code}" code @ONLY)
  install(CODE "${code}" COMPONENT ${component})
endfunction()
# The manual is written by the program that it describes. Not by one under a sanitizer, which nobody installs, nor by one that
# cannot run.
set(chatty_manual_made "")
if(TARGET chatty_cli AND NOT CHATTY_SANITIZE AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
  set(chatty_share "${PROJECT_BINARY_DIR}/share")
  set(chatty_manual_made "${chatty_share}/made")
endif()
chatty_install_first(development TARGETS ${chatty_exported})
if(TARGET chatty_cli)
  chatty_install_first(runtime TARGETS chatty_cli FILES ${chatty_manual_made})
endif()

install(TARGETS ${chatty_exported} EXPORT chattyTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
if(TARGET chatty_cli)
  install(TARGETS chatty_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
endif()

# ------------------------------------------------- manual and completions ----
if(chatty_manual_made)
  find_program(CHATTY_GZIP gzip)
  mark_as_advanced(CHATTY_GZIP)
  set(compress "")
  if(CHATTY_GZIP)
    set(compress COMMAND sh -c "\"${CHATTY_GZIP}\" -9n \"${chatty_share}\"/man/*.1")
  endif()
  set(completions "")
  foreach(shell bash zsh fish)
    list(APPEND completions COMMAND chatty_cli completion ${shell} > "${chatty_share}/chatty.${shell}")
  endforeach()
  add_custom_command(
    OUTPUT "${chatty_manual_made}"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${chatty_share}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${chatty_share}/man"
    COMMAND chatty_cli __manual "${chatty_share}/man"
    ${completions}
    ${compress}
    COMMAND ${CMAKE_COMMAND} -E touch "${chatty_share}/made"
    DEPENDS chatty_cli
    COMMENT "Writing manual pages and shell completions"
    VERBATIM)
  add_custom_target(chatty_manual ALL DEPENDS "${chatty_manual_made}")
  add_dependencies(chatty_installed chatty_manual)
  install(DIRECTORY "${chatty_share}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT runtime)
  foreach(completion "bash;bash-completion/completions;chatty" "zsh;zsh/site-functions;_chatty"
                     "fish;fish/vendor_completions.d;chatty.fish")
    list(GET completion 0 shell)
    list(GET completion 1 folder)
    list(GET completion 2 name)
    install(
      FILES "${chatty_share}/chatty.${shell}"
      DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/${folder}"
      RENAME "${name}"
      COMPONENT runtime)
  endforeach()
endif()
install(FILES cmake/copyright DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/chatty" COMPONENT runtime)
install(FILES cmake/copyright DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/libchatty-dev" COMPONENT development)

# ------------------------------------------------ headers, package files ----
foreach(folder IN LISTS CHATTY_FOLDERS)
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty/${folder}"
    COMPONENT development
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.cuh")
endforeach()
install(FILES "${chatty_generated}/chatty/core/config.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty/core"
        COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/chatty.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/chatty" COMPONENT development)

install(EXPORT chattyTargets NAMESPACE chatty:: DESTINATION "${chatty_package_dir}" COMPONENT development)
configure_package_config_file(cmake/chattyConfig.cmake.in "${PROJECT_BINARY_DIR}/chattyConfig.cmake"
                              INSTALL_DESTINATION "${chatty_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/chattyConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/chattyConfig.cmake"
        "${PROJECT_BINARY_DIR}/chattyConfigVersion.cmake"
        cmake/ChattyPrograms.cmake
        cmake/program.host.cpp.in
        cmake/program.cuda.cu.in
        cmake/program_part.cuda.cu.in
        cmake/registry.cpp.in
        cmake/FindZstd.cmake
        cmake/FindNCCL.cmake
        cmake/FindMETIS.cmake
        cmake/FindHWLOC.cmake
        cmake/FindLIBDEFLATE.cmake
  DESTINATION "${chatty_package_dir}"
  COMPONENT development)
chatty_pkg_config(chatty chatty 32)
if(CHATTY_BUILD_64)
  chatty_pkg_config(chatty64 chatty64 64)
endif()

if(PROJECT_IS_TOP_LEVEL)
  include(ChattyPackage)
endif()
