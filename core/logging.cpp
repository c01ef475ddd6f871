#include "chatty/core/logging.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/progress.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

/// Writes to standard error, in colour on a terminal. Wipes a progress bar on the line first.
class StderrSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    Progress::WipeLine();
    stderr_.log(message);
  }
  void flush() override { stderr_.flush(); }
  void set_pattern(const std::string& pattern) override { stderr_.set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override { stderr_.set_formatter(std::move(formatter)); }

 private:
  spdlog::sinks::stderr_color_sink_mt stderr_;
};

std::optional<spdlog::level::level_enum> ParseLevel(std::string_view text) {
  if (text == "trace") return spdlog::level::trace;
  if (text == "debug") return spdlog::level::debug;
  if (text == "info") return spdlog::level::info;
  if (text == "warning" || text == "warn") return spdlog::level::warn;
  if (text == "error") return spdlog::level::err;
  if (text == "critical") return spdlog::level::critical;
  if (text == "off") return spdlog::level::off;
  return std::nullopt;
}

constexpr std::string_view kLevels = "trace, debug, info, warning, error, critical or off";

std::unique_ptr<spdlog::logger> MakeLogger() {
  auto logger = std::make_unique<spdlog::logger>("chatty", std::make_shared<StderrSink>());
  logger->set_pattern("%^%l%$: %v");
  logger->set_level(spdlog::level::info);
  // The library never changes the environment.
  if (const char* wanted = std::getenv("CHATTY_LOG");  // NOLINT(concurrency-mt-unsafe)
      wanted != nullptr && *wanted != '\0') {
    if (const auto level = ParseLevel(wanted)) {
      logger->set_level(*level);
    } else {
      logger->warn("CHATTY_LOG={} is not a level and is ignored; the levels are {}", Abbreviated(wanted), kLevels);
    }
  }
  return logger;
}

}  // namespace

spdlog::logger& Log() {
  // Never destroyed: destructors of other static objects may still log.
  static spdlog::logger& logger = *MakeLogger().release();
  return logger;
}

void SetLogLevel(std::string_view level) {
  const auto parsed = ParseLevel(level);
  if (!parsed) {
    constexpr std::string_view kNames[] = {"trace", "debug", "info", "warning", "error", "critical", "off"};
    Throw<UsageError>("there is no log level `{}`{}; the levels are {}", Abbreviated(level), DidYouMean(level, kNames),
                      kLevels);
  }
  Log().set_level(*parsed);
}

}  // namespace chatty
