#include "chatty/cli/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "chatty/core/bytes.h"
#include "chatty/core/progress.h"
#include "chatty/io/output.h"

namespace chatty::cli {
namespace {

bool g_quiet = false;

}  // namespace

void PrintText(std::string_view text) {
  Progress::WipeLine();
  OutputFile output("-");
  output.Write(text);
  output.Commit();
}

void SetQuiet(bool quiet) { g_quiet = quiet; }

void PrintReport(std::string_view text, bool aside) {
  if (g_quiet) return;
  if (aside) {
    PrintError(text);
  } else {
    PrintText(text);
  }
}

void PrintError(std::string_view text) noexcept {
  Progress::WipeLine();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string Grouped(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string FormatBytes(std::uint64_t bytes) { return chatty::FormatBytes(bytes); }

std::string Coloured(std::string_view text, bool good) {
  if (::isatty(STDOUT_FILENO) == 0) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", good ? 32 : 31, text);
}

std::string Html(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

}  // namespace chatty::cli
