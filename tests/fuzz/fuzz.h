/// \file
/// What the fuzz targets share: a folder for their files, the errors that hostile input may have, and checks that stop the
/// fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <typeinfo>

#include "chatty/core/error.h"

namespace chatty::fuzz {

/// A folder in memory, where there is one, that goes when the process ends as it should.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  /// A path in it.
  std::string Path(std::string_view name) const { return (folder_ / name).string(); }
  /// Makes a file in it.
  std::string Write(std::string_view name, std::string_view content) const;
  void Clear() const;  ///< removes all files
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

/// The process' own.
const Scratch& Files();

/// Says what is wrong and ends the process as a crash: the fuzzer keeps the input.
[[noreturn]] void Report(std::string_view what);

/// Reports unless `holds`.
template <class... Args>
void Expect(bool holds, fmt::format_string<Args...> text, Args&&... args) {
  if (!holds) Report(fmt::format(text, std::forward<Args>(args)...));
}

/// An error's text: one line, which does not hold what a terminal would obey.
void CheckText(std::string_view text);

/// Runs `body`. False if it throws one of the errors that input may have; any other exception is reported.
template <class Body>
bool Attempt(Body&& body) {
  try {
    body();
    return true;
  } catch (const InternalError& error) {
    Report(error.what());
  } catch (const Error& error) {
    CheckText(error.what());
  } catch (const std::exception& error) {
    Report(fmt::format("an exception of type {}: {}", typeid(error).name(), error.what()));
  }
  return false;
}

/// `content`, packed with Zstandard.
std::string Packed(std::string_view content);

}  // namespace chatty::fuzz

/// One input, the fuzzer's entry. -1: of no interest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
