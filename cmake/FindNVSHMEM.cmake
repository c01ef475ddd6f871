# NVIDIA's OpenSHMEM for GPUs: the library of the host. Imported target: NVSHMEM::host. It is looked for in NVSHMEM_HOME, in CUDA's
# folders, and in the folder of pip's package nvidia-nvshmem-cu13, whose library has no name without a version.
if(NOT NVSHMEM_INCLUDE_DIR)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(Python3_Interpreter_FOUND)
    execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import nvidia.nvshmem; print(list(nvidia.nvshmem.__path__)[0])"
                    OUTPUT_VARIABLE nvshmem_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
find_path(NVSHMEM_INCLUDE_DIR nvshmem_host.h HINTS ENV NVSHMEM_HOME ${CUDAToolkit_INCLUDE_DIRS} ${nvshmem_wheel}
          PATH_SUFFIXES include)
find_library(NVSHMEM_LIBRARY NAMES nvshmem_host libnvshmem_host.so.3 NAMES_PER_DIR
             HINTS ENV NVSHMEM_HOME ${CUDAToolkit_LIBRARY_DIR} ${nvshmem_wheel} PATH_SUFFIXES lib lib64)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NVSHMEM REQUIRED_VARS NVSHMEM_LIBRARY NVSHMEM_INCLUDE_DIR)
mark_as_advanced(NVSHMEM_LIBRARY NVSHMEM_INCLUDE_DIR)
if(NVSHMEM_FOUND AND NOT TARGET NVSHMEM::host)
  add_library(NVSHMEM::host UNKNOWN IMPORTED)
  set_target_properties(NVSHMEM::host PROPERTIES IMPORTED_LOCATION "${NVSHMEM_LIBRARY}"
                                                 INTERFACE_INCLUDE_DIRECTORIES "${NVSHMEM_INCLUDE_DIR}")
endif()
