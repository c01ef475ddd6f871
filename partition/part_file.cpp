#include "chatty/partition/part_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/text_parser.h"

namespace chatty {

PartId PartsInName(std::string_view path) {
  constexpr std::string_view kInfix = ".part.";
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (path.ends_with(suffix)) {
      path.remove_suffix(suffix.size());
      break;
    }
  }
  const std::size_t at = path.rfind(kInfix);
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = path.substr(at + kInfix.size());
  PartId parts = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parts);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return 0;
  return parts <= kMaxFileParts ? parts : 0;
}

PartFile ReadPartFile(const std::string& path) {
  const PartId named = PartsInName(path);
  Input input(path);
  input.SkipByteOrderMark();
  std::vector<PartId> owners;
  PartId largest = 0;
  std::uint64_t lines = 0;  // lines in earlier chunks
  Chunk chunk;
  while (input.Next(&chunk)) {
    io::LineCursor cursor(chunk.text);
    try {
      while (cursor.NextLine<'%', '#'>()) {
        const std::uint64_t part = cursor.Unsigned("part");
        if (named != 0 && part >= named) {
          cursor.Fail("part {} in a file whose name promises {} parts, numbered from 0{}", part, named,
                      part == named ? "; if they are from 1, subtract 1 from each" : "");
        }
        if (part >= kMaxFileParts) {
          cursor.Fail("part {} is too large: a part file has at most {} parts, numbered from 0", part, kMaxFileParts);
        }
        cursor.FinishLine();
        owners.push_back(static_cast<PartId>(part));
        largest = std::max(largest, owners.back());
      }
    } catch (const io::LineError& error) {
      io::FailAt(input.name(), lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  PartFile file;
  file.owners = Array<PartId>(std::span<const PartId>(owners));
  file.parts = named != 0 ? named : owners.empty() ? 0 : largest + 1;
  std::vector<bool> used(file.parts);
  for (const PartId part : owners) used[part] = true;
  for (PartId part = 0; part < file.parts; ++part) {
    if (!used[part]) file.empty.push_back(part);
  }
  return file;
}

void WritePartFile(const std::string& path, const Partition& partition) {
  OutputFile output(path);
  for (VertexId v = 0; v < partition.vertices(); ++v) {
    output.Number(partition.Owner(v));
    output.Letter('\n');
  }
  output.Commit();
}

bool IsPartFilePath(std::string_view name) { return name.find_first_of("/.") != std::string_view::npos; }

namespace {

class PartFilePartitioner final : public Partitioner {
 public:
  explicit PartFilePartitioner(const std::string& path) : path_(path), file_(ReadPartFile(path)) {
    // A graph without vertices has an empty part file, which does not contain the number of parts.
    if (file_.parts == 0) {
      Throw<InputError>("{}: is empty, so the number of parts is unknown; let its name end in .part.K", Abbreviated(path));
    }
  }
  std::string_view name() const override { return path_; }
  PartId parts() const override { return file_.parts; }
  /// A warning about empty parts, or "".
  std::string note() const {
    const std::vector<PartId>& empty = file_.empty;
    if (empty.empty() || file_.owners.empty()) return {};
    if (empty == std::vector<PartId>{0}) return "no vertex is in part 0: parts count from 0, so subtract 1 from each line";
    if (empty.size() == 1) return fmt::format("no vertex is in part {}", empty[0]);
    return fmt::format("no vertex is in {} of the parts, the first of which is {}", empty.size(), empty[0]);
  }

  Partition Divide(const Graph& graph, const PartitionOptions& options) const override try {
    const std::string odd = note();
    if (options.parts != file_.parts) {
      Throw<UsageError>("{} divides into {} parts, but {} were requested{}{}", Abbreviated(path_), file_.parts,
                        options.parts, odd.empty() ? "" : "; ", odd);
    }
    if (file_.owners.size() != graph.vertices()) {
      Throw<InputError>("{}: {} lines for the {} vertices of the graph; each vertex has one, which names its part",
                        Abbreviated(path_), file_.owners.size(), graph.vertices());
    }
    if (!odd.empty()) Log().warn("{}: {}", Abbreviated(path_), odd);
    return Partition::FromOwners(file_.owners.Clone(), file_.parts, path_, options.threads);
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("dividing a graph");
  }

 private:
  std::string path_;
  PartFile file_;
};

}  // namespace

std::string DescribeEmptyParts(const Partitioner& partitioner) {
  const auto* const file = dynamic_cast<const PartFilePartitioner*>(&partitioner);
  return file == nullptr ? std::string() : file->note();
}

std::unique_ptr<Partitioner> MakePartFilePartitioner(const std::string& path) {
  return std::make_unique<PartFilePartitioner>(path);
}

}  // namespace chatty
