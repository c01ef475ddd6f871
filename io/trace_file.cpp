#include "chatty/io/trace_file.h"

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/core/version.h"
#include "chatty/io/output.h"

namespace chatty {
namespace {

/// Text as a JSON string. Bytes that are not UTF-8, as in file names, are replaced.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(OutputFile& file) : file_(file) {}

  void Track(std::size_t pid, const TraceTrack& track) {
    Metadata(pid, 0, "process_name", "name", Quoted(track.name()));
    Metadata(pid, 0, "process_sort_index", "sort_index", std::to_string(pid));
    const std::vector<const TraceEvent*> events = track.Sorted();
    std::array<bool, kTraceRows> used{};
    for (const TraceEvent* event : events) used[static_cast<std::size_t>(event->row)] = true;
    for (std::size_t row = 0; row < kTraceRows; ++row) {
      if (!used[row]) continue;
      Metadata(pid, Tid(pid, row), "thread_name", "name", Quoted(Name(static_cast<TraceRow>(row))));
      Metadata(pid, Tid(pid, row), "thread_sort_index", "sort_index", std::to_string(row));
    }
    for (const TraceEvent* event : events) Event(pid, *event);
  }

 private:
  /// Thread ids are unique over all processes, because some readers expect it.
  static std::size_t Tid(std::size_t pid, std::size_t row) { return pid * 10 + row; }

  void Begin(std::string_view phase, std::size_t pid) {
    file_.Write(first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"");
    first_ = false;
    file_.Write(phase);
    file_.Write("\",\"pid\":");
    file_.Number(pid);
  }
  void Metadata(std::size_t pid, std::size_t tid, std::string_view name, std::string_view key, std::string_view value) {
    Begin("M", pid);
    if (tid != 0) {
      file_.Write(",\"tid\":");
      file_.Number(tid);
    }
    file_.Write(",\"name\":\"");
    file_.Write(name);
    file_.Write("\",\"args\":{\"");
    file_.Write(key);
    file_.Write("\":");
    file_.Write(value);
    file_.Write("}}");
  }
  void Microseconds(std::int64_t ns) {
    if (ns < 0) {
      file_.Letter('-');
      ns = -ns;
    }
    file_.Number(ns / 1000);
    const auto rest = static_cast<int>(ns % 1000);
    file_.Letter('.');
    file_.Letter(static_cast<char>('0' + rest / 100));
    file_.Letter(static_cast<char>('0' + rest / 10 % 10));
    file_.Letter(static_cast<char>('0' + rest % 10));
  }
  /// A kind's name with its arguments in place of #.
  void Title(const TraceEvent& event) {
    std::size_t next = 0;
    for (const char* c = event.kind->name; *c != '\0'; ++c) {
      if (*c == '#' && next < event.arguments.size()) {
        file_.Number(event.arguments[next++]);
      } else {
        if (*c == '"' || *c == '\\') file_.Letter('\\');
        file_.Letter(*c);
      }
    }
  }
  void Event(std::size_t pid, const TraceEvent& event) {
    switch (event.type) {
      case TraceEvent::Type::kSpan:
        Begin("X", pid);
        break;
      case TraceEvent::Type::kCounter:
        Begin("C", pid);
        break;
      case TraceEvent::Type::kInstant:
        Begin("i", pid);
        file_.Write(",\"s\":\"p\"");
        break;
    }
    file_.Write(",\"tid\":");
    file_.Number(Tid(pid, static_cast<std::size_t>(event.row)));
    file_.Write(",\"ts\":");
    Microseconds(event.start_ns);
    if (event.type == TraceEvent::Type::kSpan) {
      file_.Write(",\"dur\":");
      Microseconds(event.duration_ns);
      file_.Write(",\"cat\":\"");
      file_.Write(Name(event.kind->category));
      file_.Letter('"');
    }
    file_.Write(",\"name\":\"");
    Title(event);
    file_.Write("\",\"args\":{");
    if (event.type == TraceEvent::Type::kCounter) {
      file_.Write("\"value\":");
      file_.Number(event.arguments[0]);
    } else {
      const char* before = "\"";
      for (std::size_t i = 0; i < SpanKind::kArguments && event.kind->arguments[i] != nullptr; ++i) {
        if (event.arguments[i] == kUnknownYet) continue;
        file_.Write(std::exchange(before, ",\""));
        file_.Write(event.kind->arguments[i]);
        file_.Write("\":");
        file_.Number(event.arguments[i]);
      }
    }
    file_.Write("}}");
  }

  OutputFile& file_;
  bool first_ = true;
};

}  // namespace

void WriteTraceFile(const std::string& path, const Trace& trace, const TraceNotes& notes) try {
  OutputFile file(path);
  const std::vector<const TraceTrack*> tracks = trace.tracks();
  std::size_t events = 0;
  double alignment_us = 0;
  for (const TraceTrack* track : tracks) {
    events += track->size();
    alignment_us = std::max(alignment_us, track->alignment_us());
  }
  file.Write("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"chatty\":");
  file.Write(Quoted(BuildDescription()));
  for (const auto& [name, text] : notes) {
    file.Letter(',');
    file.Write(Quoted(name));
    file.Letter(':');
    file.Write(Quoted(text));
  }
  file.Write(",\"events\":");
  file.Number(events);
  file.Write(",\"dropped_events\":");
  file.Number(trace.dropped());
  file.Write(",\"gpu_clock_window_us\":");
  file.Number(alignment_us);
  file.Write("},\"traceEvents\":[");
  Writer writer(file);
  for (std::size_t i = 0; i < tracks.size(); ++i) writer.Track(i + 1, *tracks[i]);
  file.Write("\n]}\n");
  file.Commit();
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing a trace");
}

}  // namespace chatty
