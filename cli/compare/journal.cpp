#include "chatty/cli/compare/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "chatty/core/error.h"

namespace chatty::cli {
namespace {

template <class Compared>
bool SameFile(const Compared& then, const Compared& now) {
  return then.bytes == now.bytes && then.modified_ns == now.modified_ns;
}

[[noreturn]] void RefuseChanged(std::string_view path, std::string_view folder) {
  Throw<InputError>("{}: {} has changed since it was measured there; name another folder for --out, or remove this one",
                    folder, path);
}

}  // namespace

JournalText ReadJournal(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) Throw<InputError>("{}: is no file; name another folder", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) Throw<InputError>("{}: cannot be read: {}", path, ErrnoText(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  JournalText journal;
  std::size_t begin = 0, number = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut short
    ++number;
    Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                            text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("kind") || !line.at("kind").is_string()) {
      Throw<InputError>("{}, line {}: is no line of a journal of `chatty compare`; name another folder, or remove this one",
                        path, number);
    }
    journal.lines.push_back(std::move(line));
    begin = end + 1;
  }
  journal.bytes = begin;
  return journal;
}

Journal::Journal(const std::string& path, std::size_t keep) : path_(path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) Throw<InputError>("{}: cannot be created: {}", path, ErrnoText(errno));
  struct stat now = {};
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 || ::fstat(fd_, &now) != 0 || now.st_size < static_cast<off_t>(keep)) {
    ::close(fd_);
    Throw<InputError>("{}: another comparison writes it; wait for it, or name another folder", path);
  }
  if (::ftruncate(fd_, static_cast<off_t>(keep)) != 0) {
    const int error = errno;
    ::close(fd_);
    Throw<CapabilityError>("{}: cannot be written: {}", path, ErrnoText(error));
  }
}

Journal::~Journal() { ::close(fd_); }

void Journal::Append(const Json& line) {
  const std::string text = line.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + '\n';
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd_, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Throw<CapabilityError>("{}: cannot be written: {}", path_, ErrnoText(errno));
    at += static_cast<std::size_t>(written);
  }
  // Not every file system can; then the system does it in its own time.
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) {
    Throw<CapabilityError>("{}: cannot be written: {}", path_, ErrnoText(errno));
  }
}

void CheckSameComparison(const Json& then, const Json& now, std::string_view folder) {
  const auto differs = [&](const char* part) { return then.value(part, Json()) != now.value(part, Json()); };
  const auto refuse = [&](std::string_view why) {
    Throw<InputError>("{}: {}; name another folder for --out, or remove this one", folder, why);
  };
  if (then.value("kind", "") != "comparison" || then.value("format", 0) != now.value("format", 0)) {
    refuse("its journal was begun by another version of `chatty compare`");
  }
  if (differs("build")) {
    const Json& build = then.at("build");
    refuse(fmt::format("was measured with chatty {} ({}), and this is another build", build.value("version", "?"),
                       build.value("commit", "?").substr(0, 12)));
  }
  if (differs("machine")) refuse("was measured on another machine, or on other devices of it");
  const Json &settings_then = then.at("settings"), &settings = now.at("settings");
  for (const auto& [name, value] : settings.items()) {
    const Json before = settings_then.value(name, Json());
    if (name == "vertex-data-files" && before != value)
      refuse("a file of --vertex-data has changed since it was measured there");
    if (before != value) refuse(fmt::format("was measured with --{} {}, and this is {}", name, before.dump(), value.dump()));
  }
}

void CheckSame(const ComparedGraph& then, const ComparedGraph& now, std::string_view folder) {
  if (then.path == now.path && !SameFile(then, now)) RefuseChanged(now.path, folder);
}

void CheckSame(const ComparedParts& then, const ComparedParts& now, std::string_view folder) {
  if (then.name != now.name) return;
  if (then.path != now.path) {
    Throw<InputError>("{}: --partition {} was {} there, and is {} now; name another folder for --out, or remove this one",
                      folder, now.name, then.path, now.path);
  }
  if (!SameFile(then, now)) RefuseChanged(now.path, folder);
}

Measurement* FindMeasurement(Comparison& comparison, const Combination& combination) {
  const auto found = std::find_if(comparison.measurements.begin(), comparison.measurements.end(),
                                  [&](const Measurement& m) { return m.combination == combination; });
  return found == comparison.measurements.end() ? nullptr : &*found;
}

void Replay(const Json& line, Comparison& comparison) {
  const std::string kind = line.at("kind");
  if (kind == "graph") {
    ComparedGraph graph = GraphFrom(line);
    const auto found = std::find_if(comparison.graphs.begin(), comparison.graphs.end(),
                                    [&](const ComparedGraph& g) { return g.path == graph.path; });
    if (found == comparison.graphs.end()) {
      comparison.graphs.push_back(std::move(graph));
    } else {
      *found = std::move(graph);
    }
    return;
  }
  if (kind == "points") {
    comparison.points.push_back(FigurePointsFrom(line));
    return;
  }
  if (kind == "parts") {
    comparison.parts.push_back(PartsFrom(line));
    return;
  }
  constexpr std::string_view kOfCombinations[] = {"trial", "buffers", "dropped", "verdict", "failure"};
  if (std::find(std::begin(kOfCombinations), std::end(kOfCombinations), kind) == std::end(kOfCombinations)) {
    Throw<InputError>("there is no line '{}'", kind);
  }
  const Combination combination = CombinationFrom(line.at("at"));
  if (combination.devices < 1 || combination.devices > static_cast<std::size_t>(kMaxDevices)) {
    Throw<InputError>("{} devices cannot be", combination.devices);
  }
  const auto of = [&](const ComparedGraph& graph) { return graph.name == combination.graph; };
  if (std::none_of(comparison.graphs.begin(), comparison.graphs.end(), of)) {
    Throw<InputError>("there is no graph '{}'", combination.graph);
  }
  Measurement* m = FindMeasurement(comparison, combination);
  if (m == nullptr) {
    comparison.measurements.emplace_back();
    m = &comparison.measurements.back();
    m->combination = combination;
  }
  if (kind == "trial") {
    const double ms = line.at("ms");
    if (!(ms > 0)) Throw<InputError>("{} ms is no time", ms);
    m->trials_ms.push_back(ms);
    m->statistics = StatisticsFrom(line.at("statistics"));
    m->profiled = true;
    m->checked = false;
    m->costs = line.value("costs", "");
    if (m->outcome == Outcome::kNotReached || m->outcome == Outcome::kFailed) {
      m->outcome = Outcome::kOk;
      m->reason.clear();
    }
  } else if (kind == "buffers") {
    m->buffers = BuffersFrom(line.at("buffers"));
    m->buffer_costs = line.value("costs", "");
    m->buffers_dropped = false;
  } else if (kind == "dropped") {
    if (line.at("buffers").get<bool>()) {
      m->buffers.reset();
      m->buffers_dropped = true;
    }
    if (line.at("trials").get<bool>()) {
      m->trials_ms.clear();
      m->verdict.reset();
      m->checked = true;
      m->profiled = false;
      m->statistics = {};
      if (m->outcome == Outcome::kOk) m->outcome = Outcome::kNotReached;
    }
  } else if (kind == "verdict") {
    m->verdict = Verdict{line.at("passed").get<bool>(), line.at("message").get<std::string>()};
    m->checked = true;
    if (m->verdict->passed && m->outcome == Outcome::kFailed && !m->trials_ms.empty()) {  // of which a retry made good
      m->outcome = Outcome::kOk;
      m->reason.clear();
    }
    if (!m->verdict->passed) {
      m->outcome = Outcome::kWrong;
      m->reason = m->verdict->message;
    }
  } else if (kind == "failure") {
    m->outcome = line.at("applicable").get<bool>() ? Outcome::kFailed : Outcome::kNotApplicable;
    m->reason = line.at("reason");
    m->again = line.at("again");
  }
}

}  // namespace chatty::cli
