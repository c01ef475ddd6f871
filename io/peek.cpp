#include "chatty/io/peek.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/io/formats.h"

namespace chatty {

std::uint64_t io::MaxUnpacked(std::uint64_t bytes, Compression compression) {
  std::uint64_t ratio = 1;
  if (compression == Compression::kGzip) ratio = 1032;      // deflate: at most 258 bytes from two bits
  if (compression == Compression::kZstd) ratio = 1u << 15;  // at most a block of 128 KiB from 4 bytes
  return bytes > ~std::uint64_t{0} / ratio ? ~std::uint64_t{0} : bytes * ratio;
}

namespace {

/// Estimates the number of lines in a file from several parts of it: the first lines may be shorter than others, because
/// small ids are.
std::uint64_t LikelyLines(const std::string& path, std::uint64_t bytes) {
  constexpr std::uint64_t kParts = 16, kPartBytes = 8192;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kPartBytes> part;
  std::uint64_t seen = 0, lines = 0;
  for (std::uint64_t i = 0; i < kParts && file; ++i) {
    file.seekg(static_cast<std::streamoff>(bytes / kParts * i));
    file.read(part.data(), static_cast<std::streamsize>(std::min(kPartBytes, bytes / kParts + 1)));
    seen += static_cast<std::uint64_t>(file.gcount());
    lines += static_cast<std::uint64_t>(std::count(part.begin(), part.begin() + file.gcount(), '\n'));
  }
  return seen == 0 ? 0
                   : static_cast<std::uint64_t>(static_cast<double>(bytes) / static_cast<double>(seen) *
                                                static_cast<double>(lines));
}

}  // namespace

std::optional<GraphPeek> PeekGraph(const std::string& path, const ReadOptions& options) {
  if (options.symmetrise && options.directed) {
    throw UsageError("a graph cannot be both made symmetric and read as directed; choose one");
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (path == "-" || (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                      !std::filesystem::is_directory(status))) {
    return std::nullopt;  // reading here would consume the bytes
  }
  if (options.format) ParseFormat(*options.format);
  Input input(path, /*chunk_bytes=*/1);
  GraphPeek peek;
  const io::OpenedFormat opened = io::OpenFormat(input, options);
  const io::FormatEntry& format = opened.entry;
  peek.format = format.format;
  peek.listed = !format.has_rows;
  peek.compression = input.compression();
  const std::uint64_t packed = std::filesystem::file_size(path, error);
  const std::uint64_t bytes = error ? ~std::uint64_t{0} : io::MaxUnpacked(packed, peek.compression);
  if (format.peek == nullptr) {
    const bool both_ways = io::SaysUndirected(input.Peek(std::size_t{1} << 16)) && !options.directed;
    peek.symmetric = options.symmetrise || both_ways;
    peek.maybe_symmetric = !options.directed;  // the first line may declare it
    peek.edges_most = bytes / 4 + 1;           // "0 1" and a line end; the last line may lack one
    if (peek.compression == Compression::kNone && !error) peek.edges_likely = LikelyLines(path, packed);
    if (peek.symmetric) peek.edges_most = std::min(peek.edges_most, ~std::uint64_t{0} / 2) * 2;
    peek.from = "the length of " + Abbreviated(path);
    return peek;
  }

  const io::StatedCounts stated = [&] {
    try {
      return format.peek(input);
    } catch (const InputError& error) {
      throw InputError(opened.Describe(error.what()));
    }
  }();
  peek.vertices = stated.vertices;
  peek.weights = stated.weights;
  peek.stored = stated.entries;
  peek.from = stated.line > 0 ? fmt::format("line {} of {}", stated.line, input.name())
                              : fmt::format("the header of {}", input.name());

  const std::uint64_t room = stated.entry_bytes == 0      ? stated.entries
                             : bytes > stated.other_bytes ? (bytes - stated.other_bytes) / stated.entry_bytes + 1
                                                          : 0;
  const std::uint64_t entries = std::min({stated.entries, room, ~std::uint64_t{0} / 4});
  const std::uint64_t loops = std::min(entries, stated.vertices);  // loops in the file, at most one per vertex
  const bool reversed = options.symmetrise ? !stated.symmetric : stated.stored_once && !options.directed;
  peek.symmetric = reversed || (stated.symmetric && !options.directed);
  peek.maybe_symmetric = peek.symmetric || (stated.maybe_symmetric && !options.directed);
  if (reversed) {
    peek.edges_most = 2 * entries;
    // A loop is one edge even if edges are reversed. If both directions are stored already, reversal adds no edge.
    const std::uint64_t others = entries - loops;
    const bool news = stated.stored_once || (options.keep_parallel && !stated.maybe_symmetric);
    peek.edges_least = (news ? 2 * others : others) + (options.keep_loops ? loops : 0);
  } else {
    peek.edges_most = entries;
    peek.edges_least = options.keep_loops ? entries : entries - loops;
  }
  if (stated.odd_loops) {
    if (options.keep_loops) peek.edges_most = std::max(peek.edges_most, std::min(room, ~std::uint64_t{0} / 4));
    peek.edges_least = entries - std::min(entries, 2 * loops);
  }
  if (room < stated.entries || stated.most_entries) peek.edges_least = 0;
  if (stated.most_vertices) peek.vertices.reset();
  return peek;
}

}  // namespace chatty
