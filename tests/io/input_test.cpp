#include "chatty/io/input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "chatty/core/error.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;
using test::Zstd;

class InputTest : public test::WithFiles {};

std::string Lines(std::size_t count) {
  std::string text;
  std::mt19937 random(7);
  for (std::size_t i = 0; i < count; ++i) text += std::to_string(i) + std::string(random() % 40, 'x') + "\n";
  return text;
}

/// The chunks of `path`, fetched by `threads` threads, joined; checks that each ends with a line.
std::string ReadChunks(const std::string& path, std::size_t chunk_bytes, int threads) {
  Input input(path, chunk_bytes);
  std::mutex mutex;
  std::map<std::size_t, std::string> chunks;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      Chunk chunk;
      while (input.Next(&chunk)) {
        const std::scoped_lock lock(mutex);
        EXPECT_TRUE(chunks.emplace(chunk.index, chunk.text).second) << "chunk " << chunk.index << " came twice";
      }
    });
  }
  for (auto& worker : workers) worker.join();
  std::string all;
  std::size_t expected = 0;
  for (const auto& [index, text] : chunks) {
    EXPECT_EQ(index, expected++);
    EXPECT_FALSE(text.empty());
    if (expected < chunks.size()) {
      EXPECT_EQ(text.back(), '\n') << "chunk " << index;
    }
    all += text;
  }
  EXPECT_EQ(input.bytes_delivered(), all.size());
  return all;
}

TEST_F(InputTest, ChunksJoinToTheTextWhateverTheirSizeAndPacking) {
  const std::string text = Lines(5000) + "no line end";
  const std::string half = text.substr(0, text.size() / 2), rest = text.substr(text.size() / 2);
  const std::map<std::string, std::string> files = {
      {"plain", text},
      {"gzip", Gzip(text)},
      {"gzip members", Gzip(half) + Gzip("") + Gzip(rest)},
      {"gzip padded", Gzip(text) + std::string(1000, '\0')},
      {"zstd", Zstd(text)},
      {"zstd frames", Zstd(half) + Zstd(rest)},
      {"zstd skippable", std::string("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11) + Zstd(text)},
  };
  for (const auto& [name, content] : files) {
    const std::string path = Write("file", content);
    for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{100}, std::size_t{4096}, std::size_t{1} << 22}) {
      for (const int threads : {1, 4}) {
        EXPECT_EQ(ReadChunks(path, chunk_bytes, threads), text)
            << name << ", chunks of " << chunk_bytes << ", " << threads << " threads";
      }
    }
  }
}

TEST_F(InputTest, PackingIsSeenFromTheContent) {
  EXPECT_EQ(Input(Write("a.gz", "plain\n")).compression(), Compression::kNone);
  EXPECT_EQ(Input(Write("a.txt", Gzip("x"))).compression(), Compression::kGzip);
  EXPECT_EQ(Input(Write("a.mtx", Zstd("x"))).compression(), Compression::kZstd);
}

TEST_F(InputTest, LinesComeBeforeChunks) {
  const std::string text = "first\r\nsecond\n\nrest 1\nrest 2";
  for (const std::string& content : {text, Gzip(text), Zstd(text)}) {
    Input input(Write("file", content));
    EXPECT_EQ(input.Peek(5), "first");
    std::string_view line;
    for (const std::string_view expected : {"first", "second", ""}) {
      ASSERT_TRUE(input.PeekLine(&line));
      EXPECT_EQ(line, expected);
      ASSERT_TRUE(input.PeekLine(&line));
      EXPECT_EQ(line, expected) << "a look consumes nothing";
      input.SkipLine();
    }
    EXPECT_EQ(input.lines_skipped(), 3u);
    Chunk chunk;
    ASSERT_TRUE(input.Next(&chunk));
    EXPECT_EQ(chunk.text, "rest 1\nrest 2");
    EXPECT_FALSE(input.Next(&chunk));
    EXPECT_FALSE(input.PeekLine(&line));
  }
}

TEST_F(InputTest, ReadTakesWhatIsLeft) {
  for (const std::string& content : {std::string("0123456789"), Gzip("0123456789")}) {
    Input input(Write("file", content));
    char bytes[8] = {};
    EXPECT_EQ(input.Peek(2), "01");
    EXPECT_EQ(input.Read(bytes, 4), 4u);
    EXPECT_EQ(std::string_view(bytes, 4), "0123");
    EXPECT_EQ(input.Read(bytes, 8), 6u);
    EXPECT_EQ(std::string_view(bytes, 6), "456789");
    EXPECT_EQ(input.Read(bytes, 8), 0u);
  }
}

TEST_F(InputTest, EmptyFilesHaveNoChunks) {
  for (const std::string& content : {std::string(), Gzip(""), Zstd("")}) {
    Input input(Write("file", content));
    Chunk chunk;
    EXPECT_FALSE(input.Next(&chunk));
  }
}

TEST_F(InputTest, WhatCannotBeOpenedIsNamed) {
  EXPECT_NE(ErrorOf<InputError>([&] { Input input(Path("absent")); }).find(Path("absent")), std::string::npos);
  EXPECT_NE(ErrorOf<InputError>([&] { Input input(Path("")); }).find("directory"), std::string::npos);
  EXPECT_NE(ErrorOf<InputError>([&] { Input input(""); }).find("empty"), std::string::npos);
}

TEST_F(InputTest, WhatMayNotBeReadIsSaidSo) {
  const std::string locked = Write("locked", "1 2\n");
  ASSERT_EQ(::chmod(locked.c_str(), 0), 0);
  if (::access(locked.c_str(), R_OK) == 0) GTEST_SKIP() << "permissions do not bind this user";
  EXPECT_NE(ErrorOf<InputError>([&] { Input input(locked); }).find("permission"), std::string::npos);
}

TEST_F(InputTest, TruncatedStreamsAreToldApartFromWholeOnes) {
  const std::string text = Lines(2000);
  for (const std::string& packed : {Gzip(text), Zstd(text), Zstd(text) + Zstd(text)}) {
    for (const std::size_t kept : {std::size_t{4}, packed.size() / 3, packed.size() - 1}) {
      const std::string path = Write("file", packed.substr(0, kept));
      const std::string error = ErrorOf<InputError>([&] {
        Input input(path);
        Chunk chunk;
        while (input.Next(&chunk)) {
        }
      });
      EXPECT_NE(error.find("truncated"), std::string::npos) << error;
      EXPECT_NE(error.find(path), std::string::npos) << error;
    }
  }
}

TEST_F(InputTest, DamagedStreamsAreRefused) {
  const std::string text = Lines(20000);
  const auto read = [&](const std::string& content) {
    return ErrorOf<InputError>([&] {
      Input input(Write("file", content));
      Chunk chunk;
      while (input.Next(&chunk)) {
      }
    });
  };
  std::string gzip = Gzip(text);
  gzip[gzip.size() - 6] = static_cast<char>(gzip[gzip.size() - 6] ^ 0x55);  // in the checksum
  EXPECT_NE(read(gzip).find("corrupt"), std::string::npos);
  EXPECT_NE(read(Gzip(text) + "garbage").find("corrupt"), std::string::npos);
  EXPECT_NE(read(Zstd(text) + "garbage").find("corrupt"), std::string::npos);
}

TEST_F(InputTest, AnErrorEndsTheInputForAllThreads) {
  const std::string packed = Gzip(Lines(100000));
  const std::string path = Write("file", packed.substr(0, packed.size() - 100));
  Input input(path, 1000);
  std::atomic<int> errors{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < 4; ++t) {
    workers.emplace_back([&] {
      Chunk chunk;
      try {
        while (input.Next(&chunk)) {
        }
      } catch (const InputError&) {
        ++errors;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(errors, 1);
}

TEST_F(InputTest, LinesAreBounded) {
  const std::string at_limit(kMaxLineBytes, 'x'), beyond(kMaxLineBytes + 1, 'x');
  for (const bool packed : {false, true}) {
    const auto write = [&](const std::string& text) { return Write("file", packed ? Gzip(text) : text); };
    std::string_view line;
    Input fits(write(at_limit + "\r\nnext\n"));
    ASSERT_TRUE(fits.PeekLine(&line));
    EXPECT_EQ(line.size(), kMaxLineBytes);
    Input broken(write("fine\n" + beyond + "\n"));
    ASSERT_TRUE(broken.PeekLine(&line));
    broken.SkipLine();
    EXPECT_NE(ErrorOf<InputError>([&] { broken.PeekLine(&line); }).find(":2:"), std::string::npos);
  }
}

TEST_F(InputTest, StandardInputIsRead) {
  const std::string text = Lines(3000);
  const int saved = ::dup(STDIN_FILENO);
  for (const std::string& content : {text, Gzip(text)}) {
    const int file = ::open(Write("file", content).c_str(), O_RDONLY);
    ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
    ::close(file);
    EXPECT_EQ(ReadChunks("-", 4096, 2), text);
  }
  EXPECT_EQ(Input("-").name(), "standard input");
  ASSERT_EQ(::dup2(saved, STDIN_FILENO), STDIN_FILENO);
  ::close(saved);
}

TEST_F(InputTest, PipesAreStreamed) {
  const std::string pipe = Path("pipe"), text = Lines(3000);
  for (const std::string& content : {text, Zstd(text)}) {
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
      const int fd = ::open(pipe.c_str(), O_WRONLY);
      for (std::size_t at = 0; at < content.size();) {
        const ssize_t written = ::write(fd, content.data() + at, std::min<std::size_t>(content.size() - at, 700));
        if (written <= 0) break;
        at += static_cast<std::size_t>(written);
      }
      ::close(fd);
    });
    EXPECT_EQ(ReadChunks(pipe, 4096, 2), text);
    writer.join();
    ::unlink(pipe.c_str());
  }
}

}  // namespace
}  // namespace chatty
