/// \file
/// Bytes in: a file or standard input, plain, gzip or Zstandard, delivered in chunks that end where lines end, so that
/// several threads can parse one file.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chatty {

/// How a file is packed, known from its first bytes, never from its name.
enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

std::string_view CompressionName(Compression compression);  ///< "plain", "gzip" or "zstd"

/// Longest line, in bytes and without its line end, that any text format may hold. Longer ones mean that the file is no
/// text, and would make chunks unbounded.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

/// A piece of a text file. Reused from call to call of `Input::Next`, so that its buffer is allocated once a thread.
struct Chunk {
  std::size_t index = 0;  ///< 0, 1, 2, ... in file order
  std::string_view text;  ///< ends with a line end, unless the file ends here or a line is longer than kMaxLineBytes

 private:
  friend class Input;
  std::vector<char> buffer_;  // backs `text` where the file is not mapped
};

/// What a reader holds in host memory, against a limit. Thread-safe.
class MemoryClaims {
 public:
  /// `limit` in bytes; 0: none.
  explicit MemoryClaims(std::uint64_t limit) : limit_(limit) {}

  /// Counts bytes that are about to be allocated for what `name` holds, and stay. Throws OutOfMemoryError if they are more
  /// than the limit leaves.
  void Claim(std::uint64_t bytes, const std::string& name) { Expect(held_.fetch_add(bytes) + bytes, name); }
  /// Throws OutOfMemoryError if so many bytes at once, in all, are more than the limit.
  void Expect(std::uint64_t bytes, const std::string& name) const;

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> held_{0};
};

/// An opened input. A plain regular file is mapped into memory; everything else is streamed: the thread that asks for
/// the next chunk unpacks it into a buffer of its own while other threads parse theirs, so that one chunk a thread is
/// in flight and memory stays bounded. A file must not shrink while it is mapped: the system then raises SIGBUS, and
/// MappedInputAt says to a handler which file it was.
///
/// All errors are InputErrors that name the file. Construction throws where the file is missing, unreadable or a
/// directory; the reading members where the compressed stream is truncated or corrupt.
class Input {
 public:
  /// Length of a chunk unless told: 1 MiB, which leaves a thread's buffers in a second-level cache.
  static constexpr std::size_t kDefaultChunkBytes = std::size_t{1} << 20;

  /// Opens `path`, or standard input for "-". Chunks are about `chunk_bytes` long.
  explicit Input(const std::string& path, std::size_t chunk_bytes = kDefaultChunkBytes);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// @{
  /// Against which limit memory for what is read is claimed; null, as at first: none. The object must outlive the input.
  void set_claims(MemoryClaims* claims) { claims_ = claims; }
  MemoryClaims* claims() const { return claims_; }
  /// @}
  /// Claims memory, from any thread.
  void Claim(std::uint64_t bytes) {
    if (claims_ != nullptr) claims_->Claim(bytes, name_);
  }

  const std::string& path() const { return path_; }  ///< as given: "-" for standard input
  const std::string& name() const { return name_; }  ///< how errors call it: the path, Abbreviated; or "standard input"
  /// How the input is packed.
  Compression compression() const { return compression_; }

  // --- In order, by one thread, before the first Next() ---

  /// Up to `bytes` bytes that come next, without consuming them: fewer only where the input ends. Valid until the next
  /// call.
  std::string_view Peek(std::size_t bytes);
  /// Consumes `bytes` bytes that Peek has shown.
  void Consume(std::size_t bytes);
  /// Consumes what some editors begin UTF-8 with, if it comes next.
  void SkipByteOrderMark() {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (Peek(kMark.size()) == kMark) Consume(kMark.size());
  }
  /// Sets `line` to the next line, without its line end ("\n" or "\r\n"), and does not consume it. False at the end.
  /// Throws for a line of more than kMaxLineBytes.
  bool PeekLine(std::string_view* line);
  /// Consumes the line that PeekLine has shown.
  void SkipLine();
  /// Lines consumed by SkipLine: what precedes the first chunk.
  std::uint64_t lines_skipped() const { return lines_skipped_; }
  /// Copies the next `bytes` bytes to `to`; returns how many there were.
  std::size_t Read(void* to, std::size_t bytes);
  /// No more unpacked bytes than this, told by the file's length; the largest number where that tells nothing.
  std::uint64_t most_bytes() const { return most_bytes_; }
  /// Unpacked bytes that are left, where that is known without reading them: for a mapped file.
  std::optional<std::uint64_t> remaining() const;
  /// What keeps a mapped file where Peek shows it, beyond this object's life; null for a stream. What is written there is
  /// this process's alone. From then on Consume and Next give no pages back.
  std::shared_ptr<const void> KeepMapped();

  // --- From any number of threads ---

  /// Fetches the next chunk. False at the end, and in all threads once one has thrown.
  bool Next(Chunk* chunk);
  /// Unpacked bytes delivered so far.
  std::uint64_t bytes_delivered() const { return bytes_delivered_; }

 private:
  class Stream;
  class Map;

  /// Gives the whole pages of a part of the map back to the system: they count as memory of this process, though the
  /// system can read them from the file again.
  void ReleaseMapped(std::string_view text) const;
  void Fill(std::size_t bytes);  // makes ahead_ hold `bytes` bytes, or all that are left

  std::string path_, name_;
  MemoryClaims* claims_ = nullptr;
  std::size_t chunk_bytes_;
  Compression compression_ = Compression::kNone;
  int fd_ = -1;
  std::uint64_t most_bytes_ = ~std::uint64_t{0};
  std::shared_ptr<Map> map_;        // null for a stream
  bool kept_ = false;               // by others, too
  std::unique_ptr<Stream> stream_;  // null for a mapped file

  std::mutex mutex_;
  std::vector<char> buffer_;  // backs ahead_ where the file is not mapped
  std::string_view ahead_;    // unpacked and not delivered: of a mapped file, all the rest
  bool exhausted_ = false;    // nothing beyond ahead_
  bool failed_ = false;
  std::size_t next_index_ = 0;
  std::size_t line_bytes_ = 0;  // of the line that PeekLine has shown, line end included
  std::uint64_t lines_skipped_ = 0;
  std::uint64_t bytes_delivered_ = 0;
};

/// The name of the input that is mapped to where `address` points; null if none is. A signal handler may call it.
const char* MappedInputAt(const void* address) noexcept;

}  // namespace chatty
