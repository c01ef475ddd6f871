/// \file
/// Input from a file or standard input; plain, gzip or Zstandard. Chunks end at line ends, so that several threads can parse
/// one file.
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

/// A file's compression, determined by its first bytes, never by its name.
enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

std::string_view CompressionName(Compression compression);  ///< "plain", "gzip" or "zstd"

/// Maximum length of a line in bytes, without its line end, in any text format. A longer line means that the file is not
/// text, and would make chunks unbounded.
inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

/// A piece of a text file. Reused in later calls of `Input::Next`, so that each thread allocates its buffer once.
struct Chunk {
  std::size_t index = 0;  ///< 0, 1, 2, ... in file order
  std::string_view
      text;  ///< ends with a line end, except at the end of the file and within a line longer than kMaxLineBytes

 private:
  friend class Input;
  std::vector<char> buffer_;  // backs `text` if the file is not mapped
};

/// Host memory of a reader, and its limit. Thread-safe.
class MemoryClaims {
 public:
  /// `limit` in bytes; 0: none.
  explicit MemoryClaims(std::uint64_t limit) : limit_(limit) {}

  /// Adds memory that is about to be allocated for the input `name` and stays. Throws OutOfMemoryError beyond the limit.
  void Claim(std::uint64_t bytes, const std::string& name) { Expect(held_.fetch_add(bytes) + bytes, name); }
  /// Throws OutOfMemoryError if `bytes`, the total in use at once, exceed the limit.
  void Expect(std::uint64_t bytes, const std::string& name) const;

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> held_{0};
};

/// An open input. A plain regular file is mapped into memory; all others are streamed. The thread that requests the next
/// chunk decompresses it into its own buffer while other threads parse theirs. So there is one chunk per thread and memory
/// is bounded. A mapped file must not shrink: the system then raises SIGBUS, and MappedInputAt returns the file's name to a
/// signal handler.
///
/// All errors are InputErrors that name the file. The constructor throws if the file is missing, unreadable or a directory;
/// reading members throw if the compressed stream is truncated or corrupt.
class Input {
 public:
  /// Default length of a chunk: 1 MiB, so that a thread's buffers fit a second-level cache.
  static constexpr std::size_t kDefaultChunkBytes = std::size_t{1} << 20;

  /// Opens `path`, or standard input for "-". Chunks are about `chunk_bytes` long.
  explicit Input(const std::string& path, std::size_t chunk_bytes = kDefaultChunkBytes);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// @{
  /// The object that counts memory for the contents; null, the default: no limit. It must outlive the input.
  void set_claims(MemoryClaims* claims) { claims_ = claims; }
  MemoryClaims* claims() const { return claims_; }
  /// @}
  /// Adds memory to the claims. Any thread may call it.
  void Claim(std::uint64_t bytes) {
    if (claims_ != nullptr) claims_->Claim(bytes, name_);
  }

  const std::string& path() const { return path_; }  ///< as given; "-" for standard input
  const std::string& name() const { return name_; }  ///< name in errors: the path, Abbreviated, or "standard input"
  /// The input's compression.
  Compression compression() const { return compression_; }

  // --- Sequential access, by one thread, before the first Next() ---

  /// The next `bytes` bytes, without consuming them; fewer only at the end of the input. Valid until the next call.
  std::string_view Peek(std::size_t bytes);
  /// Consumes `bytes` bytes that Peek has returned.
  void Consume(std::size_t bytes);
  /// Consumes the byte order mark with which some editors begin UTF-8, if it comes next.
  void SkipByteOrderMark() {
    constexpr std::string_view kMark = "\xef\xbb\xbf";
    if (Peek(kMark.size()) == kMark) Consume(kMark.size());
  }
  /// Sets `line` to the next line, without its line end ("\n" or "\r\n"), and does not consume it. False at the end. Throws
  /// for a line longer than kMaxLineBytes.
  bool PeekLine(std::string_view* line);
  /// Consumes the line that PeekLine has returned.
  void SkipLine();
  /// Lines consumed by SkipLine, which precede the first chunk.
  std::uint64_t lines_skipped() const { return lines_skipped_; }
  /// Copies the next `bytes` bytes to `to`; returns how many there were.
  std::size_t Read(void* to, std::size_t bytes);
  /// Upper bound of the unpacked bytes, from the file's length; the largest number if unknown.
  std::uint64_t max_bytes() const { return max_bytes_; }
  /// Unpacked bytes that remain, if known without reading: for a mapped file.
  std::optional<std::uint64_t> remaining() const;
  /// An owner that keeps a mapped file's pages, as returned by Peek, beyond this object's lifetime; null for a stream.
  /// Writes to them are private to the process. Afterwards Consume and Next release no pages.
  std::shared_ptr<const void> KeepMapped();

  // --- From any number of threads ---

  /// Gets the next chunk. False at the end, and in all threads after one call has thrown.
  bool Next(Chunk* chunk);
  /// Unpacked bytes delivered so far.
  std::uint64_t bytes_delivered() const { return bytes_delivered_; }

 private:
  class Stream;
  class Map;

  /// Releases the complete pages of a part of the map: they count as memory of this process, although the system can read
  /// them from the file again.
  void ReleaseMapped(std::string_view text) const;
  void Fill(std::size_t bytes);  // makes ahead_ contain `bytes` bytes, or all that remain

  std::string path_, name_;
  MemoryClaims* claims_ = nullptr;
  std::size_t chunk_bytes_;
  Compression compression_ = Compression::kNone;
  int fd_ = -1;
  std::uint64_t max_bytes_ = ~std::uint64_t{0};
  std::shared_ptr<Map> map_;        // null for a stream
  bool kept_ = false;               // KeepMapped has been called
  std::unique_ptr<Stream> stream_;  // null for a mapped file

  std::mutex mutex_;
  std::vector<char> buffer_;  // backs ahead_ if the file is not mapped
  std::string_view ahead_;    // unpacked, not yet delivered bytes; of a mapped file, all the rest
  bool exhausted_ = false;    // there are no bytes after ahead_
  bool failed_ = false;
  std::size_t next_index_ = 0;
  std::size_t line_bytes_ = 0;  // length of the line that PeekLine has returned, line end included
  std::uint64_t lines_skipped_ = 0;
  std::uint64_t bytes_delivered_ = 0;
};

/// The name of the input whose map contains `address`; null if there is none. A signal handler may call it.
const char* MappedInputAt(const void* address) noexcept;

}  // namespace chatty
