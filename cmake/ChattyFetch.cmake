# Makes packages from their sources:
#
# - CHATTY_FETCH_MISSING: those that the library cannot do without and that are not installed. On Debian 12, `pip install` then
#   needs a compiler and CMake alone.
# - CHATTY_FETCH_ALL: those, METIS and libdeflate, whether installed or not. A wheel needs it: it runs where these packages are
#   not, and the static libraries of distributions do not go into a shared one.
#
# Sources are Debian 12's, with its checksums. CHATTY_FETCH_FOLDER is a folder with their archives, as `apt-get source
# --download-only` leaves them; what it lacks, cmake/fetch_sources gets by the system's package manager. Each package is one
# target of this build, compiled as the library is, and is not installed. chatty_fetched_packages lists them;
# chatty_fetched_license_PACKAGE is the file of a package's licence.

set(chatty_fetch_fmt fmtlib_9.1.0+ds1.orig.tar.gz 84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583)
set(chatty_fetch_spdlog spdlog_1.10.0+ds.orig.tar.xz 620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327)
set(chatty_fetch_Zstd libzstd_1.5.4+dfsg2.orig.tar.xz 8cf4bbb65e77ec348d052c8d6230eba66d435bddf64c8b5be2fcb16880c19953)
set(chatty_fetch_nlohmann_json nlohmann-json3_3.11.2.orig.tar.gz
                               d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273)
set(chatty_fetch_ZLIB zlib_1.2.13.dfsg.orig.tar.bz2 71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1)
set(chatty_fetch_LIBDEFLATE libdeflate_1.14.orig.tar.gz 89e7df898c37c3427b0f39aadcf733731321a278771d20fc553f92da8d4808ac)
set(chatty_fetch_METIS metis_5.1.0.dfsg.orig.tar.xz c50a88b92b01fa3972c5c92cf50117f126c62589b8f793657c7d865c59c23615)
set(chatty_fetched_packages "")

# chatty_fetch_sources(PACKAGE FOLDER): finds or gets the sources of a package, and unpacks them, once. Sets FOLDER to their top
# folder, or to nothing.
function(chatty_fetch_sources package folder)
  list(GET chatty_fetch_${package} 0 name)
  list(GET chatty_fetch_${package} 1 checksum)
  set(archive "${PROJECT_BINARY_DIR}/packages/${name}")
  set(unpacked "${PROJECT_BINARY_DIR}/packages/${package}")
  set(found "")
  if(CHATTY_FETCH_FOLDER AND EXISTS "${CHATTY_FETCH_FOLDER}/${name}")
    set(archive "${CHATTY_FETCH_FOLDER}/${name}")
    file(SHA256 "${archive}" found)
    if(NOT found STREQUAL checksum)
      message(FATAL_ERROR "${archive} has the SHA-256 checksum ${found}, not ${checksum}. Remove the file, or get it again.")
    endif()
  else()
    get_property(tried GLOBAL PROPERTY CHATTY_FETCH_TRIED)
    if(NOT EXISTS "${archive}" AND NOT tried)  # all at once
      set_property(GLOBAL PROPERTY CHATTY_FETCH_TRIED ON)
      message(STATUS "Getting sources of packages")
      execute_process(COMMAND bash "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/fetch_sources" "${PROJECT_BINARY_DIR}/packages"
                      RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
      if(NOT status EQUAL 0)
        message(STATUS "Sources of packages: ${output}")
      endif()
    endif()
    if(EXISTS "${archive}")
      file(SHA256 "${archive}" found)
    endif()
  endif()
  set(${folder} "" PARENT_SCOPE)
  if(NOT found STREQUAL checksum)
    file(REMOVE "${archive}")
    return()
  endif()
  if(NOT EXISTS "${unpacked}")
    file(ARCHIVE_EXTRACT INPUT "${archive}" DESTINATION "${unpacked}")
  endif()
  file(GLOB top LIST_DIRECTORIES true "${unpacked}/*")
  list(GET top 0 top)
  set(${folder} "${top}" PARENT_SCOPE)
endfunction()

# chatty_fetch_library(TARGET INCLUDE SOURCES...): a static library of these sources.
function(chatty_fetch_library target include)
  string(REPLACE "::" "_" name "chatty_fetched_${target}")
  add_library(${name} STATIC ${ARGN})
  add_library(${target} ALIAS ${name})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} SYSTEM PUBLIC "${include}")
endfunction()

# chatty_fetch(PACKAGE): makes the package's target, if its sources can be had.
macro(chatty_fetch package)
  chatty_fetch_sources(${package} chatty_fetched)
  if(chatty_fetched)
    list(APPEND chatty_fetched_packages ${package})
    file(GLOB chatty_fetched_license_${package} "${chatty_fetched}/LICENSE" "${chatty_fetched}/LICENSE.*")  # zstd: not its COPYING
    if(NOT chatty_fetched_license_${package})
      set(chatty_fetched_license_${package} "${chatty_fetched}/COPYING")
    endif()
    if("${package}" STREQUAL "fmt")
      chatty_fetch_library(fmt::fmt "${chatty_fetched}/include" "${chatty_fetched}/src/format.cc" "${chatty_fetched}/src/os.cc")
    elseif("${package}" STREQUAL "ZLIB")
      enable_language(C)
      file(GLOB chatty_fetched_sources "${chatty_fetched}/*.c")
      chatty_fetch_library(ZLIB::ZLIB "${chatty_fetched}" ${chatty_fetched_sources})
      target_compile_definitions(chatty_fetched_ZLIB_ZLIB PRIVATE HAVE_UNISTD_H)
    elseif("${package}" STREQUAL "Zstd")
      enable_language(C)
      file(GLOB chatty_fetched_sources "${chatty_fetched}/lib/common/*.c" "${chatty_fetched}/lib/compress/*.c"
           "${chatty_fetched}/lib/decompress/*.c")
      chatty_fetch_library(zstd::zstd "${chatty_fetched}/lib" ${chatty_fetched_sources})
      target_compile_definitions(chatty_fetched_zstd_zstd PRIVATE ZSTD_DISABLE_ASM)  # a source in assembler is left out
    elseif("${package}" STREQUAL "spdlog")
      add_library(spdlog::spdlog INTERFACE IMPORTED GLOBAL)
      target_include_directories(spdlog::spdlog SYSTEM INTERFACE "${chatty_fetched}/include")
      target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
    elseif("${package}" STREQUAL "nlohmann_json")
      add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED GLOBAL)
      target_include_directories(nlohmann_json::nlohmann_json SYSTEM INTERFACE "${chatty_fetched}/include")
    elseif("${package}" STREQUAL "LIBDEFLATE")
      enable_language(C)
      file(GLOB chatty_fetched_sources "${chatty_fetched}/lib/*.c" "${chatty_fetched}/lib/x86/*.c" "${chatty_fetched}/lib/arm/*.c")
      chatty_fetch_library(LIBDEFLATE::libdeflate "${chatty_fetched}" ${chatty_fetched_sources})
      set(LIBDEFLATE_FOUND TRUE)
    elseif("${package}" STREQUAL "METIS")
      enable_language(C)
      file(GLOB chatty_fetched_sources "${chatty_fetched}/GKlib/*.c" "${chatty_fetched}/libmetis/*.c")
      chatty_fetch_library(METIS::METIS "${chatty_fetched}/include" ${chatty_fetched_sources})
      target_include_directories(chatty_fetched_METIS_METIS SYSTEM PRIVATE "${chatty_fetched}/GKlib" "${chatty_fetched}/libmetis")
      # As its own build does with gcc and clang on Linux. (NDEBUG is already defined in a build of type Release.)
      target_compile_definitions(chatty_fetched_METIS_METIS PRIVATE LINUX _FILE_OFFSET_BITS=64 HAVE_EXECINFO_H HAVE_GETLINE NDEBUG2)
      target_compile_options(chatty_fetched_METIS_METIS PRIVATE -std=gnu99 -fno-strict-aliasing -w)
      set(METIS_FOUND TRUE)
    endif()
  endif()
endmacro()
