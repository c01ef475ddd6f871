// The layer below all readers: the same bytes come whichever way they are asked for. The first byte is the length of a
// chunk.

#include <algorithm>
#include <string>

#include "chatty/io/input.h"
#include "fuzz.h"

namespace {

constexpr std::size_t kMaxBytes = std::size_t{5} << 18;  // of what a small file may unpack to, the begin will do

/// What an input gives before it ends or is found to be broken.
struct Content {
  std::string bytes;
  bool whole = false;
};

Content ByBytes(const std::string& path) {
  Content content;
  content.whole = chatty::fuzz::Attempt([&] {
    chatty::Input input(path);
    std::string piece(4096, '\0');
    for (std::size_t got = piece.size(); got == piece.size() && content.bytes.size() < kMaxBytes;) {
      got = input.Read(piece.data(), piece.size());
      content.bytes.append(piece, 0, got);
    }
  });
  return content;
}

Content ByChunks(const std::string& path, std::size_t chunk_bytes) {
  Content content;
  content.whole = chatty::fuzz::Attempt([&] {
    chatty::Input input(path, chunk_bytes);
    chatty::Chunk chunk;
    for (std::size_t index = 0; content.bytes.size() < kMaxBytes && input.Next(&chunk); ++index) {
      chatty::fuzz::Expect(chunk.index == index && !chunk.text.empty(), "chunk {} is called {} and has {} bytes", index,
                           chunk.index, chunk.text.size());
      content.bytes += chunk.text;
      const std::size_t line = content.bytes.size() - (content.bytes.rfind('\n') + 1);  // npos + 1 is 0
      chatty::fuzz::Expect(chunk.text.size() <= chunk_bytes + 2 * chatty::kMaxLineBytes + 4,
                           "a chunk of {} bytes with a line of {}", chunk.text.size(), line);
    }
  });
  return content;
}

Content ByLines(const std::string& path) {
  Content content;
  content.whole = chatty::fuzz::Attempt([&] {
    chatty::Input input(path, 1);
    std::string_view line;
    while (content.bytes.size() < kMaxBytes / 20 && input.PeekLine(&line)) {
      chatty::fuzz::Expect(line.find('\n') == std::string_view::npos, "a line of two lines");
      (content.bytes += line) += '\n';
      input.SkipLine();
    }
  });
  return content;
}

std::string WithoutLineEnds(std::string bytes) {
  std::erase_if(bytes, [](char c) { return c == '\r' || c == '\n'; });
  return bytes;
}

/// Whether one is how the other begins.
bool Agree(std::string_view a, std::string_view b) {
  const std::size_t both = std::min(a.size(), b.size());
  return a.substr(0, both) == b.substr(0, both);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty::fuzz;
  if (size < 1) return -1;
  const std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string path = Files().Write("input", file);
  const Content bytes = ByBytes(path), chunks = ByChunks(path, std::size_t{1} << (data[0] % 20)), lines = ByLines(path);
  Expect(Agree(bytes.bytes, chunks.bytes), "chunks have other bytes");
  Expect(Agree(WithoutLineEnds(bytes.bytes), WithoutLineEnds(lines.bytes)), "lines have other bytes");
  if (bytes.bytes.size() < kMaxBytes) {
    Expect(bytes.whole == chunks.whole, "chunks end otherwise");
    Expect(!bytes.whole || bytes.bytes.size() == chunks.bytes.size(), "chunks have {} of {} bytes", chunks.bytes.size(),
           bytes.bytes.size());
  }
  const bool plain = chatty::Input(path).compression() == chatty::Compression::kNone;
  Expect(!plain || bytes.bytes == file, "a plain file has other bytes");
  return 0;
}
