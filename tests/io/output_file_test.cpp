// Output files: whole or not there at all, compressed by their suffix, and numbers that read back exactly.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;

class OutputFileTest : public test::WithFiles {};

TEST_F(OutputFileTest, AppearsOnCommitAlone) {
  const std::string path = Write("file", "old");
  {
    OutputFile output(path);
    output.Write("new");
    output.Commit();
  }
  EXPECT_EQ(Slurp(path), "new");
  {
    OutputFile output(path);
    output.Write(std::string(1 << 20, 'x'));
    EXPECT_EQ(Slurp(path), "new");
  }
  EXPECT_EQ(Slurp(path), "new") << "given up, the old file stays";
  EXPECT_EQ(FileCount(), 1u) << "nothing is left beside it";
}

TEST_F(OutputFileTest, KeepsModeAndLinks) {
  const std::string target = Write("target", "old"), link = Path("link");
  ASSERT_EQ(::chmod(target.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  OutputFile output(link);
  output.Write("new");
  output.Commit();
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(Slurp(target), "new");
  struct stat info {};
  ASSERT_EQ(::stat(target.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(OutputFileTest, WritesDevicesAndPipesDirectly) {
  {
    OutputFile output("/dev/null");
    output.Write("gone");
    output.Commit();
  }
  struct stat info {};
  ASSERT_EQ(::stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  const std::string pipe = Path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = Slurp(pipe); });
  {
    OutputFile output(pipe);
    output.Write("through");
    output.Commit();
  }
  reader.join();
  EXPECT_EQ(read, "through");
}

TEST_F(OutputFileTest, CompressesBySuffix) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 100003) + "\n";
  for (const std::string name : {"a.txt.gz", "a.txt.zst", "a.txt"}) {
    OutputFile output(Path(name));
    output.Write(text);
    output.Commit();
    Input input(Path(name));
    EXPECT_EQ(input.Peek(text.size() + 1), text) << name;
    EXPECT_EQ(input.compression(), name == "a.txt.gz"    ? Compression::kGzip
                                   : name == "a.txt.zst" ? Compression::kZstd
                                                         : Compression::kNone);
  }
}

TEST_F(OutputFileTest, NumbersAreShortestAndExact) {
  OutputFile output(Path("file"));
  for (const double value : {0.1, 1.0, 1e-5, 123456789.0, 1e300, -0.0}) {
    output.Number(value);
    output.Letter(' ');
  }
  output.Number(0.1f);
  output.Letter(' ');
  output.Number(std::numeric_limits<std::int64_t>::min());
  output.Letter(' ');
  output.Number(std::numeric_limits<std::uint64_t>::max());
  output.Letter(' ');
  output.Number(-std::numeric_limits<float>::infinity());
  output.Letter(' ');
  output.Number(-std::numeric_limits<double>::quiet_NaN());
  output.Commit();
  EXPECT_EQ(Slurp(Path("file")),
            "0.1 1 1e-05 123456789 1e+300 -0 0.1 -9223372036854775808 18446744073709551615 -infinity nan");
}

TEST_F(OutputFileTest, WhatCannotBeWrittenIsNamed) {
  EXPECT_NE(ErrorOf<InputError>([&] { OutputFile output(Path("no/such/folder")); }).find("no/such/folder"),
            std::string::npos);
  EXPECT_NE(ErrorOf<InputError>([&] { OutputFile output(Path("")); }).find("directory"), std::string::npos);
  EXPECT_NE(ErrorOf<InputError>([&] { OutputFile output(""); }).find("empty"), std::string::npos);
  if (::access("/dev/full", W_OK) == 0) {
    EXPECT_NE(ErrorOf<CapabilityError>([&] {
                OutputFile output("/dev/full");
                output.Write("x");
                output.Commit();
              }).find("/dev/full"),
              std::string::npos);
  }
}

TEST_F(OutputFileTest, WhatAKilledWriterLeavesGoesAtTheNextWrite) {
  Write("out.txt.notes-1-2.tmp", "not ours");
  Write("out.txt", "old");
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile killed(Path("out.txt")), other(Path("out.txt.gz"));
    killed.Write(std::string(1 << 20, 'x'));
    ::raise(SIGKILL);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(FileCount(), 4u);
  EXPECT_EQ(Slurp(Path("out.txt")), "old");
  {
    OutputFile alive(Path("out.txt"));
    EXPECT_EQ(FileCount(), 4u) << "that of the same target went, this one's came";
    OutputFile again(Path("out.txt"));
    EXPECT_EQ(FileCount(), 5u) << "a file that somebody writes stays";
    again.Write("new");
    again.Commit();
    alive.Write("newer");
    alive.Commit();
  }
  EXPECT_EQ(Slurp(Path("out.txt")), "newer");
  EXPECT_EQ(FileCount(), 3u);
  RemoveStaleOutputs(Path(""), "");
  EXPECT_EQ(FileCount(), 2u) << "the other target's";
  EXPECT_EQ(Slurp(Path("out.txt.notes-1-2.tmp")), "not ours");
}

TEST_F(OutputFileTest, WritersAtTheSameTimeTakeNoFileOfEachOtherForStale) {
  constexpr int kWriters = 4, kFiles = 300;
  std::atomic<int> lost{0}, writing{kWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int file = 0; file < kFiles; ++file) {
        try {
          OutputFile output(Path(fmt::format("{}-{}.txt", writer, file)));
          output.Write("whole");
          output.Commit();
        } catch (const Error&) {
          ++lost;
        }
      }
      --writing;
    });
  }
  threads.emplace_back([&] {
    while (writing > 0) RemoveStaleOutputs(Path(""), "");
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(FileCount(), std::size_t{kWriters * kFiles});
}

}  // namespace
}  // namespace chatty
