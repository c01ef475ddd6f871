# An example on worklists as a newcomer runs it: on its own graph and on files, on several devices, and with nonsense.
cmake_minimum_required(VERSION 3.25)

# expect(CODE TEXT COMMAND...): runs it and wants this exit code, and TEXT, a regular expression, in what it prints.
function(expect code text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL code OR NOT output MATCHES "${text}")
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${result} instead of ${code}, or does not say `${text}`:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}")
# Two components, a loop, a reciprocal pair, a vertex alone; fewer vertices than devices would like.
file(WRITE "${SCRATCH}/small.mtx" "%%MatrixMarket matrix coordinate integer general\n9 9 8\n1 2 5\n2 1 3\n2 3 4\n3 4 9\n1 4 2\n4 4 7\n"
                                  "6 7 1\n8 7 6\n")
# Pseudo-random edges, most of them between the first vertices.
set(edges "")
set(random 1)
foreach(i RANGE 1 3000)
  math(EXPR random "(${random} * 1103515245 + 12345) % 2147483648")
  math(EXPR u "${random} / 65536 % 500 * (${random} / 256 % 500) / 500 + 1")
  math(EXPR random "(${random} * 1103515245 + 12345) % 2147483648")
  math(EXPR v "${random} / 65536 % 500 + 1")
  math(EXPR weight "${random} / 1024 % 100 + 1")
  string(APPEND edges "${u} ${v} ${weight}\n")
endforeach()
file(WRITE "${SCRATCH}/random.mtx" "%%MatrixMarket matrix coordinate integer general\n500 500 3000\n${edges}")

expect(0 "verified" "${PROGRAM}")
foreach(graph small random)
  foreach(devices host:1 host:2 host:3 host:8)
    expect(0 "verified" "${PROGRAM}" "${SCRATCH}/${graph}.mtx" ${devices})
  endforeach()
endforeach()
expect(1 "missing.mtx" "${PROGRAM}" "${SCRATCH}/missing.mtx")
expect(1 "host:0" "${PROGRAM}" "${SCRATCH}/small.mtx" host:0)
