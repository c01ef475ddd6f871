#include "chatty/io/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"

namespace chatty {
namespace {

/// Guards the list of unfinished files. Neither is destroyed: the thread that ends the process may hold the mutex to the
/// end.
std::mutex& UnfinishedMutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
OutputFile* first_unfinished = nullptr;

/// Part of a temporary file's name, because locks of other hosts may be invisible.
const std::string& HostName() {
  static const std::string name = [] {
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) != 0) return std::string("localhost");
    std::string host = text.data();
    std::replace(host.begin(), host.end(), '/', '_');
    return host;
  }();
  return name;
}

}  // namespace

/// A compressor that writes to a sink.
class OutputFile::Packer {
 public:
  using Sink = std::function<void(const char*, std::size_t)>;

  Packer(bool gzip, Sink sink) : sink_(std::move(sink)), packed_(std::size_t{1} << 18) {
    if (gzip) {
      if (deflateInit2(&zlib_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        Throw<OutOfMemoryError>("zlib cannot be initialised");
      }
      zlib_ready_ = true;
    } else {
      zstd_.reset(ZSTD_createCCtx());
      if (zstd_ == nullptr) Throw<OutOfMemoryError>("zstd cannot be initialised");
      ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_checksumFlag, 1);
    }
  }
  ~Packer() {
    if (zlib_ready_) deflateEnd(&zlib_);
  }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// Compresses `bytes`; `last` also ends the stream.
  void Write(const char* bytes, std::size_t size, bool last) {
    if (zlib_ready_) {
      zlib_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes));
      zlib_.avail_in = static_cast<uInt>(size);
      int status = Z_OK;
      do {
        zlib_.next_out = reinterpret_cast<Bytef*>(packed_.data());
        zlib_.avail_out = static_cast<uInt>(packed_.size());
        status = deflate(&zlib_, last ? Z_FINISH : Z_NO_FLUSH);
        sink_(packed_.data(), packed_.size() - zlib_.avail_out);
      } while (last ? status != Z_STREAM_END : zlib_.avail_out == 0);
    } else {
      ZSTD_inBuffer in{bytes, size, 0};
      std::size_t left = 0;
      do {
        ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
        left = ZSTD_compressStream2(zstd_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) Throw<CapabilityError>("zstd cannot compress: {}", ZSTD_getErrorName(left));
        sink_(packed_.data(), out.pos);
      } while (last ? left != 0 : in.pos != in.size);
    }
  }

 private:
  struct FreeZstd {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  Sink sink_;
  std::vector<char> packed_;
  z_stream zlib_{};
  bool zlib_ready_ = false;
  std::unique_ptr<ZSTD_CCtx, FreeZstd> zstd_;
};

OutputFile::OutputFile(const std::string& path) : name_(Abbreviated(path)), target_(path), buffer_(kBufferBytes) {
  if (path.empty()) throw InputError("the name of the output file is empty; give a path, or - for standard output");
  if (path == "-") {
    name_ = "standard output";
    fd_ = STDOUT_FILENO;
    return;
  }
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) Throw<InputError>("{}: is a directory; name a file in it", name_);
  if (exists && !S_ISREG(info.st_mode)) {  // a rename onto /dev/null would replace it
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) Throw<InputError>("{}: cannot be written: {}", name_, ErrnoText(errno));
    return;
  }
  if (exists) {  // replace the target of a link, not the link
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    if (resolved) target_ = resolved.get();
  }
  const std::string_view view = path;
  const bool gzip = view.ends_with(".gz");
  if (gzip || view.ends_with(".zst")) {
    packer_ = std::make_unique<Packer>(gzip, [this](const char* bytes, std::size_t size) { WriteRaw(bytes, size); });
  }
  // The last allocation that can fail: a destructor does not run after a failed constructor.
  static std::atomic<unsigned> counter{0};
  const std::size_t slash = target_.rfind('/');
  RemoveStaleOutputs(slash == std::string::npos ? "." : target_.substr(0, slash + 1),
                     std::string_view(target_).substr(slash + 1));
  const std::lock_guard lock(UnfinishedMutex());
  for (bool held = false; !held;) {
    temporary_ = fmt::format("{}.{}-{}-{}.tmp", target_, HostName(), ::getpid(), counter++);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? info.st_mode & 0777 : 0666);
    if (fd_ < 0) {
      if (errno == EEXIST) continue;  // from a killed process with the same process id
      const int error = errno;
      Throw<InputError>("{}: cannot be created: {}; check that the folder exists and may be written to", name_,
                        ErrnoText(error));
    }
    // Before this lock was held, another writer may have removed the file as stale. Without support for locks no writer
    // removes files.
    struct stat made {};
    held = ::flock(fd_, LOCK_EX | LOCK_NB) == 0 ? ::fstat(fd_, &made) != 0 || made.st_nlink > 0 : errno != EWOULDBLOCK;
    if (!held) ::close(fd_);
  }
  Enlist();
}

OutputFile::~OutputFile() {
  if (fd_ >= 0 && target_ != "-") ::close(fd_);  // compare the target's name, because a file may also get descriptor 1
  if (linked_by_ == nullptr) return;
  const std::lock_guard lock(UnfinishedMutex());
  ::unlink(temporary_.c_str());
  Delist();
}

void OutputFile::Enlist() {
  next_ = first_unfinished;
  if (next_ != nullptr) next_->linked_by_ = &next_;
  first_unfinished = this;
  linked_by_ = &first_unfinished;
}

void OutputFile::Delist() {
  *linked_by_ = next_;
  if (next_ != nullptr) next_->linked_by_ = linked_by_;
  linked_by_ = nullptr;
}

void RemoveStaleOutputs(const std::string& folder, std::string_view target) {
  const std::string host = fmt::format(".{}-", HostName());
  // Not std::filesystem, which ends the process if the allocation of an entry fails.
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (entries == nullptr) return;
  while (const dirent* const entry = ::readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe): a stream of its own
    const std::string_view name = entry->d_name;
    const std::size_t begin = name.rfind(host);
    if (begin == std::string_view::npos || !name.ends_with(".tmp")) continue;
    if (!target.empty() && name.substr(0, begin) != target) continue;
    const std::string_view process = name.substr(begin + host.size());
    if (process.find_first_not_of("0123456789-") != process.size() - 4) continue;
    const int folder_fd = ::dirfd(entries.get());
    const int fd = ::openat(folder_fd, entry->d_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder_fd, entry->d_name, 0);  // its writer has ended
    ::close(fd);
  }
}

void RemoveUnfinishedOutputs() noexcept {
  UnfinishedMutex().lock();  // held to the end of the process
  for (const OutputFile* file = first_unfinished; file != nullptr; file = file->next_) ::unlink(file->temporary_.c_str());
}

void OutputFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (used_ == kBufferBytes) Flush();
    const std::size_t part = std::min(bytes.size(), kBufferBytes - used_);
    std::memcpy(buffer_.data() + used_, bytes.data(), part);
    used_ += part;
    bytes.remove_prefix(part);
  }
}

void OutputFile::Real(float value) {
  if (!std::isfinite(value)) return Number(value);
  std::array<char, 32> digits;
  const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  Write(text);
  if (text.find_first_of(".e") == std::string_view::npos) Write(".0");
}

void OutputFile::Flush() {
  if (packer_ != nullptr) {
    packer_->Write(buffer_.data(), used_, false);
  } else {
    WriteRaw(buffer_.data(), used_);
  }
  used_ = 0;
}

void OutputFile::WriteRaw(const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd_, bytes, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      Throw<CapabilityError>("{}: cannot be written: {}", name_, ErrnoText(errno));
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

void OutputFile::Commit() {
  Flush();
  if (packer_ != nullptr) packer_->Write(nullptr, 0, true);
  if (target_ == "-") return;
  const int fd = std::exchange(fd_, -1);
  // A second descriptor holds the lock until the rename. Without it another writer may remove the file as stale.
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  } const lock_holder{::fcntl(fd, F_DUPFD_CLOEXEC, 0)};
  if (::close(fd) != 0) {  // network file systems report a full disk only here
    Throw<CapabilityError>("{}: cannot be written: {}", name_, ErrnoText(errno));
  }
  if (linked_by_ == nullptr) return;
  const std::lock_guard lock(UnfinishedMutex());
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    Throw<InputError>("{}: cannot be put in place: {}", name_, ErrnoText(errno));
  }
  Delist();
}

}  // namespace chatty
