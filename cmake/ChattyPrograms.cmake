# Vertex programs and the executables that carry them. Used by this project for its own programs, and installed with it for
# yours:
#
#   find_package(chatty REQUIRED)
#   chatty_add_program(reach reach.h CLASS Reach)
#   chatty_add_executable(my_app PROGRAMS bfs reach SOURCES main.cpp)

# CMake 3.25.1, Debian 12's, does not know that nvcc has C++20. (A macro, and called where targets are made: CMake looks these
# up in the directory of a target, which need not be below this one's.)
macro(chatty_teach_cuda20)
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20" ${ARGN})
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20" ${ARGN})
  endif()
endmacro()
chatty_teach_cuda20()

# Options for everything that instantiates the library's device code, and warnings for this project's own targets.
function(chatty_compile_options target)
  set(own FALSE)
  if(DEFINED chatty_SOURCE_DIR AND PROJECT_SOURCE_DIR STREQUAL chatty_SOURCE_DIR)
    set(own TRUE)
  endif()
  target_compile_options(
    ${target}
    PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--expt-relaxed-constexpr;SHELL:-Xfatbin -compress-all;SHELL:--threads 1>")
  if(own)
    # Paths of this tree in messages, as __FILE__ gives them, are relative to it.
    set(map "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=" "-fmacro-prefix-map=${PROJECT_BINARY_DIR}/include/chatty/=")
    target_compile_options(
      ${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${map}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=$<JOIN:${map},$<COMMA>>>")
    target_compile_options(
      ${target}
      PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wno-restrict>"
              # gcc 12 sees overlaps in std::string where there are none (GCC bug 105651).
              "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>"
              "$<$<BOOL:${CHATTY_WERROR}>:$<IF:$<COMPILE_LANGUAGE:CUDA>,-Werror=all-warnings,-Werror>>"
              "$<$<BOOL:${CHATTY_NATIVE}>:$<IF:$<COMPILE_LANGUAGE:CUDA>,-Xcompiler=-march=native,-march=native>>")
    if(CHATTY_UNITY)
      # gcc collects its garbage again and again in a large translation unit, which is a tenth of its time. 4 GB is more than any has.
      target_compile_options(
        ${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=4194304>"
                          "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<CXX_COMPILER_ID:GNU>>:-Xcompiler=--param=ggc-min-heapsize=4194304>")
    endif()
    if(CHATTY_QUICK_HOST)
      # Passes of gcc's optimiser that take a quarter of the time of a program's translation unit, and save tests little.
      target_compile_options(
        ${target}
        PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-dominator-opts;-fno-tree-pta;-fno-tree-loop-optimize;-fno-ivopts;-fno-forward-propagate;-fno-cprop-registers;-fno-ipa-modref;-fno-ipa-pure-const>"
        )
    endif()
    if(CHATTY_SANITIZE)
      # Instrumented code hides from gcc's flow analysis what has been set (GCC bug 63959); other builds are checked.
      target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")
    endif()
  endif()
endfunction()

# chatty_add_program(NAME HEADER [CLASS class] [PARTS type...] [BITS 32|64])
#
# Makes a library of the vertex program `class` (default: NAME) in HEADER, one translation unit a backend: the host always,
# CUDA where chatty was built with it and this project has the language enabled. HEADER is a file beside the CMakeLists.txt
# or what an #include names. NAME, a C++ identifier, is what the command line and chatty_add_executable() call it. PARTS are the
# types of vertex programs that it consists of: its variants, and what is derived from them. They are instantiated explicitly, so that
# another source may declare `extern template class chatty::TypedProgram<type, chatty::HostOnly>` (or CudaOnly). Each of several is
# compiled for CUDA in a translation unit of its own: no unit takes long, and cores share them.
function(chatty_add_program NAME HEADER)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "CLASS;BITS" "PARTS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "chatty_add_program(${NAME}): what is `${arg_UNPARSED_ARGUMENTS}`?")
  endif()
  if(NOT NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "chatty_add_program(${NAME}): the name has to be a C++ identifier")
  endif()
  set(CLASS "${NAME}")
  if(arg_CLASS)
    set(CLASS "${arg_CLASS}")
  endif()
  set(width "")
  if(arg_BITS STREQUAL "64")
    set(width 64)
  elseif(arg_BITS AND NOT arg_BITS STREQUAL "32")
    message(FATAL_ERROR "chatty_add_program(${NAME}): BITS is 32 or 64, not ${arg_BITS}")
  endif()
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${HEADER}")
    set(HEADER "${CMAKE_CURRENT_SOURCE_DIR}/${HEADER}")
  endif()

  set(target chatty${width}_program_${NAME})
  set(stem "${CMAKE_CURRENT_BINARY_DIR}/chatty_programs/${target}")
  set(backends host)
  set(sources "${stem}.host.cpp")
  set(PART_DECLARATIONS "")
  foreach(part IN LISTS arg_PARTS)
    string(APPEND PART_DECLARATIONS "template class chatty::TypedProgram<${part}, chatty::HostOnly>;\n")
  endforeach()
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/program.host.cpp.in" "${stem}.host.cpp" @ONLY)
  get_target_property(with_cuda chatty::chatty${width} CHATTY_WITH_CUDA)
  if(with_cuda AND CMAKE_CUDA_COMPILER_LOADED)
    chatty_teach_cuda20(PARENT_SCOPE)
    list(LENGTH arg_PARTS count)
    set(PART_DECLARATIONS "")
    set(parts "")
    foreach(PART IN LISTS arg_PARTS)
      set(declaration "template class chatty::TypedProgram<${PART}, chatty::CudaOnly>;\n")
      if(count GREATER 1)
        list(LENGTH parts index)
        configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/program_part.cuda.cu.in" "${stem}_${index}.cuda.cu" @ONLY)
        list(APPEND parts "${stem}_${index}.cuda.cu")
        string(PREPEND declaration "extern ")
      endif()
      string(APPEND PART_DECLARATIONS "${declaration}")
    endforeach()
    configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/program.cuda.cu.in" "${stem}.cuda.cu" @ONLY)
    list(APPEND backends cuda)
    list(APPEND sources "${stem}.cuda.cu" ${parts})
  endif()
  set(compiled ${target})
  if(CHATTY_UNITED_PROGRAMS)  # this project's own builds that are made once: a translation unit for several programs
    # Most of the time of a short program goes into the headers. As many groups as CHATTY_UNITED_GROUPS, so that cores share them.
    get_property(count GLOBAL PROPERTY chatty${width}_${CHATTY_UNITED_PROGRAMS}_COUNT)
    if(NOT count)
      set(count 0)
    endif()
    math(EXPR next "${count} + 1")
    set_property(GLOBAL PROPERTY chatty${width}_${CHATTY_UNITED_PROGRAMS}_COUNT "${next}")
    math(EXPR group "${count} % ${CHATTY_UNITED_GROUPS}")
    set(compiled chatty${width}_programs_${CHATTY_UNITED_PROGRAMS}_${group})
    if(CHATTY_UNITED_DEVICE_CODE AND "cuda" IN_LIST backends)  # nobody runs it: it is compiled, or not even that, and not registered
      set(backends host)
    endif()
    set_property(GLOBAL APPEND PROPERTY ${compiled}_INCLUDES "${sources}")
    get_property(includes GLOBAL PROPERTY ${compiled}_INCLUDES)
    set(sources "")
    foreach(suffix host.cpp cuda.cu)
      set(united ${includes})
      list(FILTER united INCLUDE REGEX "\\.${suffix}$")
      if(united)
        list(TRANSFORM united REPLACE "(.+)" "#include \"\\1\"\n")
        list(JOIN united "" united)
        file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/chatty_programs/${compiled}.${suffix}" CONTENT "${united}" @ONLY)
        list(APPEND sources "${CMAKE_CURRENT_BINARY_DIR}/chatty_programs/${compiled}.${suffix}")
      endif()
    endforeach()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${compiled})
  endif()
  if(NOT TARGET ${compiled})
    set(device_sources "")
    if(CHATTY_UNITED_DEVICE_CODE)  # PTX or NONE
      if(CHATTY_UNITED_DEVICE_CODE STREQUAL "PTX")
        set(device_sources ${sources})
        list(FILTER device_sources INCLUDE REGEX "\\.cu$")
      endif()
      list(FILTER sources EXCLUDE REGEX "\\.cu$")
    endif()
    if(device_sources)
      add_library(${compiled}_ptx OBJECT ${device_sources})
      set_target_properties(${compiled}_ptx PROPERTIES CUDA_PTX_COMPILATION ON CUDA_ARCHITECTURES 90-virtual CUDA_STANDARD 20
                                                       CUDA_STANDARD_REQUIRED ON)
      target_link_libraries(${compiled}_ptx PRIVATE chatty::chatty${width})
      chatty_compile_options(${compiled}_ptx)
      target_compile_options(${compiled}_ptx PRIVATE ${CHATTY_QUICK_CUDA_OPTIONS})
    endif()
    add_library(${compiled} STATIC ${sources})
    set_property(GLOBAL APPEND PROPERTY CHATTY_PROGRAM_ARCHIVES ${compiled})
    set_target_properties(${compiled} PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
    target_link_libraries(${compiled} PUBLIC chatty::chatty${width})
    chatty_compile_options(${compiled})
    if(CHATTY_QUICK_CUDA)  # no GPU runs it, and of its host code the registration alone runs
      set_target_properties(${compiled} PROPERTIES CUDA_ARCHITECTURES 90-virtual)
      target_compile_options(${compiled} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-O0>"
                                                 "$<$<COMPILE_LANGUAGE:CUDA>:${CHATTY_QUICK_CUDA_OPTIONS}>")
    endif()
  endif()
  add_library(chatty::program${width}_${NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME program${width}_${NAME} CHATTY_BACKENDS "${backends}"
                                             EXPORT_PROPERTIES CHATTY_BACKENDS)
endfunction()

# chatty_unite(NAME COUNT SOURCES...): where CHATTY_UNITY is on and the target's UNITY_BUILD_MODE is GROUP, the sources are compiled
# as COUNT instead. Names that two files of a folder have to themselves differ for this.
function(chatty_unite name count)
  set(index 0)
  foreach(source IN LISTS ARGN)
    math(EXPR group "${index} % ${count}")
    math(EXPR index "${index} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${name}_${group}")
  endforeach()
endfunction()

# chatty_add_executable(TARGET [PROGRAMS name...] SOURCES file... [LIBRARIES library...] [BITS 32|64])
#
# An executable that carries the named programs, prebuilt ones or those of chatty_add_program(), and a generated source that
# defines chatty::RegisterPrograms() for exactly these.
function(chatty_add_executable TARGET)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BITS" "PROGRAMS;SOURCES;LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "chatty_add_executable(${TARGET}): what is `${arg_UNPARSED_ARGUMENTS}`?")
  endif()
  set(width "")
  if(arg_BITS STREQUAL "64")
    set(width 64)
  endif()
  set(DECLARATIONS "")
  set(CALLS "")
  set(libraries "")
  foreach(program IN LISTS arg_PROGRAMS)
    set(library chatty::program${width}_${program})
    if(NOT TARGET ${library})
      message(FATAL_ERROR "chatty_add_executable(${TARGET}): there is no program `${program}`; add it first with "
                          "chatty_add_program(${program} HEADER)")
    endif()
    list(APPEND libraries ${library})
    get_target_property(backends ${library} CHATTY_BACKENDS)
    foreach(backend IN LISTS backends)
      string(APPEND DECLARATIONS "void RegisterProgram_${program}_${backend}(Registry& registry);\n")
      string(APPEND CALLS "  RegisterProgram_${program}_${backend}(registry);\n")
    endforeach()
  endforeach()
  set(registry "${CMAKE_CURRENT_BINARY_DIR}/chatty_programs/${TARGET}.registry.cpp")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/registry.cpp.in" "${registry}" @ONLY)
  chatty_teach_cuda20(PARENT_SCOPE)
  add_executable(${TARGET} ${arg_SOURCES} "${registry}")
  set_target_properties(${TARGET} PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
  target_link_libraries(${TARGET} PRIVATE ${arg_LIBRARIES} ${libraries} chatty::chatty${width})
  chatty_compile_options(${TARGET})
endfunction()
