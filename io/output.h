/// \file
/// Bytes out: a file that appears under its name only once it is complete.
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

/// A file being written. The bytes go to a new file beside the target, which takes the target's name in Commit() and is
/// removed by the destructor otherwise: a reader never sees half a file, and a failed run leaves an old file as it was.
/// What a killed process has left beside a target goes when somebody writes that target again on the same host: its name is
/// TARGET.HOST-PROCESS-NUMBER.tmp, and its writer holds a lock on it for as long as it lives (flock). Where a file system
/// has no such locks, and of other hosts, it stays.
/// A target ending in .gz or .zst is compressed. Targets that are no regular files (devices, pipes) and "-", standard
/// output, are written directly and never compressed.
///
/// Not thread-safe. Throws InputError where the target cannot be created, CapabilityError where writing fails (a full
/// disk).
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
  /// Writes a number in decimal: floating point in the shortest form that reads back as the same value, so that equal
  /// values are equal bytes; "infinity", "-infinity" and "nan" where it is none.
  template <class T>
  void Number(T value) {
    constexpr std::size_t kRoom = 32;  // the longest of any type is 24
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

  /// The same of a real whose text is to be taken for one: a whole number keeps a point.
  void Real(float value);
  /// As Number in scientific notation with 15 digits after the point, as %.15e has it.
  void Scientific(double value) {
    constexpr std::size_t kRoom = 32;  // the longest is 23
    if (!std::isfinite(value)) return Number(value);
    if (used_ + kRoom > kBufferBytes) Flush();
    char* begin = buffer_.data() + used_;
    used_ +=
        static_cast<std::size_t>(std::to_chars(begin, begin + kRoom, value, std::chars_format::scientific, 15).ptr - begin);
  }

  /// Completes the file and gives it its name. Nothing may be written afterwards.
  void Commit();

 private:
  class Packer;

  static constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

  friend void RemoveUnfinishedOutputs() noexcept;

  void Flush();
  void WriteRaw(const char* bytes, std::size_t size);
  void Enlist();  // among those whose temporary_ is there; the lock is held
  void Delist();

  std::string name_;       // how errors call the target
  std::string target_;     // symbolic links followed
  std::string temporary_;  // empty where the target is written directly
  int fd_ = -1;
  std::unique_ptr<Packer> packer_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  OutputFile* next_ = nullptr;        // enlisted after this one
  OutputFile** linked_by_ = nullptr;  // what points to this one; null: not enlisted
};

/// Removes unfinished files of `target` in `folder` whose writers on this host are gone, as an OutputFile does for its own;
/// of all targets if that is empty. What cannot be looked at or removed stays.
void RemoveStaleOutputs(const std::string& folder, std::string_view target);

/// For whoever is about to end the process, say a thread that waits for signals: removes what has been begun and is not
/// complete. From then on nobody begins, completes or gives up a file: who tries waits for the end.
void RemoveUnfinishedOutputs() noexcept;

}  // namespace chatty
