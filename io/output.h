/// \file
/// Output to a file that appears under its name only when it is complete.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace chatty {

/// A file being written. The bytes go to a temporary file beside the target. Commit() renames it to the target; otherwise
/// the destructor removes it. So a reader never sees half a file, and a failed run leaves an old file unchanged.
///
/// The temporary file is called TARGET.HOST-PROCESS-NUMBER.tmp, and its writer holds a lock on it (flock). If the writer was
/// killed, the next writer of the same target on the same host removes the file. It remains on a file system without such
/// locks, and if it came from another host.
///
/// A target ending in .gz or .zst is compressed. A target that is not a regular file (a device, a pipe) and "-", standard
/// output, are written directly and never compressed.
///
/// Not thread-safe. Throws InputError if the target cannot be created, CapabilityError if a write fails (a full disk).
class OutputFile {
 public:
  /// Opens `path`, or standard output for "-".
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Appends bytes.
  void Write(std::string_view bytes);
  /// Appends one byte.
  void Letter(char c) {
    if (used_ == kBufferBytes) Flush();
    buffer_[used_++] = c;
  }
  /// Writes a number in decimal. Floating point has the shortest form that reads back as the same value, so that equal
  /// values give equal bytes; "infinity", "-infinity" and "nan" for values that are not finite.
  template <class T>
  void Number(T value) {
    constexpr std::size_t kRoom = 32;  // the longest number of any type has 24
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        Write(std::isnan(value) ? "nan" : value > 0 ? "infinity" : "-infinity");
        return;
      }
    }
    if (used_ + kRoom > kBufferBytes) Flush();
    char* begin = buffer_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + kRoom, value).ptr - begin);
  }

  /// As Number, for a real: the text of a whole number keeps a point.
  void Real(float value);
  /// As Number, in scientific notation with 15 digits after the point, like %.15e.
  void Scientific(double value) {
    constexpr std::size_t kRoom = 32;  // the longest has 23
    if (!std::isfinite(value)) return Number(value);
    if (used_ + kRoom > kBufferBytes) Flush();
    char* begin = buffer_.data() + used_;
    used_ +=
        static_cast<std::size_t>(std::to_chars(begin, begin + kRoom, value, std::chars_format::scientific, 15).ptr - begin);
  }

  /// Completes the file and renames it to the target. Nothing may be written afterwards.
  void Commit();

 private:
  class Packer;

  static constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

  friend void RemoveUnfinishedOutputs() noexcept;

  void Flush();
  void WriteRaw(const char* bytes, std::size_t size);
  void Enlist();  // adds this to the list of files whose temporary_ exists; the lock is held
  void Delist();

  std::string name_;       // the target's name in errors
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // empty if the target is written directly
  int fd_ = -1;
  std::unique_ptr<Packer> packer_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  OutputFile* next_ = nullptr;        // next file in the list
  OutputFile** linked_by_ = nullptr;  // the pointer to this file in the list; null: not in the list
};

/// Removes unfinished files of `target` in `folder` whose writers on this host have ended, as an OutputFile does for its own
/// target; an empty target means all. Files that cannot be inspected or removed stay.
void RemoveStaleOutputs(const std::string& folder, std::string_view target);

/// For a thread that is about to end the process, such as a signal handler's: removes all unfinished files. Afterwards no
/// thread can begin, complete or abandon a file: it blocks until the process ends.
void RemoveUnfinishedOutputs() noexcept;

}  // namespace chatty
