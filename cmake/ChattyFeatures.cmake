# Features: packages that a build may have or lack, each as an option CHATTY_ENABLE_<FEATURE>. What needs one says so in its name:
# `*_cuda.cpp` calls the CUDA runtime, `*_nccl.cpp` NCCL, and so on; `*.cu` is CUDA code. A feature without such a source would
# be looked for, reported and linked for nothing, so there is none.
set(CHATTY_FEATURES CUDA NCCL METIS HWLOC LIBDEFLATE)

# chatty_feature_sources(FEATURE OUT SOURCE...): those of the sources that are compiled only with the feature.
function(chatty_feature_sources feature out)
  string(TOLOWER ${feature} suffix)
  set(pattern "_${suffix}\\.(cpp|cu)$")
  if(feature STREQUAL "CUDA")
    string(APPEND pattern "|\\.cu$")
  endif()
  set(sources ${ARGN})
  list(FILTER sources INCLUDE REGEX "${pattern}")
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()

# chatty_find_unused_features(OUT SOURCE...): one line for each feature that no source is compiled for.
function(chatty_find_unused_features out)
  set(unused "")
  foreach(feature IN LISTS CHATTY_FEATURES)
    chatty_feature_sources(${feature} sources ${ARGN})
    if(NOT sources)
      string(TOLOWER ${feature} suffix)
      string(APPEND unused "CHATTY_ENABLE_${feature} is an option, but no source of the library is named *_${suffix}.cpp. Add one, or "
                           "remove ${feature} from CHATTY_FEATURES in cmake/ChattyFeatures.cmake.\n")
    endif()
  endforeach()
  set(${out} "${unused}" PARENT_SCOPE)
endfunction()
