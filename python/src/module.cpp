/// \file
/// The extension module `chattygraph._core`: the library's objects as the Python layer needs them, and its exceptions.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "arrays.h"
#include "chatty/core/device.h"
#include "chatty/core/error.h"
#include "chatty/core/gpu_memory.h"
#include "chatty/core/logging.h"
#include "chatty/core/progress.h"
#include "chatty/core/version.h"
#include "graph.h"
#include "run.h"

namespace chatty::python {
namespace {

using nb::literals::operator""_a;

/// A new reference to the exception class of the Python layer with this name (_errors.py).
PyObject* ClassOf(const char* name) {
  return nb::object(nb::module_::import_("chattygraph._errors").attr(name)).release().ptr();
}

/// The library's errors, as exceptions with their texts.
void Translate(const std::exception_ptr& error, void*) {
  const auto raise = [](const char* name, const char* text) {
    PyObject* const type = ClassOf(name);
    PyErr_SetString(type, text);
    Py_DECREF(type);
  };
  try {
    std::rethrow_exception(error);
  } catch (const UsageError& e) {
    raise("UsageError", e.what());
  } catch (const InputError& e) {
    raise("InputError", e.what());
  } catch (const CapabilityError& e) {
    raise("CapabilityError", e.what());
  } catch (const OutOfMemoryError& e) {
    raise("OutOfMemoryError", e.what());
  } catch (const TimeoutError& e) {
    raise("RunTimeoutError", e.what());
  } catch (const DeviceError& e) {
    raise("DeviceError", e.what());
  } catch (const Error& e) {
    raise("ChattyError", e.what());
  } catch (const std::bad_alloc&) {
    raise("OutOfMemoryError", "out of host memory");
  }
}

NB_MODULE(_core, module) {
  module.doc() = "The library ChattyGraph, as package chattygraph uses it.";
  nb::register_exception_translator(&Translate);
  BindGraph(module);
  BindPrograms(module);
  BindRun(module);
  BindSession(module);
  module.attr("version") = std::string(Version());
  module.attr("build") = BuildDescription();
  module.def("from_dlpack", &FromDlpack, "capsule"_a, "name"_a,
             nb::sig("def from_dlpack(capsule: object, name: str) -> "
                     "numpy.ndarray"),
             "A NumPy array with the entries of an array in a GPU's memory.");
  module.def("from_address", &FromAddress, "address"_a, "shape"_a, "strides"_a, "dtype"_a, "width"_a, "stream"_a, "name"_a,
             nb::sig("def from_address(address: int, shape: collections.abc.Sequence[int], strides: "
                     "collections.abc.Sequence[int], dtype: str, width: int, stream: int, name: str) -> numpy.ndarray"),
             "A NumPy array with the entries of an array at an address in a GPU's memory; strides in bytes.");
  module.def(
      "gpu_of", [](std::uintptr_t address) { return GpuOf(reinterpret_cast<const void*>(address)); }, "address"_a,
      "The GPU in whose memory an address is; None if it is in none.");
  module.def("cuda_devices", &CudaDeviceCount, "Number of GPUs that this process can use.");
  module.def(
      "set_log_level", [](const std::string& level) { SetLogLevel(level); }, "level"_a,
      "Sets the level of the log on stderr: trace, debug, info, warning, error, critical or off.");
  module.def(
      "set_progress", [](bool enabled) { Progress::SetEnabled(enabled); }, "enabled"_a,
      "Whether long work shows its progress, where stderr is a terminal.");
}

}  // namespace
}  // namespace chatty::python
