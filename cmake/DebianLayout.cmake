# Run by cpack on what it has staged. In a Debian package, zsh looks for completions in a folder of another name.
if(CPACK_GENERATOR STREQUAL "DEB")
  file(GLOB_RECURSE found LIST_DIRECTORIES false "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*/zsh/site-functions/_chatty")
  foreach(file IN LISTS found)
    get_filename_component(folder "${file}" DIRECTORY)
    get_filename_component(zsh "${folder}" DIRECTORY)
    file(RENAME "${folder}" "${zsh}/vendor-completions")
  endforeach()
endif()
