/// \file
/// A folder for a test's files, and the bytes to put into them.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"

namespace chatty::test {

template <class T>
std::vector<T> Copy(const Array<T>& array) {
  return {array.begin(), array.end()};
}

/// A test with an empty folder of its own, which goes when the test ends.
class WithFiles : public ::testing::Test {
 protected:
  WithFiles() {
    std::string pattern = (std::filesystem::temp_directory_path() / "chatty-io-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~WithFiles() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, std::string_view content) const {
    std::filesystem::remove(Path(name));  // some file systems are slow to write a file anew
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  static std::string Slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t FileCount() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

 private:
  std::filesystem::path folder_;
};

inline std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string Zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

/// The text of the Error that `body` throws, which must be an E; a failed expectation and "" if it throws none.
template <class E, class Body>
std::string ErrorOf(Body&& body) {
  try {
    body();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an error of another type: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace chatty::test
