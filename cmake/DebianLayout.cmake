# Run by cpack on what it has staged. A Debian package has a changelog, and zsh looks for packages' completions in a folder of
# another name.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE completions "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/_chatty")
  foreach(file IN LISTS completions)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(zsh "${folder}" DIRECTORY)
    file(RENAME "${folder}" "${zsh}/vendor-completions")
  endforeach()

  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or SOURCE_DATE_EPOCH
  find_program(GZIP gzip REQUIRED)
  file(GLOB_RECURSE copyrights "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/copyright")
  foreach(file IN LISTS copyrights)
    get_filename_component(folder "${file}" DIRECTORY)
    file(WRITE "${folder}/changelog"
         "chatty (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * Packaged from source by cpack.\n\n"
         " -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}\n")
    execute_process(COMMAND "${GZIP}" -9nf "${folder}/changelog" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
