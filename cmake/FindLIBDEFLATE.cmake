# libdeflate, for its CRC-32. Imported target: LIBDEFLATE::libdeflate.
find_path(LIBDEFLATE_INCLUDE_DIR libdeflate.h)
find_library(LIBDEFLATE_LIBRARY NAMES deflate)
if(LIBDEFLATE_INCLUDE_DIR)
  file(STRINGS "${LIBDEFLATE_INCLUDE_DIR}/libdeflate.h" line LIMIT_COUNT 1 REGEX "#define LIBDEFLATE_VERSION_STRING")
  string(REGEX MATCH "[0-9][0-9.]*" LIBDEFLATE_VERSION "${line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LIBDEFLATE REQUIRED_VARS LIBDEFLATE_LIBRARY LIBDEFLATE_INCLUDE_DIR
                                  VERSION_VAR LIBDEFLATE_VERSION)
mark_as_advanced(LIBDEFLATE_LIBRARY LIBDEFLATE_INCLUDE_DIR)
if(LIBDEFLATE_FOUND AND NOT TARGET LIBDEFLATE::libdeflate)
  add_library(LIBDEFLATE::libdeflate UNKNOWN IMPORTED)
  set_target_properties(LIBDEFLATE::libdeflate PROPERTIES IMPORTED_LOCATION "${LIBDEFLATE_LIBRARY}"
                                                          INTERFACE_INCLUDE_DIRECTORIES "${LIBDEFLATE_INCLUDE_DIR}")
endif()
