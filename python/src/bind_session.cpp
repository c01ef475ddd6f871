#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "graph.h"
#include "process.h"
#include "round_watcher.h"
#include "run.h"
#include "runner.h"
#include "session.h"
#include "signals.h"

namespace chatty::python {
namespace {

using nb::literals::operator""_a;

/// One of the names of an option's values. Throws UsageError with all of them.
template <class T>
T Named(std::string_view option, std::string_view text, std::initializer_list<std::pair<std::string_view, T>> values) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : values) {
    if (name == text) return value;
    names.push_back(name);
  }
  Throw<UsageError>("{} '{}'{}: it is one of {}", option, text, DidYouMean(text, names), fmt::join(names, ", "));
}

/// The options of a run by the names of the command line; devices: their number.
RunOptions OptionsOf(const std::map<std::string, std::string>& texts, std::size_t devices) {
  RunOptions options;
  for (const auto& [name, text] : texts) {
    const auto number = [&, &name = name, &text = text](double least, double most) {
      char* end = nullptr;
      const double value = std::strtod(text.c_str(), &end);
      if (text.empty() || *end != '\0' || !(value >= least && value <= most)) {
        Throw<UsageError>("{} '{}': it is a number from {} to {}", name, text, least, most);
      }
      return value;
    };
    if (name == "direction") {
      options.direction =
          Named<Direction>(name, text, {{"auto", Direction::kAuto}, {"push", Direction::kPush}, {"pull", Direction::kPull}});
    } else if (name == "execution") {
      options.execution = ParseExecution(text);
    } else if (name == "comm") {
      options.comm = ParseCommSpec(text);
    } else if (name == "links") {
      options.links = LinkMask::Parse(text, devices);
    } else if (name == "tiles") {
      options.tiling =
          Named<Tiling>(name, text, {{"auto", Tiling::kAuto}, {"never", Tiling::kNever}, {"always", Tiling::kAlways}});
    } else if (name == "records") {
      options.records =
          Named<Records>(name, text, {{"auto", Records::kAuto}, {"never", Records::kNever}, {"always", Records::kAlways}});
    } else if (name == "delta") {
      if (text == "off") {
        options.delta = kInfinity<double>;
      } else if (text != "auto") {
        options.delta = number(std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
      }
    } else if (name == "slots") {
      options.slots = static_cast<std::uint32_t>(number(kMinTransportSlots, kMaxSlots));
    } else if (name == "max_rounds") {
      options.max_rounds = static_cast<std::uint32_t>(number(0, std::numeric_limits<std::uint32_t>::max()));
    } else if (name == "timeout") {
      options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(number(0.001, 1e6) * 1000)));
    } else if (name == "explain") {
      options.explain = number(0, 1) != 0;
    } else {
      Throw<UsageError>("there is no option '{}' of a run", name);
    }
  }
  return options;
}

/// Whether the calling thread is the one whose signals Python handles.
bool InMainThread() {
  static const nb::object* const main = new nb::object(nb::module_::import_("threading").attr("main_thread"));
  const nb::object thread = (*main)();
  return nb::cast<unsigned long>(thread.attr("ident")) == PyThread_get_thread_ident();
}

/// Runs here and ends the run at Ctrl-C, for which Python's handler raises KeyboardInterrupt afterwards. Takes nothing and
/// returns none if Ctrl-C cannot be watched.
std::optional<Outcome> RunWatched(KeptSession& session, Request&& request, std::stop_source& stop, bool waits) {
  std::optional<Outcome> outcome;
  std::exception_ptr failure;
  {
    const InterruptWatch watch(stop);
    if (!watch.installed()) return std::nullopt;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();  // for one that came before the watch, which ends no run
    const nb::gil_scoped_release released;
    try {
      outcome = session.Run(std::move(request), stop, waits);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  if (stop.stop_requested()) {  // Python's handler was replaced meanwhile
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    nb::raise_python_error();
  }
  if (failure) std::rethrow_exception(failure);
  return outcome;
}

Outcome RunHere(KeptSession& session, const std::shared_ptr<const Registry>& registry, const std::string& program,
                const std::map<std::string, std::string>& parameters, const std::string& value,
                const std::map<std::string, std::string>& options, const std::map<std::string, AnyArray>& data, bool traced,
                bool waits, std::optional<int> gpu, std::stop_source& stop, RoundWatcher* watcher) {
  RoundWatcher::CheckOutside(session);
  CheckProcess();  // here, as the thread of RunAttended is not in a forked process
  Request request;
  request.registry = registry;
  request.program = program;
  request.value = value;
  request.parameters = ParameterValues(parameters.begin(), parameters.end());
  request.options = OptionsOf(options, session.devices().size());
  for (const auto& [name, array] : data) request.options.vertex_data.emplace(name, VertexDataOf(array, name));
  if (data.empty()) {
    std::string key;
    for (const auto& [name, text] : options) key += name + '=' + text + '\n';
    request.options_key = std::move(key);
  }
  request.traced = traced;
  request.gpu = gpu;
  if (watcher != nullptr) request.on_round = [watcher](const RoundProgress& progress) { watcher->Report(progress); };

  // A watcher's function may run programs, too, so its runs have a thread of their own.
  const Attention attention = !InMainThread() || session.IsShort(request) ? Attention::kNone
                              : watcher != nullptr                        ? Attention::kHandlers
                                                                          : NeededAttention();
  if (attention == Attention::kNone) {
    const nb::gil_scoped_release released;
    return session.Run(std::move(request), stop, waits);
  }
  std::optional<Outcome> outcome;
  if (attention == Attention::kInterrupt) {
    outcome = RunWatched(session, std::move(request), stop, waits);
    if (outcome) return std::move(*outcome);
  }
  std::exception_ptr failure, interruption;
  {
    const nb::gil_scoped_release released;
    RunAttended(
        [&] {
          try {
            outcome = session.Run(std::move(request), stop, waits);
          } catch (...) {
            failure = std::current_exception();
          }
        },
        [&] {
          const nb::gil_scoped_acquire lock;
          if (interruption || PyErr_CheckSignals() == 0) return;
          try {
            nb::raise_python_error();
          } catch (...) {
            interruption = std::current_exception();
          }
          stop.request_stop();
        });
  }
  if (interruption) std::rethrow_exception(interruption);
  if (failure) std::rethrow_exception(failure);
  return std::move(*outcome);
}

/// Runs a program and returns its values, as an array or a DLPack capsule that owns them, and the rest.
nb::tuple Run(KeptSession& session, const std::shared_ptr<const Registry>& registry, const std::string& program,
              const std::map<std::string, std::string>& parameters, const std::string& value,
              const std::map<std::string, std::string>& options, const std::map<std::string, AnyArray>& data, bool traced,
              bool waits, const nb::object& progress, double interval, std::optional<int> gpu) {
  std::stop_source stop;
  std::optional<RoundWatcher> watcher;
  if (!progress.is_none()) watcher.emplace(progress, interval, session, stop);
  Outcome outcome;
  try {
    outcome = RunHere(session, registry, program, parameters, value, options, data, traced, waits, gpu, stop,
                      watcher ? &*watcher : nullptr);
  } catch (...) {
    if (watcher) watcher->Rethrow();  // it came first, and ended the run
    throw;
  }
  if (watcher) watcher->Rethrow();
  ErasedValues values = std::move(outcome.values);
  outcome.values.type = values.type;
  outcome.values.is_vertex = values.is_vertex;
  outcome.values.name = values.name;
  nb::object array =
      gpu ? ToDlpack(std::move(outcome.placed), values.type, outcome.graph->vertices(), *gpu) : ToNumpy(std::move(values));
  return nb::make_tuple(std::move(array), nb::cast(std::move(outcome)));
}

}  // namespace

void BindSession(nb::module_& module) {
  nb::class_<KeptSession>(module, "Session", "A graph on its devices, kept for many runs.")
      .def(
          "__init__",
          [](KeptSession* self, const SharedGraph& graph, const std::string& devices, const std::string& partition,
             std::uint64_t seed, int threads, std::uint64_t memory_limit, std::uint64_t host_memory_limit) {
            CheckProcess();
            SessionOptions options;
            options.partition = partition;
            options.seed = seed;
            options.threads = threads;
            options.memory_limit = memory_limit;
            options.host_memory_limit = host_memory_limit;
            const nb::gil_scoped_release released;
            new (self) KeptSession(graph.graph, devices, options);
          },
          "graph"_a, "devices"_a = "auto", nb::kw_only(), "partition"_a = "edge-balanced", "seed"_a = 1, "threads"_a = 0,
          "memory_limit"_a = 0, "host_memory_limit"_a = 0)
      .def("run", &Run, "registry"_a, "program"_a, "parameters"_a, nb::kw_only(), "value"_a = "", "options"_a, "data"_a,
           "trace"_a = false, "waits"_a = false, "progress"_a = nb::none(), "interval"_a = 0.0, "gpu"_a = nb::none(),
           nb::sig("def run(self, registry: Registry, program: str, parameters: collections.abc.Mapping[str, str], *, "
                   "value: str = '', options: collections.abc.Mapping[str, str], "
                   "data: collections.abc.Mapping[str, numpy.ndarray], trace: bool = False, waits: bool = False, "
                   "progress: collections.abc.Callable[[int, int, float | None, float], object] | None = None, "
                   "interval: float = 0.0, gpu: int | None = None) -> tuple[typing.Any, Run]"),
           "Runs a program and returns its values: a NumPy array, or a DLPack capsule of memory of this GPU. Ctrl-C ends it "
           "after the current round. After each round, but at most once in `interval` seconds, calls progress(rounds, "
           "active, change, seconds).")
      .def(
          "close",
          [](KeptSession& self) {
            RoundWatcher::CheckOutside(self);
            self.Close();
          },
          nb::call_guard<nb::gil_scoped_release>(), "Frees the devices.")
      .def_prop_ro("closed", &KeptSession::closed, "Whether close() was called.")
      .def_prop_ro("devices", &KeptSession::devices, "Labels of the devices.");
}

}  // namespace chatty::python
