#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "arrays.h"
#include "chatty/core/error.h"
#include "chatty/framework/run_by_name.h"
#include "chatty/io/trace_file.h"
#include "process.h"
#include "run.h"
#include "session.h"

namespace chatty::python {
namespace {

using nb::literals::operator""_a;

std::string EndedName(Ended ended) {
  switch (ended) {
    case Ended::kConverged:
      return "converged";
    case Ended::kLimit:
      return "limit";
    case Ended::kMaxRounds:
      return "max_rounds";
    case Ended::kStopped:
      return "stopped";
    case Ended::kFailed:
      return "failed";
  }
  return "unknown";
}

/// Everything that is counted, by the names of RunStatistics' members.
nb::dict StatisticsOf(const Outcome& run) {
  const RunStatistics& statistics = run.statistics;
  nb::dict all;
  all["execution"] = statistics.execution;
  all["transport"] = statistics.transport;
  all["rounds"] = statistics.rounds;
  all["phases"] = statistics.phases;
  all["push_rounds"] = statistics.push_rounds;
  all["pull_rounds"] = statistics.pull_rounds;
  all["gauss_seidel_rounds"] = statistics.gauss_seidel_rounds;
  all["fused_steps"] = statistics.fused_steps;
  all["wide_rounds"] = statistics.wide_rounds;
  all["edges_touched"] = statistics.edges_touched;
  all["vertices_updated"] = statistics.vertices_updated;
  all["items"] = statistics.items;
  all["converged"] = statistics.converged;
  all["ended"] = EndedName(statistics.ended);
  all["time_ms"] = statistics.time_ms;
  nb::list devices, pairs, buffers;
  for (const DeviceStatistics& device : statistics.devices) {
    nb::dict one;
    one["device"] = device.device;
    one["vertices"] = device.vertices;
    one["compute_ms"] = device.compute_ms;
    one["communication_ms"] = device.communication_ms;
    one["waiting_ms"] = device.waiting_ms;
    devices.append(one);
  }
  for (const PairStatistics& pair : statistics.pairs) {
    nb::dict one;
    one["from"] = pair.from;
    one["to"] = pair.to;
    one["messages_before"] = pair.messages_before;
    one["messages"] = pair.messages;
    one["bytes"] = pair.bytes;
    pairs.append(one);
  }
  for (const BufferRecord& buffer : statistics.buffers) {
    nb::dict one;
    one["round"] = buffer.round;
    one["from"] = buffer.from;
    one["to"] = buffer.to;
    one["path"] = std::string(buffer.path);
    one["encoding"] = std::string(buffer.encoding);
    one["entries"] = buffer.entries;
    one["bytes"] = buffer.bytes;
    one["predicted_us"] = buffer.predicted_us;
    one["measured_us"] = buffer.measured_us;
    buffers.append(one);
  }
  const auto copies = [](const HostCopies& bytes) {
    nb::dict one;
    one["to_host"] = bytes.out;
    one["from_host"] = bytes.in;
    return one;
  };
  all["copied_bytes"] = copies(run.copies);
  all["value_bytes"] = copies(run.value_copies);
  all["devices"] = devices;
  all["pairs"] = pairs;
  all["buffers"] = buffers;
  return all;
}

/// The spans and counters of a trace, each as a dictionary.
nb::list EventsOf(const Trace& trace) {
  nb::list events;
  for (const TraceTrack* track : trace.tracks()) {
    for (const TraceEvent* event : track->Sorted()) {
      nb::dict one;
      one["track"] = track->name();
      one["row"] = std::string(Name(event->row));
      std::string name;
      std::size_t argument = 0;
      for (const char* c = event->kind->name; *c != '\0'; ++c) {
        if (*c == '#' && argument < SpanKind::kArguments) {
          name += fmt::format("{}", event->arguments[argument++]);
        } else {
          name += *c;
        }
      }
      one["name"] = name;
      one["category"] = std::string(Name(event->kind->category));
      one["type"] = event->type == TraceEvent::Type::kSpan      ? "span"
                    : event->type == TraceEvent::Type::kCounter ? "counter"
                                                                : "instant";
      one["start_us"] = static_cast<double>(event->start_ns) / 1000;
      one["duration_us"] = static_cast<double>(event->duration_ns) / 1000;
      if (event->type == TraceEvent::Type::kCounter) one["value"] = event->arguments[0];
      nb::dict arguments;
      for (std::size_t i = 0; event->type == TraceEvent::Type::kSpan && i < SpanKind::kArguments; ++i) {
        if (event->kind->arguments[i] == nullptr || event->arguments[i] == kUnknownYet) continue;
        arguments[event->kind->arguments[i]] = event->arguments[i];
      }
      one["arguments"] = arguments;
      events.append(one);
    }
  }
  return events;
}

const RegisteredProgram& ProgramOf(const Outcome& run) {
  return FindProgram(*run.request.registry, run.request.program, run.kind);
}

/// Throws UsageError unless these are values of the run's type, one for each vertex. Returns a copy.
ErasedValues ValuesOf(const Outcome& run, const AnyArray& values) {
  const bool real = run.values.type == ScalarType::kFloat32 || run.values.type == ScalarType::kFloat64;
  const bool is_real = values.dtype().code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  const std::size_t size = SizeOf(run.values.type);
  if (real != is_real || values.ndim() != 1 || values.itemsize() != size || values.size() != run.graph->vertices() ||
      (values.size() > 1 && values.stride(0) != 1)) {
    Throw<UsageError>("the run has one value of the type {} for each of {} vertices; these are others",
                      NameOf(run.values.type), run.graph->vertices());
  }
  ErasedValues answer;
  answer.type = run.values.type;
  answer.is_vertex = run.values.is_vertex;
  answer.name = run.values.name;
  answer.bytes = Array<std::byte>(std::span(static_cast<const std::byte*>(values.data()), values.nbytes()));
  return answer;
}

nb::tuple Verify(const Outcome& run, const AnyArray& values) {
  CheckProcess();
  const ErasedValues answer = ValuesOf(run, values);
  Verdict verdict;
  {
    const nb::gil_scoped_release released;
    verdict = ProgramOf(run).Verify(*run.graph, run.parameters, answer, &run.statistics, run.request.options.vertex_data);
  }
  return nb::make_tuple(verdict.passed, verdict.message);
}

nb::object Total(const Outcome& run, const AnyArray& values) {
  const RegisteredProgram& program = ProgramOf(run);
  if (!program.has_total()) return nb::none();
  return nb::cast(program.Total(ValuesOf(run, values)));
}

}  // namespace

void BindRun(nb::module_& module) {
  nb::class_<Trace>(module, "Trace", "What happened during a run, and when.")
      .def(
          "events", &EventsOf, nb::sig("def events(self) -> list[dict[str, typing.Any]]"),
          "All spans, counters and instants, by device and begin, with times in microseconds. Spans have arguments by name.")
      .def(
          "save", [](const Trace& self, const std::filesystem::path& path) { WriteTraceFile(path.string(), self); },
          "path"_a, nb::call_guard<nb::gil_scoped_release>(),
          "Writes a file for https://ui.perfetto.dev; .gz and .zst compress it.");
  nb::class_<Outcome>(module, "Run", "What a run has left, without its values.")
      .def_prop_ro(
          "value", [](const Outcome& self) { return self.values.name; }, "The name of the values, as \"level\".")
      .def_prop_ro(
          "is_vertex", [](const Outcome& self) { return self.values.is_vertex; }, "Whether values are vertices.")
      .def_prop_ro(
          "parameters",
          [](const Outcome& self) {
            return std::map<std::string, std::string>(self.parameters.begin(), self.parameters.end());
          },
          "The parameters that were set or chosen; vertices count from 0.")
      .def_prop_ro(
          "statistics", [](const Outcome& self) { return StatisticsOf(self); },
          nb::sig("def statistics(self) -> dict[str, typing.Any]"), "What was counted and timed.")
      .def_prop_ro(
          "trace", [](const Outcome& self) { return self.trace; }, "The trace, if it was asked for.")
      .def("verify", &Verify, "values"_a, nb::sig("def verify(self, values: numpy.ndarray) -> tuple[bool, str]"),
           "Whether these values are right, by the program's verifier, and what was checked or is wrong.")
      .def("total", &Total, "values"_a, nb::sig("def total(self, values: numpy.ndarray) -> int | None"),
           "The one number that the values add up to, if the program has one.");
}

}  // namespace chatty::python
