#include "chatty/cli/output_files.h"

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "chatty/cli/interrupt.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/ldbc.h"
#include "chatty/io/reader.h"
#include "chatty/io/writer.h"

namespace chatty::cli {

void PrepareOutput(const std::string& path) {
  if (path.empty() || path == "-") return;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) Throw<InputError>("{}: is a directory; name a file in it", path);
    if (!S_ISREG(info.st_mode)) return;
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    Throw<InputError>("{}: cannot be created: {}: {}", path, folder, ErrnoText(errno));
  }
  TakeInterrupts();
}

void RefuseOtherSuffix(std::string_view option, const std::string& path, std::string_view forms,
                       std::initializer_list<std::string_view> own, bool decided) {
  constexpr std::string_view kPacked[] = {".bz2", ".xz", ".lz4", ".lzma", ".br", ".z",
                                          ".zip", ".7z", ".rar", ".tar",  ".tgz"};
  constexpr std::string_view kOthers[] = {
      ".csv",     ".tsv",         ".parquet", ".feather", ".arrow", ".orc",    ".avro",   ".xlsx",   ".xls",   ".ods",
      ".h5",      ".hdf5",        ".nc",      ".npz",     ".mat",   ".pkl",    ".pt",     ".pickle", ".jsonl", ".ndjson",
      ".xml",     ".yaml",        ".yml",     ".html",    ".db",    ".sqlite", ".pdf",    ".svg",    ".png",   ".dot",
      ".graphml", ".safetensors", ".npy",     ".json",    ".htm",   ".bson",   ".msgpack"};
  std::string name = path.substr(path.rfind('/') + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string lower = name;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.resize(name.size() - packed.size());
  }
  for (const std::string_view suffix : kPacked) {
    if (!lower.ends_with(suffix) && !name.ends_with(suffix)) continue;
    Throw<UsageError>("{} {}: nothing is packed as {}; end it in .gz or .zst, or pack it afterwards", option, path, suffix);
  }
  const bool packs = name.size() < lower.size();
  const bool chooses = own.size() > 1;  // among several forms
  const bool names_own =
      chooses && std::any_of(own.begin(), own.end(), [&](std::string_view form) { return name.ends_with(form); });
  const std::size_t kept = name.size() - (names_own ? name.size() - name.rfind('.') : 0);
  if ((packs || names_own) && !path.ends_with(lower.substr(kept))) {
    Throw<UsageError>("{} {}: suffixes are in lower case: end it in {}", option, path, lower.substr(kept));
  }
  if (decided) return;
  const std::size_t dot = std::min(name.rfind('.'), name.size());
  const std::string suffix = name.substr(dot);
  const bool is_graph = suffix != ".txt" && suffix.size() > 1 && FormatOfSuffix(name).has_value();
  if (std::find(own.begin(), own.end(), suffix) != own.end()) return;
  if (!is_graph && std::find(std::begin(kOthers), std::end(kOthers), suffix) == std::end(kOthers)) return;
  Throw<UsageError>("{} {}: no {} file is written here; {}", option, path, suffix, forms);
}

void PrepareJson(const std::string& path) {
  RefuseOtherSuffix("--json", path, "the record is JSON (.json)", {".json"});
  PrepareOutput(path);
}

void RefuseSameFile(std::string_view option, const std::string& path, std::string_view other_option,
                    const std::string& other) {
  namespace fs = std::filesystem;
  if (path.empty() || other.empty() || path == "-" || other == "-") return;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;  // /dev/null takes any number of outputs
  // Links, hard ones too, are seen where both exist; otherwise the folders decide.
  bool same = fs::equivalent(path, other, error);
  if (error) {
    std::error_code ignored;
    const fs::path a = fs::weakly_canonical(fs::absolute(path, ignored), ignored);
    same = !a.empty() && a == fs::weakly_canonical(fs::absolute(other, ignored), ignored);
  }
  if (same) Throw<UsageError>("{} {} and {} {} are the same file; name another", option, path, other_option, other);
}

std::vector<std::string> GraphOutputFiles(const std::string& path, const std::optional<std::string>& format) {
  std::vector<std::string> files{path};
  const std::optional<GraphFormat> chosen = format ? ParseFormat(*format) : FormatOfSuffix(path);
  if (chosen == GraphFormat::kLdbc && path != "-") {
    const auto [vertices, edges] = LdbcFilesBeside(path);
    files.insert(files.end(), {vertices, edges});
  }
  return files;
}

std::vector<std::string> TakeLosses(const Graph& graph, const std::string& path, const std::optional<std::string>& format,
                                    bool lossy, std::string_view remedy) {
  std::vector<std::string> lost = LossesOf(graph, path, format);
  if (!lost.empty() && !lossy) {
    Throw<UsageError>("{}: its format cannot say all of the graph: {}; {}.chatty keeps all, and --lossy writes it so", path,
                      fmt::join(lost, "; "), remedy);
  }
  return lost;
}

std::string DescribeLosses(const std::vector<std::string>& lost, const std::string& path, int width) {
  std::string text;
  for (const std::string& what : lost) {
    if (path == "-") Log().warn("the format of what is written cannot say all of the graph: {}", what);
    text += fmt::format("  {:<{}} {}\n", "lost", width, what);
  }
  return text;
}

}  // namespace chatty::cli
