// What the program makes of files that mean it no good: one line that says what is wrong and where, soon, and in little
// memory.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../sanitized.h"
#include "cli_fixture.h"

namespace chatty::cli::test {
namespace {

/// What a run may take: of processor time, as a bound on a hang; and of memory beyond what this test itself has, which the
/// system counts for a child before it becomes the program.
constexpr double kMaxSeconds = 60;
constexpr long kMaxKilobytes = CHATTY_TEST_SANITIZED ? 400'000 : 64'000;

struct Finished {
  int status = -1;  ///< exit code; -1 when a signal ended it
  int signal = 0;
  double seconds = 0;
  long kilobytes = 0;
  std::string out, err;
};

class Hostile : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    if (HasFatalFailure()) return;
    fs::create_directory(folder_ / "in");
    fs::create_directory(folder_ / "out");
  }

  std::string In(const std::string& name) const { return Path("in/" + name); }
  std::string Out(const std::string& name) const { return Path("out/" + name); }
  std::string Write(const std::string& name, std::string_view content) const {
    return CliTest::Write("in/" + name, content);
  }
  /// Paths of all that is in `folder`.
  static std::set<std::string> Names(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) names.insert(entry.path().string());
    return names;
  }

  pid_t Begin(const Arguments& arguments, const std::string& in = "/dev/null") const {
    return Start(arguments, folder_ / ".out", folder_ / ".err", in);
  }
  Finished Wait(pid_t child) const {
    Finished ended;
    int status = 0;
    rusage used{}, own{};
    EXPECT_EQ(::wait4(child, &status, 0, &used), child);
    ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    ended.seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
    ::getrusage(RUSAGE_SELF, &own);
    ended.kilobytes = std::max(0l, used.ru_maxrss - own.ru_maxrss);
    ended.out = ReadAll(folder_ / ".out");
    ended.err = ReadAll(folder_ / ".err");
    return ended;
  }
  Finished Run(const Arguments& arguments, const std::string& in = "/dev/null") const { return Wait(Begin(arguments, in)); }

  /// Exit code 2, one line that holds each of `texts`, soon, in little memory, and nothing left.
  void Refused(const Arguments& arguments, const Arguments& texts, const std::string& in = "/dev/null") const {
    const std::set<std::string> before = Names(folder_ / "out");
    const Finished ended = Run(arguments, in);
    SCOPED_TRACE(fmt::format("chatty {}\n{}", fmt::join(arguments, " "), ended.err));
    EXPECT_EQ(ended.status, 2);
    EXPECT_EQ(ended.out, "");
    EXPECT_TRUE(ended.err.starts_with("chatty: error: "));
    EXPECT_EQ(ended.err.find('\n'), ended.err.size() - 1);
    EXPECT_LT(ended.err.size(), 800u);
    for (const char c : ended.err) {
      if (c == '\n') continue;
      EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == 0x7f) << "a character that terminals obey";
    }
    for (const std::string& text : texts) EXPECT_NE(ended.err.find(text), std::string::npos) << "should say: " << text;
    EXPECT_LT(ended.seconds, kMaxSeconds);
    EXPECT_LT(ended.kilobytes, kMaxKilobytes);
    EXPECT_EQ(Names(folder_ / "out"), before);
  }
  /// As a graph, by every command that reads one whole.
  void RefusedAsGraph(const std::string& path, const Arguments& texts) const {
    Refused({"convert", path, Out("graph.chatty")}, texts);
    Refused({"run", "cc", path, "--devices", "host:1", "-o", Out("values.txt"), "--json", Out("record.json")}, texts);
  }
};

constexpr std::string_view kPattern = "%%MatrixMarket matrix coordinate pattern general\n";
constexpr std::string_view kReal = "%%MatrixMarket matrix coordinate real general\n";

std::string Repeated(std::string_view text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  while (times-- > 0) all += text;
  return all;
}

/// Packs `text` once: as members and frames that follow each other are one stream, so many of them unpack to as many texts.
std::string Gzipped(std::string_view text, std::size_t times = 1) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return Repeated(packed, times);
}

std::string Zstandard(std::string_view text, std::size_t times = 1) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return Repeated(packed, times);
}

// ------------------------------------------------------------------ texts ----

TEST_F(Hostile, TextsAreRefusedByLine) {
  const struct {
    const char* name;
    std::string content;
    std::string line;  ///< 0: none, as it is of the whole file
    std::string says;
  } cases[] = {
      {"negative.el", "0 1\n1 -2\n", "2", "'-2' is negative"},
      {"beyond-64.el", "0 1\n18446744073709551616 0\n", "2", "beyond 64 bits"},
      {"beyond-32.el", "0 1\n2 5000000000\n", "2", "--compact-ids"},
      {"word.el", "0 1\none 2\n", "2", "'one' is not a source id"},
      {"real.el", "0 1\n1.5 2\n", "2", "expected a whole number"},
      {"missing.el", "0 1\n2\n", "2", "the line ends where a target id belongs"},
      {"more.el", "0 1 2\n1 2 3 4\n", "2", "'4' follows where the line should end"},
      {"fewer.el", "0 1 2\n1 2\n", "2", "the line ends where a weight belongs"},
      {"nan.el", "0 1 1\n1 2 nan\n", "2", "not finite"},
      {"infinite.el", "0 1 1\n1 2 -inf\n", "2", "not finite"},
      {"large.el", "0 1 1\n1 2 1e400\n", "2", "beyond the range"},
      {"nul.el", std::string("0 1\n1 \0002\n", 9), "2", "'\\x002' is not a target id"},
      {"escape.el", "0 1\n1 \x1b[31m\n", "2", "\\x1b"},
      {"id.mtx", std::string(kPattern) + "3 3 1\n1 4\n", "3", "id 4 exceeds the 3 rows and columns"},
      {"zero.mtx", std::string(kPattern) + "3 3 1\n0 1\n", "3", "id 0 in a file that numbers from 1"},
      {"negative.mtx", std::string(kPattern) + "3 3 1\n1 -1\n", "3", "negative"},
      {"nan.mtx", std::string(kReal) + "3 3 1\n1 2 nan\n", "3", "not finite"},
      {"infinite.mtx", std::string(kReal) + "3 3 1\n1 2 infinity\n", "3", "not finite"},
      {"short.mtx", std::string(kPattern) + "3 3 4\n1 2\n2 3\n", "2", "promises 4 entries, but the file holds 2"},
      {"long.mtx", std::string(kPattern) + "3 3 1\n1 2\n2 3\n", "2", "promises 1 entries, but the file holds 2"},
      {"cut.mtx", std::string(kPattern) + "3 3 4\n1 2\n2", "4", "the line ends where a column id belongs"},
      {"header.mtx", std::string(kPattern) + "3 3\n", "2", "rows columns entries"},
      {"banner.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n", "1", "'complex' is not supported"},
      {"words.mtx", std::string(kPattern) + "three 3 1\n", "2", "rows columns entries"},
      {"short.gr", "p sp 3 4\na 1 2 3\n", "1", "promises 4 arcs, but the file holds 1"},
      {"long.gr", "p sp 3 1\na 1 2 3\na 2 3 4\n", "1", "promises 1 arcs, but the file holds 2"},
      {"id.gr", "c road\np sp 3 1\na 1 9 3\n", "3", "id 9 exceeds the 3 vertices"},
      {"word.gr", "p sp 3 1\na 1 two 3\n", "2", "'two' is not a target id"},
      {"infinite.gr", "p sp 3 1\na 1 2 inf\n", "2", "not finite"},
      {"other.gr", "p max 3 1\na 1 2 3\n", "1", "a problem of another kind"},
      {"nothing.gr", "c only\nc this\n", "2", "before the line \"p sp VERTICES ARCS\""},
      {"empty.el", "", "", "is empty"},
      {"blank.el", " \n\r\n\t\n", "", "is empty"},
      {"comments.el", "# nothing\n% at all\n", "", "holds no edges"},
      {"page.html", "<html>\n", "", "is a page of the web"},
      {"page.xml", "<graphml>\n", "", "which is not a known graph format"},
      {"wide.txt", std::string("\xff\xfe\x30\x00\x20\x00", 6), "", "UTF-16"},
      {"archive.zip", std::string("PK\x03\x04rest", 8), "", "packed with zip"},
      {"archive.bz2", "BZh91AY", "", "packed with bzip2"},
  };
  for (const auto& one : cases) {
    const std::string path = Write(one.name, one.content);
    const std::string where = one.line.empty() ? path + ": " : path + ":" + one.line + ": ";
    Refused({"convert", path, Out("graph.chatty")}, {where, one.says});
  }
}

TEST_F(Hostile, AFaultIsToldByEveryCommandAndWhereverTheTextIsPacked) {
  const std::string text = "0 1\n1 x\n";
  RefusedAsGraph(Write("plain.el", text), {"plain.el:2: 'x' is not a target id"});
  RefusedAsGraph(Write("packed.el.gz", Gzipped(text)), {"packed.el.gz:2: 'x' is not a target id"});
  RefusedAsGraph(Write("packed.el.zst", Zstandard(text)), {"packed.el.zst:2: 'x' is not a target id"});
  const std::string path = In("plain.el");
  Refused({"info", path}, {"plain.el:2: "});
  Refused({"partition", path, "--parts", "2", "-o", Out("p")}, {"plain.el:2: "});
  Refused({"verify", "cc", path, path}, {"plain.el:2: "});
  Refused({"convert", "-", Out("g.chatty")}, {"standard input:2: "}, path);
}

TEST_F(Hostile, WhatIsNoFileIsRefused) {
  fs::create_directory(In("folder"));
  RefusedAsGraph(In("folder"), {"folder: is a directory; name a file in it"});
  RefusedAsGraph(In("nowhere"), {"nowhere: cannot be opened", "check the path"});
  Refused({"convert", "", Out("graph.chatty")}, {"the name of the input file is empty"});
  RefusedAsGraph("/dev/zero", {"/dev/zero: begins with"});
  RefusedAsGraph("/dev/null", {"/dev/null: is empty"});
  for (const char* const format : {"edge-list", "matrix-market", "dimacs", "binary", "ldbc"}) {
    Refused({"convert", "/dev/zero", Out("g.mtx"), "--from", format}, {"/dev/zero"});
  }
  fs::create_symlink(In("circle"), In("circle"));
  RefusedAsGraph(In("circle"), {"circle: cannot be opened"});
}

TEST_F(Hostile, WhatMayNotBeReadIsRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read all";
  const std::string path = Write("secret.el", "0 1\n");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  RefusedAsGraph(path, {"secret.el: cannot be opened", "permissions"});
}

TEST_F(Hostile, APipeIsReadAndItsFaultsAreTold) {
  const std::string pipe = In("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto feed = [&](std::string_view text) {
    return std::thread([pipe, text] { std::ofstream(pipe, std::ios::binary) << text; });
  };
  std::thread good = feed("0 1\n1 2\n");
  EXPECT_EQ(Run({"convert", pipe, Out("g.mtx"), "--ids", "one"}).status, 0);
  good.join();
  fs::remove(Out("g.mtx"));
  std::thread bad = feed("p sp 2 5\na 1 2 3\n");
  Refused({"convert", pipe, Out("g.mtx")}, {"pipe:1: the header promises 5 arcs"});
  bad.join();
}

TEST_F(Hostile, LineEndsAndMarksOfOtherSystemsAreRead) {
  const std::string mark = "\xef\xbb\xbf";
  const auto vertices = [&](const std::string& name, const std::string& content) {
    const Finished ended = Run({"convert", Write(name, content), "-", "--format", "edge-list", "--ids", "zero"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.out;
  };
  const std::string banner(kPattern.substr(0, kPattern.size() - 1));
  EXPECT_EQ(vertices("crlf.el", "# c\r\n0 1\r\n1 2\r\n"), "0 1\n1 2\n");
  EXPECT_EQ(vertices("mark.el", mark + "0 1\n1 2\n"), "0 1\n1 2\n");
  EXPECT_EQ(vertices("both.mtx", mark + banner + "\r\n3 3 2\r\n1 2\r\n2 3\r\n"), "0 1\n1 2\n");
  EXPECT_EQ(vertices("both.gr", mark + "c\r\np sp 3 2\r\na 1 2 5\r\na 2 3 6\r\n"), "0 1 5\n1 2 6\n");
  EXPECT_EQ(vertices("packed.el", Gzipped(mark + "0 1\r\n1 2\r\n")), "0 1\n1 2\n");
  const std::string graph = Write("graph.el", "0 1\n1 2\n");
  const std::string parts = Write("parts.part.2", mark + "0\r\n1\r\n0\r\n");
  EXPECT_EQ(Run({"run", "cc", graph, "--devices", "host:2", "--partition", parts, "--verify"}).status, 0);
  const std::string values = Write("values.txt", mark + "0 0\r\n1 0\r\n2 0\r\n");
  EXPECT_EQ(Run({"verify", "cc", graph, values}).status, 0);
}

// ----------------------------------------------------------------- claims ----

TEST_F(Hostile, FewLinesThatClaimMuchAreRefusedWithoutAllocatingIt) {
  const std::string trillion = "1000000000000", arcs = "a 1 2 1\na 2 3 1\na 3 4 1\na 4 1 1\n";
  const std::string entries = "1 2\n2 3\n3 1\n";
  RefusedAsGraph(Write("edges.mtx", std::string(kPattern) + "5 5 " + trillion + "\n" + entries),
                 {"edges.mtx:2: ", trillion});
  RefusedAsGraph(Write("edges.gr", "p sp 5 " + trillion + "\n" + arcs), {"edges.gr:1: ", trillion});
  for (const std::string& vertices : {trillion, std::string("4294967290"), std::string("1500000000")}) {
    for (const std::string& edges : {trillion, std::string("4")}) {
      RefusedAsGraph(Write("both.gr", "p sp " + vertices + " " + edges + "\n" + arcs), {"both.gr:1: ", vertices});
      RefusedAsGraph(Write("both.mtx", std::string(kPattern) + vertices + " " + vertices + " " + edges + "\n" + entries),
                     {"both.mtx:2: ", vertices});
    }
  }
  const std::string packed = "p sp 1500000000 " + trillion + "\n" + arcs;
  RefusedAsGraph(Write("packed.gr.gz", Gzipped(packed)), {"packed.gr.gz:1: "});
  RefusedAsGraph(Write("packed.gr.zst", Zstandard(packed)), {"packed.gr.zst:1: "});
  RefusedAsGraph(Write("id.el", "0 1\n2 1999999999\n"), {"id.el: ", "1999999999", "--compact-ids"});
  EXPECT_EQ(Run({"convert", In("id.el"), Out("compact.chatty"), "--compact-ids"}).status, 0);
}

TEST_F(Hostile, TheBinaryFormatIsCheckedBeforeItIsBelieved) {
  const std::string whole = In("whole.chatty");
  ASSERT_EQ(Run({"generate", "kron", "6", "--weights", "1:9", "-o", whole}).status, 0);
  const std::string bytes = ReadAll(whole);
  constexpr std::size_t kHeader = 96, kVersion = 12, kVertices = 32, kEdges = 40, kHeaderSum = 92;  // io/binary.cpp
  const auto changed = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string copy = bytes;
    std::memcpy(copy.data() + at, &value, size);
    const auto sum = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(copy.data()), kHeaderSum));
    std::memcpy(copy.data() + kHeaderSum, &sum, sizeof sum);
    return copy;
  };
  const auto refused = [&](const std::string& content, const Arguments& texts) {
    for (const auto& [name, packed] : {std::pair("g.chatty", content), std::pair("g.chatty.gz", Gzipped(content)),
                                       std::pair("g.chatty.zst", Zstandard(content))}) {
      Arguments all = texts;
      all.push_back(std::string(name) + ": ");
      Refused({"convert", Write(name, packed), Out("again.chatty")}, all);
    }
  };
  refused(changed(kVersion, 99, 4), {"has version 99 of the binary format", "convert the graph again"});
  for (const std::uint64_t claim : {std::uint64_t{1'000'000'000}, std::uint64_t{4'000'000'000}}) {
    refused(changed(kVertices, claim, 8), {});
    refused(changed(kEdges, claim, 8), {"damaged"});
  }
  refused(changed(kEdges, 1'000'000'000'000, 8), {"damaged"});
  refused(changed(kEdges, ~std::uint64_t{0}, 8), {"damaged"});
  refused(changed(kEdges, 3, 8), {});
  for (const std::size_t kept : {kHeader - 1, kHeader, kHeader + 100, bytes.size() - 1}) {
    refused(bytes.substr(0, kept), {"truncated"});
  }
  refused(bytes + "x", {"longer than its header says"});
  std::string flipped = bytes;
  flipped[bytes.size() / 2] = static_cast<char>(flipped[bytes.size() / 2] ^ 1);
  refused(flipped, {"checksum", "damaged"});
}

// ------------------------------------------------------------------ bombs ----

TEST_F(Hostile, ABombIsNotUnpackedToItsEnd) {
  constexpr std::size_t kPiece = std::size_t{1} << 20, kPieces = 1024;  // a gigabyte
  const std::string zeros(kPiece, '\0'), ones(kPiece, '1'), blanks(kPiece, ' ');
  const struct {
    const char* name;
    std::string begin;  ///< of the file; the rest is a gigabyte of `rest`
    const std::string& rest;
    std::string says;
  } bombs[] = {
      {"zeros", "", zeros, ": begins with"},
      {"digits", "0 1\n", ones, ":2: "},
      {"comment", "0 1\n#", ones, ":2: the line is longer than 1048576 bytes"},
      {"blanks", "0 1\n", blanks, ":2: the line is longer"},
      {"first", "#", ones, ":1: the line is longer"},
      {"weight", "0 1 1\n0 1 ", ones, ":2: "},
      {"banner", "%%MatrixMarket ", ones, ":1: the line is longer"},
      {"header", std::string(kPattern) + "%", ones, ":2: the line is longer"},
      {"road", "c ", ones, ":1: the line is longer"},
      {"properties", "graph.g.vertex-file = g.v\n", ones, ":2: the line is longer"},
  };
  for (const auto& bomb : bombs) {
    const std::string zst = std::string(bomb.name) + ".zst", gz = std::string(bomb.name) + ".gz";
    RefusedAsGraph(Write(zst, Zstandard(bomb.begin) + Zstandard(bomb.rest, kPieces)), {zst + bomb.says});
    RefusedAsGraph(Write(gz, Gzipped(bomb.begin) + Gzipped(bomb.rest, kPieces)), {gz + bomb.says});
  }
  const std::string graph = Write("graph.el", "0 1\n1 2\n");
  Refused({"verify", "bfs", graph, In("digits.zst"), "--source", "0"}, {"digits.zst:"});
  Refused({"run", "bfs", graph, "--devices", "host:2", "--partition", In("digits.zst")}, {"digits.zst:"});
  Refused({"topology", "--simulate", In("digits.zst")}, {"digits.zst: is no JSON"});
  const auto machine = [&](const std::string& name, const std::string& begin, const std::string& rest,
                           const std::string& says) {
    Refused({"topology", "--simulate", Write(name, Zstandard(begin) + Zstandard(rest, kPieces))}, {name, says});
  };
  machine("room.zst", "{", blanks, "16.0 MiB");
  machine("name.zst", "{\"name\": \"", ones, "16.0 MiB");
  machine("note.zst", "{\"costs\": {\"notes\": \"", ones, "16.0 MiB");
  if (CHATTY_TEST_SANITIZED) return;  // what follows goes through 256 MiB of JSON, which takes minutes there
  std::string fits;
  while (fits.size() < kPiece) fits += "{\"path\":\"host\",\"small\":{\"alpha_us\":12.25,\"beta_us_per_byte\":1e-5}},";
  Write("costs.zst", Zstandard("{\"costs\": {\"fits\": [") + Zstandard(fits, kPieces));
  const Finished ended = Run({"topology", "--simulate", In("costs.zst")});  // seconds, as a record of that size would take
  EXPECT_EQ(ended.status, 2);
  EXPECT_NE(ended.err.find("costs.zst: is larger than 256 MiB"), std::string::npos) << ended.err;
  EXPECT_LT(ended.kilobytes, kMaxKilobytes);
}

TEST_F(Hostile, ALongLineIsRefusedAndTheLongestIsRead) {
  constexpr std::size_t kMax = std::size_t{1} << 20;
  const std::string fits = "0 1\n#" + std::string(kMax - 1, 'x') + "\n1 2\n";
  EXPECT_EQ(Run({"convert", Write("fits.el", fits), Out("fits.mtx"), "--ids", "one"}).status, 0);
  const std::string exceeds = "0 1\n#" + std::string(kMax + 4, 'x') + "\n1 2\n";
  RefusedAsGraph(Write("exceeds.el", exceeds), {"exceeds.el:2: the line is longer than 1048576 bytes"});
}

TEST_F(Hostile, ABrokenStreamIsRefused) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("{} {}\n", i, i * 7919 % 20000);
  for (const auto& [name, packed] : {std::pair("g.gz", Gzipped(text)), std::pair("g.zst", Zstandard(text))}) {
    RefusedAsGraph(Write(name, packed.substr(0, packed.size() - 5)), {name, "truncated", "packed bytes"});
    RefusedAsGraph(Write(name, packed.substr(0, packed.size() / 2)), {name, "truncated"});
    RefusedAsGraph(Write(name, packed.substr(0, 12)), {name});
    RefusedAsGraph(Write(name, packed + "tail"), {name});
    std::string flipped = packed;
    for (std::size_t i = 100; i < 140; ++i) flipped[i] = static_cast<char>(~flipped[i]);
    RefusedAsGraph(Write(name, flipped), {name});
  }
}

// ------------------------------------------------------- one for another ----

TEST_F(Hostile, AFileInAnothersPlaceIsRefused) {
  const std::string graph = Write("graph.el", "0 1\n1 2\n2 3\n"), weights = Write("weights.el", "0 1 5\n1 2 6\n");
  const std::string parts = Write("parts", "0\n1\n0\n1\n"), page = Write("page.html", "<html></html>\n");
  const std::string binary = In("binary.chatty");
  ASSERT_EQ(Run({"convert", graph, binary}).status, 0);
  for (const std::string& wrong : {graph, page, binary, std::string("/dev/zero"), folder_.string(), In("none.part")}) {
    Refused({"run", "bfs", graph, "--devices", "host:2", "--partition", wrong}, {wrong});
    Refused({"partition", graph, "--partition", wrong}, {wrong});
    Refused({"topology", "--simulate", wrong}, {wrong});
    Refused({"run", "bfs", "--ldbc", wrong}, {wrong});
  }
  for (const std::string& wrong :
       {weights, parts, page, binary, std::string("/dev/zero"), folder_.string(), In("none.txt")}) {
    Refused({"verify", "bfs", graph, wrong, "--source", "0"}, {wrong});
  }
  RefusedAsGraph(parts, {parts + ":1: "});
  Refused({"run", "bfs", graph, "--devices", "host:3", "--partition", parts}, {parts, "2 parts"});
  Refused({"run", "bfs", weights, "--devices", "host:2", "--partition", parts}, {parts, "4 lines for the 3 vertices"});
}

TEST_F(Hostile, NegativeWeightsAreRefusedWhereDistancesAreAsked) {
  for (const auto& [name, content] :
       {std::pair("negative.gr", "p sp 2 2\na 1 2 -4\na 2 1 5\n"), std::pair("negative.el", "1 2 -0.5\n2 1 3\n")}) {
    const std::string path = Write(name, content);
    for (const char* const devices : {"host:1", "host:2"}) {
      Refused({"run", "sssp", path, "--source", "1", "--devices", devices, "-o", Out("distances.txt")},
              {path + ": ", "the edge from vertex 1 to vertex 2 has weight -", "need weights of at least 0"});
    }
    EXPECT_EQ(Run({"run", "bfs", path, "--source", "1"}).status, 0) << "levels have no use for weights";
    EXPECT_EQ(Run({"run", "sssp", path, "--source", "1", "--weights", "none", "--verify"}).status, 0);
  }
}

TEST_F(Hostile, ADamagedCacheIsNoticedAndMadeAnew) {
  const std::string graph = Write("graph.el", "0 1\n1 2\n"), folder = In("cache");
  const Arguments command{"run", "cc", graph, "--cache", folder, "-o", "-"};
  const Finished first = Run(command);
  ASSERT_EQ(first.status, 0) << first.err;
  std::string entry;
  for (const auto& file : fs::directory_iterator(folder)) entry = file.path().string();
  ASSERT_NE(entry, "");
  const std::string good = ReadAll(entry);
  std::vector<std::string> broken{"", "0 1\n", good.substr(0, 50), good.substr(0, good.size() - 1), good + "x"};
  for (const std::size_t at : {std::size_t{12}, std::size_t{60}, std::size_t{100}, good.size() - 2}) {
    broken.push_back(good);
    broken.back()[at] = static_cast<char>(~broken.back()[at]);
  }
  for (const std::string& content : broken) {
    std::ofstream(entry, std::ios::binary) << content;
    const Finished ended = Run(command);
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_EQ(ended.out, first.out);
    EXPECT_EQ(ReadAll(entry), good) << "an entry of " << content.size() << " bytes is still there";
    EXPECT_EQ(Names(folder).size(), 1u);
  }
}

// ------------------------------------------------------------- interrupts ----

TEST_F(Hostile, AnInterruptAtAnyMomentLeavesAllOrNothing) {
  const std::string graph = In("graph.chatty");
  ASSERT_EQ(Run({"generate", "kron", CHATTY_TEST_SANITIZED ? "10" : "12", "--weights", "1:99", "-o", graph}).status, 0);
  const Arguments commands[] = {
      {"generate", "kron", CHATTY_TEST_SANITIZED ? "10" : "12", "--weights", "1:99", "-o", Out("made.gr.gz")},
      {"convert", graph, Out("converted.mtx.zst"), "--ids", "one"},
      {"convert", graph, Out("graph.properties")},
      {"run", "cc", Out("source.el"), "--devices", "host:1", "--cache", Out("cache"), "-o", Out("values.txt"), "--json",
       Out("record.json")},
      {"info", Out("source.el"), "--cache", Out("cache")},
  };
  ASSERT_EQ(Run({"convert", graph, Out("source.el")}).status, 0);
  rlimit cores{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &cores), 0);
  cores.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_CORE, &cores), 0);
  constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::mt19937 random(7);
  for (const Arguments& command : commands) {
    const auto begin = std::chrono::steady_clock::now();
    const std::set<std::string> before = Names(folder_ / "out");
    ASSERT_EQ(Run(command).status, 0);
    const auto microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    std::map<std::string, std::string> whole;
    for (const std::string& file : Names(folder_ / "out")) {
      if (fs::is_regular_file(file)) whole[file] = ReadAll(file);
    }
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      for (const auto& [file, content] : whole) {
        if (!before.contains(file)) fs::remove(file);
      }
      const int signal = kSignals[i % std::size(kSignals)];
      const pid_t child = Begin(command);
      std::this_thread::sleep_for(
          std::chrono::microseconds(microseconds * static_cast<std::int64_t>(random() % 1000) / 1000));
      ::kill(child, signal);
      const Finished ended = Wait(child);
      SCOPED_TRACE(fmt::format("chatty {}, signal {}", fmt::join(command, " "), signal));
      EXPECT_TRUE(ended.status == 0 || ended.status == 128 + signal || ended.signal == signal)
          << ended.status << ", " << ended.signal << ": " << ended.err;
      for (const std::string& file : Names(folder_ / "out")) {
        EXPECT_FALSE(file.ends_with(".tmp")) << file;
        if (!whole.contains(file)) continue;
        if (file.ends_with(".json")) {  // tells of times, and of an interrupt
          EXPECT_TRUE(Json::accept(ReadAll(file))) << file;
        } else if (file == Out("values.txt") && ended.err.find("not final") != std::string::npos) {
          // As an interrupt among trials says: a value of each vertex.
          const std::string values = ReadAll(file);
          EXPECT_EQ(std::count(values.begin(), values.end(), '\n'), std::count(whole[file].begin(), whole[file].end(), '\n'))
              << file;
          EXPECT_TRUE(values.ends_with('\n')) << file;
        } else {
          EXPECT_EQ(fs::file_size(file), whole[file].size()) << file;
        }
      }
    }
  }
}

TEST_F(Hostile, AFileThatShrinksWhileItIsReadIsRefused) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::string text;
  while (text.size() < kBytes) text += "1 2\n";
  bool seen = false;
  for (int wait = 1; wait < 60'000 && !seen;
       wait += wait / 2 + 1) {  // some moment falls into the reading, on a slow machine too
    const std::string path = Write("shrinking.el", text);
    const pid_t child = Begin({"convert", path, Out("copy.chatty")});
    ::poll(nullptr, 0, wait);
    fs::resize_file(path, 4096);
    const Finished ended = Wait(child);
    if (ended.status == 0) {  // before it was opened, or after it was read
      fs::remove(Out("copy.chatty"));
      continue;
    }
    seen = true;
    EXPECT_EQ(ended.status, 2) << ended.signal;
    EXPECT_EQ(ended.err,
              fmt::format("chatty: error: {}: shrank while it was read: somebody is writing it; read it again once it is "
                          "complete\n",
                          path));
    EXPECT_TRUE(Names(folder_ / "out").empty());
  }
  EXPECT_TRUE(seen);
}

TEST_F(Hostile, AFileThatMayNotGrowIsAnErrorThatLeavesNothing) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 10'000;
  for (const std::string name : {"chain.el", "chain.properties", "chain.chatty"}) {
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Finished ended = Run({"generate", "chain", "100000", "-o", Out(name)});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(ended.status, 1) << ended.signal;
    EXPECT_NE(ended.err.find("cannot be written: File too large"), std::string::npos) << ended.err;
    EXPECT_TRUE(Names(folder_ / "out").empty()) << name;
  }
}

TEST_F(Hostile, AFileIsWrittenBesideItsTargetAndRenamed) {
  const std::string target = Write("old.mtx.gz", "what was there");
  const pid_t child = Begin({"generate", "chain", "6000000", "-o", target});
  int status = 0;
  bool beside = false;
  while (!beside && ::waitpid(child, &status, WNOHANG) == 0) {
    for (const std::string& file : Names(folder_ / "in"))
      beside = beside || (file.starts_with(target) && file.ends_with(".tmp"));
    ::poll(nullptr, 0, 1);
  }
  ASSERT_TRUE(beside) << "the file was not seen being written";
  EXPECT_EQ(ReadAll(target), "what was there");
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  EXPECT_EQ(Wait(child).signal, SIGTERM);
  EXPECT_EQ(ReadAll(target), "what was there");
  EXPECT_EQ(Names(folder_ / "in").size(), 1u);
}

}  // namespace
}  // namespace chatty::cli::test
