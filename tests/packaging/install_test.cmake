# Installs the build, moves the installation, and looks at it: all is there, and nothing in it remembers where it was built or
# first installed.
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
set(first "${SCRATCH}/installed-here-first")
file(REMOVE_RECURSE "${first}" "${PREFIX}")
run("${CMAKE_COMMAND}" --install "${BUILD_TREE}" --prefix "${first}")
get_filename_component(folder "${PREFIX}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}")
file(RENAME "${first}" "${PREFIX}")

foreach(file bin/chatty ${LIBDIR}/libchatty.a ${LIBDIR}/libchatty_commands.a
             include/chatty/chatty.h include/chatty/core/config.h include/chatty/cli/app.h include/chatty/programs/bfs.h
             ${LIBDIR}/cmake/chatty/chattyConfig.cmake ${LIBDIR}/pkgconfig/chatty.pc share/bash-completion/completions/chatty
             share/zsh/site-functions/_chatty share/fish/vendor_completions.d/chatty.fish)
  if(NOT EXISTS "${PREFIX}/${file}")
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()
# A program is a target of the package, whether an archive holds one program or, with CHATTY_UNITY, several.
file(READ "${PREFIX}/${LIBDIR}/cmake/chatty/chattyTargets.cmake" targets)
foreach(program IN LISTS PROGRAMS)
  expect("${targets}" "add_library\\(chatty::program_${program} " "chattyTargets.cmake")
endforeach()
file(GLOB pages "${PREFIX}/share/man/man1/chatty*.1*")
list(LENGTH pages count)
if(count LESS 9)
  message(FATAL_ERROR "manual pages installed: ${pages}")
endif()

# Symbolic links would lead back to the source tree; debug information is the compiler's.
file(GLOB_RECURSE files "${PREFIX}/*")
foreach(file IN LISTS files)
  if(IS_SYMLINK "${file}")
    message(FATAL_ERROR "${file} is a link")
  endif()
endforeach()
set(binaries "")
if(BUILD_TYPE MATCHES "Deb")
  set(binaries --exclude=*.a --exclude-dir=bin)
endif()
find_program(GREP grep REQUIRED)
foreach(path "${SOURCE_TREE}" "${BUILD_TREE}" "${first}")
  execute_process(COMMAND "${GREP}" -r -a -o -F ${binaries} -e "${path}" "${PREFIX}" RESULT_VARIABLE result
                  OUTPUT_VARIABLE output)
  if(NOT result EQUAL 1)
    message(FATAL_ERROR "The installation names ${path}, where it was made:\n${output}")
  endif()
endforeach()

run("${PREFIX}/bin/chatty" --version)
expect("${output}" "^chatty ${VERSION}" "--version")
