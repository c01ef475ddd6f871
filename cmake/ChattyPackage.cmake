# `cpack`: one .tar.gz of everything, which works wherever it is unpacked, and two Debian packages. `chatty` is the program,
# its manual and completions, for those who run graphs; `libchatty-dev` has headers, static libraries and package files, for
# those who write programs, and alone depends on other -dev packages. That is how Debian divides, and what its users expect.
#
# Without dpkg-shlibdeps (package dpkg-dev), which knows what shared libraries the program needs, there is no .deb.

# There is no address to write to. Debian wants one all the same; names below .invalid are nobody's (RFC 2606).
set(CHATTY_DEBIAN_MAINTAINER "The ChattyGraph authors <noreply@chattygraph.invalid>"
    CACHE STRING "Name and address of whoever makes packages, as Debian's Maintainer field has them")
set(CPACK_PACKAGE_NAME chatty)
set(CPACK_PACKAGE_VENDOR "ChattyGraph")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Graph programs on CPUs and GPUs that talk to each other")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_GENERATOR TGZ)
set(CPACK_COMPONENTS_ALL runtime development)
if(NOT TARGET chatty_cli)
  set(CPACK_COMPONENTS_ALL development)
endif()
# Sources are packed by git.
set(CPACK_SOURCE_GENERATOR "")

find_program(CHATTY_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(CHATTY_DPKG_SHLIBDEPS)
if(CHATTY_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)

  # chatty_dev_package(NAME [BELOW version]): adds `NAME (>= the version compiled with)` to what libchatty-dev depends on, and
  # an upper bound where the next version has another ABI, which the static libraries' objects would not fit.
  find_program(CHATTY_DPKG_QUERY dpkg-query)
  mark_as_advanced(CHATTY_DPKG_QUERY)
  set(depends "")
  function(chatty_dev_package name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "BELOW" "")
    set(version "")
    if(CHATTY_DPKG_QUERY)
      execute_process(COMMAND "${CHATTY_DPKG_QUERY}" --show "--showformat=\${Version}" ${name} OUTPUT_VARIABLE version
                      ERROR_QUIET)
    endif()
    set(entries "${name}")
    if(version)
      string(REGEX REPLACE "[-+][^-]*$" "" version "${version}")  # the distribution's own revision
      set(entries "${name} (>= ${version})")
      if(arg_BELOW)
        string(REGEX MATCH "^[0-9]+:" epoch "${version}")
        list(APPEND entries "${name} (<< ${epoch}${arg_BELOW})")
      endif()
    endif()
    set(depends ${depends} ${entries} PARENT_SCOPE)
  endfunction()
  string(REGEX MATCH "^[0-9]+" fmt_major "${fmt_VERSION}")
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" spdlog_version "${spdlog_VERSION}")
  math(EXPR fmt_next "${fmt_major} + 1")
  math(EXPR spdlog_next "${CMAKE_MATCH_2} + 1")
  chatty_dev_package(libfmt-dev BELOW ${fmt_next}~)
  chatty_dev_package(libspdlog-dev BELOW ${CMAKE_MATCH_1}.${spdlog_next}~)
  chatty_dev_package(zlib1g-dev)
  chatty_dev_package(libzstd-dev)
  if(CHATTY_WITH_METIS)
    chatty_dev_package(libmetis-dev)
  endif()
  if(CHATTY_WITH_HWLOC)
    chatty_dev_package(libhwloc-dev)
  endif()
  if(CHATTY_WITH_LIBDEFLATE)
    chatty_dev_package(libdeflate-dev)
  endif()
  list(JOIN depends ", " depends)

  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CHATTY_DEBIAN_MAINTAINER}")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME chatty)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
      "chatty runs breadth-first search, shortest paths, PageRank, connected\ncomponents and other programs on a graph, on any number of CPU devices\nand GPUs, and verifies the answers.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libchatty-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "cmake (>= 3.25), pkgconf | pkg-config, chatty")
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
      "Headers, static libraries and package files for CMake and pkg-config, for\nvertex programs of one's own.")
  # Where Debian's policy differs from where an installation by hand belongs.
  set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/DebianLayout.cmake")
endif()
include(CPack)
