# Writes the commit of SOURCE_DIR into OUTPUT; leaves the file alone when nothing changed. Run with cmake -P.
find_package(Git QUIET)
set(COMMIT "")
if(GIT_FOUND AND EXISTS "${SOURCE_DIR}/.git")
  execute_process(
    COMMAND "${GIT_EXECUTABLE}" describe --always --dirty --abbrev=40 --match=
    WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE COMMIT
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT COMMIT)
  set(COMMIT "unknown")
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
