# The examples as a newcomer runs them: every program of `chatty-examples` on generated graphs and several devices with
# --verify, answers checked again from a file, wrong ones and nonsense refused, and first_program.
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
set(kron "${SCRATCH}/kron.chatty")
set(directed "${SCRATCH}/directed.mtx")
expect(0 "" "${CHATTY_EXAMPLES}" generate kron 9 --edge-factor 8 --weights 1:100 -o "${kron}")
# Two components, a loop, a reciprocal pair, a vertex alone; ids count from 1.
file(WRITE "${directed}" "%%MatrixMarket matrix coordinate integer general\n9 9 8\n1 2 5\n2 1 3\n2 3 4\n3 4 9\n1 4 2\n4 4 7\n"
                         "6 7 1\n8 7 6\n")

# Arrays that programs have to be given, by the graph: one a line "id value", one a value a line.
file(WRITE "${SCRATCH}/kron.seed" "0 7\n5 2\n# others are asked for\n100 7\n")
file(WRITE "${SCRATCH}/directed.seed" "9 4\n1 3\n")
file(WRITE "${SCRATCH}/directed.side" "0\n1\n0\n1\n0\n1\n0\n1\n0\n")
set(sides "")
foreach(v RANGE 511)
  math(EXPR side "${v} * 7 % 3")
  string(APPEND sides "${side}\n")
endforeach()
file(WRITE "${SCRATCH}/kron.side" "${sides}")
string(REPEAT "1\n" 100 sides)
file(WRITE "${SCRATCH}/short.side" "${sides}")

foreach(program IN LISTS PROGRAMS)
  foreach(graph "${kron}" "${directed}")
    set(data "")
    cmake_path(GET graph STEM stem)
    if(program STREQUAL "seed_labels")
      set(data --vertex-data "seed=${SCRATCH}/${stem}.seed")
    elseif(program STREQUAL "same_side")
      set(data --vertex-data "side=${SCRATCH}/${stem}.side")
    endif()
    foreach(devices host:1 host:4)
      expect(0 "verified" "${CHATTY_EXAMPLES}" run ${program} "${graph}" ${data} --devices ${devices} --verify -o
             "${SCRATCH}/${program}.txt")
    endforeach()
    expect(0 "verified" "${CHATTY_EXAMPLES}" verify ${program} "${graph}" "${SCRATCH}/${program}.txt" ${data})
  endforeach()
  # The last answer is that of `directed`, and wrong in its last line if that says 3.
  file(STRINGS "${SCRATCH}/${program}.txt" lines)
  list(POP_BACK lines)
  list(JOIN lines "\n" text)
  file(WRITE "${SCRATCH}/${program}.wrong.txt" "${text}\n9 3\n")
  expect(3 "chatty: error: .*9" "${CHATTY_EXAMPLES}" verify ${program} "${directed}" "${SCRATCH}/${program}.wrong.txt" ${data})
endforeach()
expect(0 "verified" "${CHATTY_EXAMPLES}" run betweenness "${kron}" --value dependency --devices host:3 --verify)
expect(0 "verified" "${CHATTY_EXAMPLES}" run hits "${directed}" --value hub --devices host:3 --verify)
expect(0 "ended by --max-rounds" "${CHATTY_EXAMPLES}" run hits "${kron}" --devices host:2 --max-rounds 4)
expect(0 "verified" "${CHATTY_EXAMPLES}" run reach "${kron}" --set first=7 --set stride=5 --set count=40 --verify)
foreach(value farness eccentricity)
  expect(0 "verified" "${CHATTY_EXAMPLES}" run multi_source_bfs "${kron}" --value ${value} --devices host:3 --verify)
  expect(0 "verified" "${CHATTY_EXAMPLES}" run multi_source_bfs "${kron}" --value ${value} --vertex-data
         "landmark=${SCRATCH}/kron.seed" --devices host:2 --verify)
endforeach()
expect(0 "total +[0-9]+ visits" "${CHATTY_EXAMPLES}" run multi_source_bfs "${directed}" --set sources=9)
expect(0 "verified" "${CHATTY_EXAMPLES}" run mis "${kron}" --set seed=99 --devices host:2 --verify)

expect(2 "count 1 to 64" "${CHATTY_EXAMPLES}" run reach "${kron}" --set count=65)
expect(2 "has 1 to 64 searches" "${CHATTY_EXAMPLES}" run multi_source_bfs "${kron}" --set sources=65)
expect(2 "more than 2 landmarks" "${CHATTY_EXAMPLES}" run multi_source_bfs "${kron}" --set sources=2 --vertex-data
       "landmark=${SCRATCH}/kron.seed")
expect(2 "damping is 0 to 0.999" "${CHATTY_EXAMPLES}" run personalised_push "${kron}" --set damping=1)
expect(2 "ranks could be wrong by" "${CHATTY_EXAMPLES}" run personalised_push "${kron}" --tolerance 0.05)
expect(2 "tolerance is above 0" "${CHATTY_EXAMPLES}" run hits "${kron}" --tolerance 0)
expect(2 "kSynchronous" "${CHATTY_EXAMPLES}" run scc "${kron}" --execution async)
expect(2 "needs vertex data 'seed'" "${CHATTY_EXAMPLES}" run seed_labels "${kron}")
expect(2 "first without a value is 100" "${CHATTY_EXAMPLES}" run same_side "${kron}" --vertex-data
       "side=${SCRATCH}/short.side")
expect(2 "no parameter" "${CHATTY_EXAMPLES}" run kcore "${kron}" --set k=3)

expect(0 "verified" "${FIRST_PROGRAM}")
expect(0 "4 of 9 vertices reached in [0-9]+ rounds.*; verified" "${FIRST_PROGRAM}" "${directed}" host:3 1)
expect(1 "source 10: not a vertex; the graph.s are 1 to 9" "${FIRST_PROGRAM}" "${directed}" host:3 10)
expect(1 "source '1x': write a vertex id" "${FIRST_PROGRAM}" "${directed}" host:3 1x)
