# Runs PROGRAM and compares what it prints with the file EXPECTED, if that exists.
#
#   cmake -D PROGRAM=... -D EXPECTED=... -P compare.cmake
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND "${PROGRAM}" OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}. It printed:\n${printed}")
endif()
if(EXISTS "${EXPECTED}")
  file(READ "${EXPECTED}" expected)
  if(NOT printed STREQUAL expected)
    message(FATAL_ERROR "The page says:\n${expected}\nThe program prints:\n${printed}")
  endif()
endif()
