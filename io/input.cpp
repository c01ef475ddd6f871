#include "chatty/io/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "chatty/core/abbreviated.h"
#include "chatty/core/bytes.h"
#include "chatty/core/error.h"
#include "chatty/io/formats.h"

namespace chatty {
namespace {

constexpr std::size_t kRawBytes = std::size_t{1} << 18;  // compressed bytes per system call

std::size_t ReadSome(int fd, char* to, std::size_t bytes, const std::string& name) {
  for (;;) {
    const ssize_t got = ::read(fd, to, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) Throw<InputError>("{}: cannot be read: {}", name, ErrnoText(errno));
  }
}

/// A stream's compression from its first four bytes. For gzip the third byte, the method, must be deflate: two bytes alone
/// may be a number at the begin of a binary file.
Compression Sniff(std::string_view head) {
  const auto byte = [&](std::size_t i) { return i < head.size() ? static_cast<unsigned char>(head[i]) : 0u; };
  if (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) return Compression::kGzip;
  if (byte(0) == 0x28 && byte(1) == 0xb5 && byte(2) == 0x2f && byte(3) == 0xfd) return Compression::kZstd;
  const bool skippable = (byte(0) & 0xf0) == 0x50 && byte(1) == 0x2a && byte(2) == 0x4d && byte(3) == 0x18;
  return skippable ? Compression::kZstd : Compression::kNone;
}

/// Addresses of mapped inputs, for signal handlers, which must not lock. An input without a free slot is not found.
struct MappedInput {
  std::atomic<const char*> begin{nullptr};  ///< null: free slot
  std::atomic<std::size_t> bytes{0};
  std::atomic<const char*> name{nullptr};
};
std::array<MappedInput, 64> mapped_inputs;

void NoteMapped(const char* begin, std::size_t bytes, const char* name) {
  for (MappedInput& slot : mapped_inputs) {
    const char* none = nullptr;
    if (!slot.begin.compare_exchange_strong(none, begin)) continue;
    slot.name = name;
    slot.bytes = bytes;
    return;
  }
}

void ForgetMapped(const char* begin) {
  for (MappedInput& slot : mapped_inputs) {
    if (slot.begin != begin) continue;
    slot.bytes = 0;
    slot.begin = nullptr;
  }
}

}  // namespace

const char* MappedInputAt(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MappedInput& slot : mapped_inputs) {
    const auto begin = reinterpret_cast<std::uintptr_t>(slot.begin.load());
    if (begin != 0 && at >= begin && at - begin < slot.bytes) return slot.name;
  }
  return nullptr;
}

std::string_view CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return "plain";
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
  }
  return "unknown";
}

/// Decompressed bytes of a file descriptor, in order.
class Input::Stream {
 public:
  Stream(int fd, std::string name) : fd_(fd), name_(std::move(name)), raw_(kRawBytes) {
    while (end_ < 4 && Refill()) {
    }
    compression_ = Sniff({raw_.data(), end_});
    if (compression_ == Compression::kGzip) {
      if (inflateInit2(&zlib_, 15 + 16) != Z_OK) Throw<OutOfMemoryError>("zlib cannot be initialised");
      zlib_ready_ = true;
    } else if (compression_ == Compression::kZstd) {
      zstd_ = ZSTD_createDStream();
      if (zstd_ == nullptr) Throw<OutOfMemoryError>("zstd cannot be initialised");
    }
  }

  ~Stream() {
    if (zlib_ready_) inflateEnd(&zlib_);
    ZSTD_freeDStream(zstd_);
  }

  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Compression compression() const { return compression_; }

  /// Reads up to `bytes` bytes; fewer only at the end of the stream.
  std::size_t Read(char* to, std::size_t bytes) {
    std::size_t done = 0;
    while (done < bytes && !ended_) {
      switch (compression_) {
        case Compression::kNone:
          done += ReadPlain(to + done, bytes - done);
          break;
        case Compression::kGzip:
          done += ReadGzip(to + done, bytes - done);
          break;
        case Compression::kZstd:
          done += ReadZstd(to + done, bytes - done);
          break;
      }
    }
    return done;
  }

 private:
  /// Appends to the contents of raw_. False at the end of the descriptor.
  bool Refill() {
    if (begin_ == end_) begin_ = end_ = 0;
    const std::size_t got = ReadSome(fd_, raw_.data() + end_, raw_.size() - end_, name_);
    end_ += got;
    packed_read_ += got;
    return got > 0;
  }

  std::size_t ReadPlain(char* to, std::size_t bytes) {
    std::size_t got = std::min(bytes, end_ - begin_);
    if (got > 0) {
      std::memcpy(to, raw_.data() + begin_, got);
      begin_ += got;
    } else {
      got = ReadSome(fd_, to, bytes, name_);
      if (got == 0) ended_ = true;
    }
    return got;
  }

  std::size_t ReadGzip(char* to, std::size_t bytes) {
    if (begin_ == end_ && !Refill()) {
      if (!between_members_) Truncated("gzip");
      ended_ = true;
      return 0;
    }
    if (between_members_) {
      // After a member: another member, or zeros, with which tapes and block devices pad.
      while (begin_ < end_ && raw_[begin_] == 0) ++begin_;
      if (begin_ == end_) return 0;
      if (static_cast<unsigned char>(raw_[begin_]) != 0x1f) {
        Throw<InputError>(
            "{}: bytes after the end of the gzip stream that belong to no gzip member: the file is corrupt; "
            "fetch or compress it again",
            name_);
      }
      if (inflateReset(&zlib_) != Z_OK) Throw<InputError>("{}: gzip stream cannot be continued", name_);
    }
    between_members_ = false;
    zlib_.next_in = reinterpret_cast<Bytef*>(raw_.data() + begin_);
    zlib_.avail_in = static_cast<uInt>(end_ - begin_);
    zlib_.next_out = reinterpret_cast<Bytef*>(to);
    zlib_.avail_out = static_cast<uInt>(std::min<std::size_t>(bytes, 1u << 30));
    const uInt room = zlib_.avail_out;
    const int status = inflate(&zlib_, Z_NO_FLUSH);
    begin_ = end_ - zlib_.avail_in;
    if (status == Z_STREAM_END) {
      between_members_ = true;
    } else if (status == Z_MEM_ERROR) {
      Throw<OutOfMemoryError>("{}: out of memory while unpacking gzip", name_);
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      Corrupt("gzip", zlib_.msg != nullptr ? zlib_.msg : "invalid data");
    }
    return room - zlib_.avail_out;
  }

  std::size_t ReadZstd(char* to, std::size_t bytes) {
    // A frame may have output left in the decoder after all its input is consumed, so decode before a refill.
    if (begin_ == end_ && !zstd_pending_ && !Refill()) {
      if (!between_members_) Truncated("zstd");
      ended_ = true;
      return 0;
    }
    ZSTD_inBuffer in{raw_.data(), end_, begin_};
    ZSTD_outBuffer out{to, bytes, 0};
    const std::size_t status = ZSTD_decompressStream(zstd_, &out, &in);
    if (ZSTD_isError(status)) {
      if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge) {
        Throw<InputError>(
            "{}: was compressed with a window of more than 128 MiB; compress it again without --long, or pipe it "
            "through `zstd -dc --long=31`",
            name_);
      }
      Corrupt("zstd", ZSTD_getErrorName(status));
    }
    begin_ = in.pos;
    between_members_ = status == 0;
    zstd_pending_ = status != 0 && out.pos == out.size;
    return out.pos;
  }

  [[noreturn]] void Truncated(std::string_view kind) const {
    Throw<InputError>(
        "{}: the {} stream ends too early, after {} packed bytes: the file is truncated; fetch or compress it again", name_,
        kind, packed_read_);
  }
  [[noreturn]] void Corrupt(std::string_view kind, std::string_view why) const {
    Throw<InputError>("{}: the {} stream is corrupt near packed byte {} ({}); fetch or compress it again", name_, kind,
                      packed_read_ - (end_ - begin_), why);
  }

  int fd_;
  std::string name_;
  std::vector<char> raw_;  // compressed bytes not yet decompressed: [begin_, end_)
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t packed_read_ = 0;
  Compression compression_ = Compression::kNone;
  z_stream zlib_{};
  bool zlib_ready_ = false;
  ZSTD_DStream* zstd_ = nullptr;
  bool zstd_pending_ = false;
  bool between_members_ = false;  // at a position where the compressed stream may end
  bool ended_ = false;
};

/// A mapped file. Input and views share it.
class Input::Map {
 public:
  /// The text is empty if the file cannot be mapped.
  Map(int fd, std::size_t bytes, const std::string& name) : name_(name) {
    void* const begin = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (begin == MAP_FAILED) return;
    text_ = {static_cast<char*>(begin), bytes};
    NoteMapped(text_.data(), bytes, name_.c_str());
    ::madvise(begin, bytes, MADV_SEQUENTIAL);
  }
  ~Map() {
    if (text_.empty()) return;
    ForgetMapped(text_.data());
    ::munmap(const_cast<char*>(text_.data()), text_.size());
  }
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string name_;
  std::string_view text_;
};

void MemoryClaims::Expect(std::uint64_t bytes, const std::string& name) const {
  if (limit_ == 0 || bytes <= limit_) return;
  Throw<OutOfMemoryError>(
      "{}: out of host memory while it is read: this takes at least {}, but the host's limit allows only {}: use a smaller "
      "graph "
      "or "
      "a larger limit",
      name, FormatBytes(bytes), FormatBytes(limit_));
}

Input::Input(const std::string& path, std::size_t chunk_bytes)
    : path_(path),
      name_(path == "-" ? "standard input" : Abbreviated(path)),
      chunk_bytes_(std::max<std::size_t>(chunk_bytes, 1)) {
  if (path.empty()) throw InputError("the name of the input file is empty; give a path, or - for standard input");
  const auto fail = [&](std::string_view hint) {
    Throw<InputError>("{}: cannot be opened: {}{}", name_, ErrnoText(errno), hint);
  };
  struct stat info {};
  if (path == "-") {
    fd_ = STDIN_FILENO;
    if (::fstat(fd_, &info) != 0) fail("");
  } else {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) {
      fail(errno == ENOENT   ? "; check the path"
           : errno == EACCES ? "; check the permissions of the file and of the folders above it"
                             : "");
    }
  }
  try {
    if (::fstat(fd_, &info) != 0) fail("");
    if (S_ISDIR(info.st_mode)) Throw<InputError>("{}: is a directory; name a file in it", name_);
    if (path != "-" && S_ISREG(info.st_mode) && info.st_size > 0) {
      char head[4];
      const ssize_t got = ::pread(fd_, head, sizeof head, 0);
      if (got < 0) fail("");
      if (Sniff({head, static_cast<std::size_t>(got)}) == Compression::kNone) {
        auto map = std::make_shared<Map>(fd_, static_cast<std::size_t>(info.st_size), name_);
        if (!map->text().empty()) {  // some file systems do not support maps; then the file is streamed
          map_ = std::move(map);
          ahead_ = map_->text();
          max_bytes_ = ahead_.size();
          exhausted_ = true;
          return;
        }
      }
    }
    stream_ = std::make_unique<Stream>(fd_, name_);
    compression_ = stream_->compression();
    if (path != "-" && S_ISREG(info.st_mode)) {
      max_bytes_ = io::MaxUnpacked(static_cast<std::uint64_t>(info.st_size), compression_);
    }
  } catch (...) {
    if (fd_ != STDIN_FILENO) ::close(fd_);
    throw;
  }
}

Input::~Input() {
  if (fd_ != STDIN_FILENO) ::close(fd_);
}

void Input::Fill(std::size_t bytes) {
  if (exhausted_ || ahead_.size() >= bytes) return;
  const std::size_t kept = ahead_.size();
  if (kept > 0) std::memmove(buffer_.data(), ahead_.data(), kept);
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  const std::size_t got = stream_->Read(buffer_.data() + kept, bytes - kept);
  exhausted_ = got < bytes - kept;
  ahead_ = {buffer_.data(), kept + got};
}

std::string_view Input::Peek(std::size_t bytes) {
  Fill(bytes);
  return ahead_.substr(0, bytes);
}

std::shared_ptr<const void> Input::KeepMapped() {
  if (map_ == nullptr) return nullptr;
  char* const begin = const_cast<char*>(map_->text().data());
  // Writable, because lists may be sorted: written pages become private to the process. If the system refuses the memory,
  // arrays are copies.
  if (::mprotect(begin, map_->text().size(), PROT_READ | PROT_WRITE) != 0) return nullptr;
  ::madvise(begin, map_->text().size(), MADV_NORMAL);  // from now on pages may be read repeatedly
  kept_ = true;
  return map_;
}

void Input::ReleaseMapped(std::string_view text) const {
  if (kept_) return;
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(text.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + text.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void Input::Consume(std::size_t bytes) {
  CHATTY_CHECK(bytes <= ahead_.size(), "{} bytes consumed of {}", bytes, ahead_.size());
  if (stream_ == nullptr) ReleaseMapped(ahead_.substr(0, bytes));
  ahead_.remove_prefix(bytes);
  bytes_delivered_ += bytes;
}

bool Input::PeekLine(std::string_view* line) {
  std::size_t end = std::string_view::npos;
  for (std::size_t want = 4096;; want *= 4) {
    Fill(want);
    // One byte for "\r", one for "\n", and one that shows that a line is too long.
    const std::size_t searched = std::min(ahead_.size(), kMaxLineBytes + 3);
    end = ahead_.substr(0, searched).find('\n');
    if (end != std::string_view::npos || searched == kMaxLineBytes + 3 || (exhausted_ && searched == ahead_.size())) break;
  }
  if (end == std::string_view::npos && ahead_.empty()) return false;
  line_bytes_ = end == std::string_view::npos ? ahead_.size() : end + 1;
  *line = ahead_.substr(0, end);
  if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
  if (line->size() > kMaxLineBytes) {
    Throw<InputError>("{}:{}: the line is longer than {} bytes: this is not a text file of a known graph format", name_,
                      lines_skipped_ + 1, kMaxLineBytes);
  }
  return true;
}

void Input::SkipLine() {
  Consume(line_bytes_);
  line_bytes_ = 0;
  ++lines_skipped_;
}

std::size_t Input::Read(void* to, std::size_t bytes) {
  const std::size_t first = std::min(bytes, ahead_.size());
  if (first > 0) std::memcpy(to, ahead_.data(), first);
  ahead_.remove_prefix(first);
  std::size_t done = first;
  if (done < bytes && !exhausted_) {
    const std::size_t got = stream_->Read(static_cast<char*>(to) + done, bytes - done);
    exhausted_ = got < bytes - done;
    done += got;
  }
  bytes_delivered_ += done;
  return done;
}

std::optional<std::uint64_t> Input::remaining() const {
  if (!exhausted_) return std::nullopt;
  return ahead_.size();
}

bool Input::Next(Chunk* chunk) {
  if (stream_ == nullptr) ReleaseMapped(chunk->text);
  const std::scoped_lock lock(mutex_);
  if (failed_) return false;
  if (stream_ == nullptr) {
    if (ahead_.empty()) return false;
    std::size_t size = std::min(chunk_bytes_, ahead_.size());
    if (size < ahead_.size() && ahead_[size - 1] != '\n') {
      const std::size_t end = ahead_.substr(size, kMaxLineBytes + 2).find('\n');
      size = end == std::string_view::npos ? std::min(ahead_.size(), size + kMaxLineBytes + 2) : size + end + 1;
    }
    chunk->text = ahead_.substr(0, size);
    ahead_.remove_prefix(size);
  } else {
    std::vector<char>& buffer = chunk->buffer_;
    std::size_t capacity = std::max(chunk_bytes_, ahead_.size());
    if (buffer.size() < capacity) buffer.resize(capacity);
    std::size_t size = ahead_.size();
    if (size > 0) std::memcpy(buffer.data(), ahead_.data(), size);
    ahead_ = {};
    std::size_t whole = 0;  // length of the complete lines in the buffer
    for (;;) {
      if (!exhausted_) {
        try {
          const std::size_t got = stream_->Read(buffer.data() + size, capacity - size);
          exhausted_ = got < capacity - size;
          size += got;
        } catch (...) {
          failed_ = true;
          throw;
        }
      }
      if (exhausted_) {
        whole = size;
        break;
      }
      const void* last = ::memrchr(buffer.data(), '\n', size);
      if (last != nullptr) {
        whole = static_cast<std::size_t>(static_cast<const char*>(last) - buffer.data()) + 1;
        break;
      }
      if (size > kMaxLineBytes + 1) {  // too long a line: the parser reports it with its number
        whole = size;
        break;
      }
      capacity *= 2;
      buffer.resize(capacity);
    }
    if (whole == 0) return false;
    const std::size_t tail = size - whole;
    if (buffer_.size() < tail) buffer_.resize(tail);
    if (tail > 0) std::memcpy(buffer_.data(), buffer.data() + whole, tail);
    ahead_ = {buffer_.data(), tail};
    chunk->text = {buffer.data(), whole};
  }
  chunk->index = next_index_++;
  bytes_delivered_ += chunk->text.size();
  return true;
}

}  // namespace chatty
