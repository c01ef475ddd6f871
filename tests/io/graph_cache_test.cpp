#include "chatty/io/graph_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/writer.h"
#include "test_files.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;
using test::Copy;
using Use = CacheReport::Use;

class GraphCacheTest : public test::WithFiles {
 protected:
  struct Outcome {
    Graph graph;
    ReadReport report;
    CacheReport cache;
  };
  Outcome Read(const std::string& path, const ReadOptions& options = {}) const {
    Outcome outcome;
    outcome.graph = ReadGraphCached(path, options, Cache(), &outcome.report, &outcome.cache);
    return outcome;
  }
  std::string Cache() const { return Path("cache/of/graphs"); }
  std::size_t Entries() const {
    std::error_code error;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(Cache(), error), {}));
  }
};

TEST_F(GraphCacheTest, TheSecondReadingIsTheFirst) {
  const std::string path = Write("roads.el", "5 6 1.5\n6 5 2.5\n6 6 1\n5 6 9\n900000000000 5 3\n");
  const ReadOptions options{.compact_ids = true};
  const Outcome first = Read(path, options);
  EXPECT_EQ(first.cache.use, Use::kFilled);
  EXPECT_EQ(first.cache.why, "");
  EXPECT_EQ(Entries(), 1u);
  const Outcome second = Read(path, options);
  EXPECT_EQ(second.cache.use, Use::kRead);
  EXPECT_EQ(second.cache.file, first.cache.file);
  EXPECT_EQ(second.graph.name(), "roads");
  EXPECT_EQ(Copy(second.graph.out().offsets), Copy(first.graph.out().offsets));
  EXPECT_EQ(Copy(second.graph.out().neighbours), Copy(first.graph.out().neighbours));
  EXPECT_EQ(Copy(std::get<Array<float>>(second.graph.out().weights)),
            Copy(std::get<Array<float>>(first.graph.out().weights)));
  EXPECT_EQ(Copy(second.graph.ids()), (std::vector<std::uint64_t>{5, 6, 900000000000}));
  EXPECT_EQ(second.report.format, GraphFormat::kEdgeList);
  EXPECT_EQ(second.report.lines, 5u);
  EXPECT_EQ(second.report.bytes, first.report.bytes);
  EXPECT_EQ(second.report.build.loops_removed, 1u);
  EXPECT_EQ(second.report.build.parallel_merged, 1u);
  EXPECT_EQ(ReadGraph(first.cache.file).edges(), 3u) << "an entry is a file like any other";
}

TEST_F(GraphCacheTest, EachOptionHasAnEntryOfItsOwn) {
  const std::string path = Write("g.txt", "0 1\n1 1\n0 1\n1 2\n");
  EXPECT_EQ(Read(path).graph.edges(), 2u);
  EXPECT_EQ(Read(path, {.symmetrise = true}).graph.edges(), 4u);
  EXPECT_EQ(Read(path, {.keep_loops = true}).graph.edges(), 3u);
  EXPECT_EQ(Read(path, {.keep_parallel = true}).graph.edges(), 3u);
  EXPECT_EQ(Read(path, {.format = "el"}).cache.use, Use::kFilled);
  EXPECT_EQ(Entries(), 5u);
  const Outcome again = Read(path, {.keep_loops = true, .threads = 1});
  EXPECT_EQ(again.cache.use, Use::kRead) << "threads make no difference";
  EXPECT_EQ(again.graph.edges(), 3u);
  EXPECT_TRUE(Read(path, {.symmetrise = true}).report.symmetrised);
}

TEST_F(GraphCacheTest, AnEditedFileIsReadAnew) {
  const std::string path = Write("g.el", "0 1\n");
  EXPECT_EQ(Read(path).cache.use, Use::kFilled);
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  Write("g.el", "0 2\n");  // as long, and as old, as far as `touch` can tell
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  const Outcome edited = Read(path);
  EXPECT_EQ(edited.graph.vertices(), 3u);
  EXPECT_EQ(edited.cache.use, Use::kFilled);
  EXPECT_NE(edited.cache.why.find("older than"), std::string::npos) << edited.cache.why;
  EXPECT_EQ(Read(path).cache.use, Use::kRead);
  EXPECT_EQ(Entries(), 1u) << "the stale entry is replaced";
}

TEST_F(GraphCacheTest, AnEditRightAfterIsNotMissed) {
  for (int i = 0; i < 20; ++i) {
    const std::string path = Write("g.el", "0 " + std::to_string(10 + i) + "\n");
    EXPECT_EQ(Read(path).graph.vertices(), static_cast<VertexId>(11 + i));
  }
}

TEST_F(GraphCacheTest, ADamagedEntryIsRebuilt) {
  const std::string path = Write("g.el", "0 1 5\n1 2 6\n2 0 7\n");
  const std::string file = Read(path).cache.file;
  const std::string good = Slurp(file);
  const auto rebuilt = [&](const std::string& entry, const std::string& what) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << entry;
    const Outcome outcome = Read(path);
    EXPECT_EQ(outcome.graph.edges(), 3u) << what;
    EXPECT_EQ(outcome.cache.use, Use::kFilled) << what;
    EXPECT_NE(outcome.cache.why, "") << what;
    EXPECT_EQ(Slurp(file), good) << what;
  };
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
    rebuilt(flipped, "byte " + std::to_string(at));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{95}, good.size() / 2, good.size() - 1}) {
    rebuilt(good.substr(0, size), "cut to " + std::to_string(size));
  }
  rebuilt(good + "x", "longer");
  rebuilt("0 1\n", "another file");
  std::string old = good;
  old[12] = 1;
  rebuilt(old, "of version 1");
}

TEST_F(GraphCacheTest, AnEntryWhoseNoteMakesNoSenseIsRebuilt) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  const std::string file = Read(path).cache.file;
  std::string note;
  {
    Input input(file);
    note = io::ReadBinaryNote(input);
  }
  const std::string format = "\"edge-list\"";
  const std::size_t at = note.find(format);
  ASSERT_NE(at, std::string::npos) << note;
  for (const std::string& other : {std::string("\"of another age\""), std::string("7"), std::string("null")}) {
    std::string changed = note;
    const Graph graph = ReadGraph(file);
    OutputFile output(file);
    io::WriteBinary(graph, output, changed.replace(at, format.size(), other));
    output.Commit();
    const Outcome outcome = Read(path);
    EXPECT_EQ(outcome.cache.use, Use::kFilled) << other;
    EXPECT_NE(outcome.cache.why, "") << other;
    EXPECT_EQ(outcome.graph.edges(), 2u);
  }
}

TEST_F(GraphCacheTest, AnEntryOfAnotherFileDoesNotServe) {
  const std::string one = Write("one.el", "0 1\n"), two = Write("two.el", "0 9\n");
  const std::string first = Read(one).cache.file, second = Read(two).cache.file;
  ASSERT_NE(first, second);
  fs::copy_file(first, second, fs::copy_options::overwrite_existing);
  const Outcome outcome = Read(two);
  EXPECT_EQ(outcome.graph.vertices(), 10u);
  EXPECT_EQ(outcome.cache.use, Use::kFilled);
}

TEST_F(GraphCacheTest, WhatAKilledWriterLeavesGoesWithTheNextEntry) {
  fs::create_directories(Cache());
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile entry(Cache() + "/other-0123456789abcdef.chatty");
    entry.Write(std::string(1 << 20, 'x'));
    ::raise(SIGKILL);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(Entries(), 1u) << "half an entry, of another graph";
  const OutputFile alive(Cache() + "/third.chatty");
  EXPECT_EQ(Read(Write("g.el", "0 1\n")).cache.use, Use::kFilled);
  EXPECT_EQ(Entries(), 2u) << "the new entry, and what is being written";
}

TEST_F(GraphCacheTest, ManyFillItAtOnce) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + " " + std::to_string(i * 7 % 2000) + "\n";
  const std::string path = Write("g.el", text);
  std::vector<std::thread> threads;
  std::vector<EdgeIndex> edges(8);
  for (std::size_t t = 0; t < edges.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) edges[t] = ReadGraphCached(path, {.threads = 1}, Cache()).edges();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(edges, std::vector<EdgeIndex>(edges.size(), ReadGraph(path).edges()));
  EXPECT_EQ(Entries(), 1u) << "nothing half-done is left";
  EXPECT_EQ(Read(path).cache.use, Use::kRead);
}

class InEdgesCacheTest : public GraphCacheTest {
 protected:
  static constexpr const char* kText = "0 1 5\n0 1 4\n1 2 6\n2 2 7\n2 0 8\n4 0 9\n4 1 3\n";

  static std::string InFile(const Outcome& outcome) {
    return fs::path(outcome.cache.file).replace_extension(".in.chatty").string();
  }
  static std::string Note(const std::string& file) {
    Input input(file);
    return io::ReadBinaryNote(input);
  }
  /// Replaces a file of in-edges by other rows under the note that it has.
  static void Plant(const std::string& file, Adjacency rows) {
    const std::string note = Note(file);
    OutputFile output(file);
    io::WriteBinary(Graph(std::move(rows), /*symmetric=*/false), output, note);
    output.Commit();
  }
  static void ExpectSame(const Adjacency& one, const Adjacency& other, const std::string& what) {
    EXPECT_EQ(Copy(one.offsets), Copy(other.offsets)) << what;
    EXPECT_EQ(Copy(one.neighbours), Copy(other.neighbours)) << what;
    ASSERT_EQ(KindOf(one.weights), KindOf(other.weights)) << what;
    if (const auto* weights = std::get_if<Array<std::int32_t>>(&one.weights)) {
      EXPECT_EQ(Copy(*weights), Copy(std::get<Array<std::int32_t>>(other.weights))) << what;
    }
  }
  static void ExpectTransposed(const Graph& graph, const std::string& what) {
    ExpectSame(graph.in(), Transpose(graph.vertices(), graph.out()), what);
  }
};

TEST_F(InEdgesCacheTest, TheyAreKeptOnceTheyAreAskedFor) {
  const std::string path = Write("g.el", kText);
  for (const bool in_place : {false, true}) {
    const ReadOptions options{.keep_loops = true, .keep_parallel = in_place, .in_place = in_place};
    const Outcome first = Read(path, options);
    EXPECT_FALSE(fs::exists(InFile(first))) << "nobody has asked";
    ExpectTransposed(first.graph, "made");
    ASSERT_TRUE(fs::exists(InFile(first)));
    EXPECT_EQ(ReadGraph(InFile(first), {.keep_loops = true, .keep_parallel = true}).edges(), first.graph.edges())
        << "a graph like any other";
    const Outcome second = Read(path, options);
    EXPECT_EQ(second.cache.use, Use::kRead);
    EXPECT_FALSE(second.graph.has_in_edges());
    ExpectTransposed(second.graph, "read");
    // Where others were planted, these come: nothing is made anew.
    Adjacency planted = Transpose(first.graph.vertices(), first.graph.out());
    for (std::int32_t& weight : std::get<Array<std::int32_t>>(planted.weights)) weight += 100;
    Plant(InFile(first), {planted.offsets.Clone(), planted.neighbours.Clone(), Clone(planted.weights)});
    ExpectSame(Read(path, options).graph.in(), planted, "planted");
  }
  EXPECT_EQ(Entries(), 4u) << "each option has its own";
}

TEST_F(InEdgesCacheTest, OfAnEditedFileTheyAreMadeAnew) {
  const std::string path = Write("g.el", kText);
  const Outcome before = Read(path);
  ExpectTransposed(before.graph, "before");
  const std::string note = Note(InFile(before));
  Write("g.el", "0 1 5\n0 2 4\n1 2 6\n2 2 7\n2 1 8\n4 0 9\n4 1 3\n");  // as many edges
  const Outcome after = Read(path);
  EXPECT_EQ(InFile(after), InFile(before));
  ExpectTransposed(after.graph, "after");
  EXPECT_NE(Note(InFile(after)), note) << "and kept";
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(InEdgesCacheTest, DamagedOnesAreMadeAnew) {
  const std::string path = Write("g.el", kText);
  const Outcome outcome = Read(path);
  ExpectTransposed(outcome.graph, "made");
  const std::string file = InFile(outcome), good = Slurp(file);
  const auto rebuilt = [&](const std::string& content, const std::string& what) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    ExpectTransposed(Read(path).graph, what);
    EXPECT_EQ(Slurp(file), good) << what;
  };
  for (std::size_t at = 0; at < good.size(); at += 7) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x20);
    rebuilt(flipped, "byte " + std::to_string(at));
  }
  rebuilt("", "empty");
  rebuilt(good.substr(0, good.size() / 2), "cut");
  rebuilt(Slurp(outcome.cache.file), "the out-edges in their place");
  std::string note = Note(file);
  const std::string version = "\"in_edges\":1";
  ASSERT_NE(note.find(version), std::string::npos) << note;
  note.replace(note.find(version), version.size(), "\"in_edges\":2");
  {
    OutputFile output(file);
    io::WriteBinary(ReadGraph(file, {.keep_loops = true, .keep_parallel = true}), output, note);
    output.Commit();
  }
  rebuilt(Slurp(file), "of another version");
  Plant(file, {{0, 0, 0, 0, 0, 0}, {}, Array<std::int32_t>()});
  rebuilt(Slurp(file), "of another number of edges");
}

TEST_F(InEdgesCacheTest, SymmetricGraphsNeedNone) {
  const Outcome outcome = Read(Write("g.el", kText), {.symmetrise = true});
  EXPECT_EQ(&outcome.graph.in(), &outcome.graph.out());
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(InEdgesCacheTest, OfBinaryFilesTheyAreKeptAlone) {
  WriteGraph(ReadGraph(Write("g.el", kText)), Path("g.chatty"));
  for (const char* what : {"made", "read"}) {
    const Outcome outcome = Read(Path("g.chatty"));
    EXPECT_EQ(outcome.cache.use, Use::kNone);
    ExpectTransposed(outcome.graph, what);
    EXPECT_EQ(Entries(), 1u) << what;
  }
  const std::string file = fs::directory_iterator(Cache())->path().string();
  EXPECT_TRUE(file.ends_with(".in.chatty")) << file;
  Adjacency planted = Transpose(5, ReadGraph(Path("g.chatty")).out());
  for (std::int32_t& weight : std::get<Array<std::int32_t>>(planted.weights)) weight += 100;
  Plant(file, {planted.offsets.Clone(), planted.neighbours.Clone(), Clone(planted.weights)});
  ExpectSame(Read(Path("g.chatty")).graph.in(), planted, "planted");
}

TEST_F(InEdgesCacheTest, WhereTheyCannotBeKeptTheyAreMadeAllTheSame) {
  const std::string path = Write("g.el", kText);
  ExpectTransposed(ReadGraphCached(path, {}, Write("no-folder", "x")), "no folder");
}

TEST_F(InEdgesCacheTest, ManyAskAtOnce) {
  const std::string path = Write("g.el", kText);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) ExpectTransposed(ReadGraphCached(path, {.threads = 1}, Cache()), "at once");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Entries(), 2u) << "nothing half-done is left";
}

class ArraysCacheTest : public GraphCacheTest {
 protected:
  static std::vector<std::byte> Bytes(std::string_view text) {
    const auto* const data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
  }
  static void Save(const Graph& graph, const std::string& key, std::string_view text) {
    const std::vector<std::byte> bytes = Bytes(text);
    const std::span<const std::byte> array(bytes);
    graph.store()->SaveArrays(key, {&array, 1});
  }
  /// What is kept under `key`; "none" if there is nothing.
  static std::string Kept(const Graph& graph, const std::string& key) {
    const std::optional<KeptArrays> kept = graph.store()->LoadArrays(key);
    if (!kept) return "none";
    EXPECT_EQ(kept->arrays.size(), 1u);
    const std::span<const std::byte> array = kept->arrays.at(0);
    return {reinterpret_cast<const char*>(array.data()), array.size()};
  }
  std::string ArraysFile() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(Cache())) {
      if (entry.path().extension() == ".arrays") return entry.path().string();
    }
    return {};
  }
};

TEST_F(GraphCacheTest, PathsNeedNotBeUtf8) {
  const std::string path = Write("b\xff\xfe.el", "0 1\n1 2\n");
  EXPECT_EQ(Read(path).cache.use, Use::kFilled);
  const Outcome second = Read(path);
  EXPECT_EQ(second.cache.use, Use::kRead) << second.cache.why;
  Write("b\xff\xfe.el", "0 1\n1 3\n");
  EXPECT_NE(Read(path).cache.why.find("older than"), std::string::npos);
}

TEST_F(GraphCacheTest, EntriesThatAreNoFilesAreNotOpened) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  const std::string file = Read(path).cache.file;
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);  // to open it would wait for a writer
  EXPECT_EQ(Read(path).graph.edges(), 2u);
}

TEST_F(GraphCacheTest, ReportsHaveTheWritersNote) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  const Outcome outcome = Read(path);
  ReadReport report;
  ReadGraph(outcome.cache.file, {}, &report);
  Input input(outcome.cache.file);
  EXPECT_EQ(report.writers_note, io::ReadBinaryNote(input));
  EXPECT_NE(report.writers_note.find(path), std::string::npos);
  EXPECT_EQ(outcome.report.writers_note, "") << "of the source, a text";
}

/// Entries are replaced all the time, by graphs of equal counts, while others load them and ask for in-edges: which must be
/// those of the graph that was loaded.
TEST_F(InEdgesCacheTest, AreThoseOfTheGraphThatWasLoadedWhileEntriesChange) {
  const std::string path = Write("g.el", "0 1\n1 2\n2 3\n");
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) {
      Write("next.el", i % 2 == 0 ? "0 2\n1 3\n2 1\n" : "0 1\n1 2\n2 3\n");
      fs::rename(Path("next.el"), path);
      ReadGraphCached(path, {.threads = 1}, Cache()).in();
    }
    done = true;
  });
  while (!done) ExpectTransposed(ReadGraphCached(path, {.threads = 1}, Cache()), "while entries change");
  writer.join();
}

TEST_F(ArraysCacheTest, EachKeyHasItsOwn) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  for (const bool symmetrise : {false, true}) {
    const Outcome first = Read(path, {.symmetrise = symmetrise});
    EXPECT_EQ(Kept(first.graph, "one"), "none");
    Save(first.graph, "one", "first");
    Save(first.graph, "two", "second");
    const Outcome later = Read(path, {.symmetrise = symmetrise});
    EXPECT_EQ(Kept(later.graph, "one"), "first");
    EXPECT_EQ(Kept(later.graph, "two"), "second");
    EXPECT_EQ(Kept(later.graph, "three"), "none");
    Save(later.graph, "one", "third");
    EXPECT_EQ(Kept(first.graph, "one"), "third");
  }
  EXPECT_EQ(Entries(), 6u) << "each option has its own";
}

TEST_F(ArraysCacheTest, OfAnEditedFileThereAreNone) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  Save(Read(path).graph, "key", "old");
  Write("g.el", "0 2\n1 2\n");
  const Outcome after = Read(path);
  EXPECT_EQ(Kept(after.graph, "key"), "none");
  Save(after.graph, "key", "new");
  EXPECT_EQ(Kept(Read(path).graph, "key"), "new");
  EXPECT_EQ(Entries(), 2u);
}

TEST_F(ArraysCacheTest, DamagedOnesAreNone) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  const Outcome outcome = Read(path);
  Save(outcome.graph, "key", "content");
  const std::string file = ArraysFile(), good = Slurp(file);
  ASSERT_NE(good, "");
  for (const std::string& content :
       {std::string(), good.substr(0, good.size() - 1), good + "x", Slurp(outcome.cache.file)}) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    EXPECT_EQ(Kept(outcome.graph, "key"), "none");
  }
  Save(outcome.graph, "key", "content");
  EXPECT_EQ(Kept(outcome.graph, "key"), "content");
}

TEST_F(ArraysCacheTest, OfBinaryFilesTheyAreKept) {
  WriteGraph(ReadGraph(Write("g.el", "0 1\n1 2\n")), Path("g.chatty"));
  Save(Read(Path("g.chatty")).graph, "key", "kept");
  EXPECT_EQ(Kept(Read(Path("g.chatty")).graph, "key"), "kept");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(ArraysCacheTest, ManyKeepAtOnce) {
  const std::string path = Write("g.el", "0 1\n1 2\n");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const Graph graph = ReadGraphCached(path, {.threads = 1}, Cache());
        const std::string found = Kept(graph, "key");
        EXPECT_TRUE(found == "none" || found == "content") << found;
        Save(graph, "key", "content");
        EXPECT_EQ(Kept(graph, "key"), "content");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Entries(), 2u) << "nothing half-done is left";
}

TEST_F(GraphCacheTest, WhatCannotBeCachedIsReadAllTheSame) {
  const std::string path = Write("g.el", "0 1\n");
  WriteGraph(ReadGraph(path), Path("g.chatty"));
  const Outcome binary = Read(Path("g.chatty"));
  EXPECT_EQ(binary.graph.edges(), 1u);
  EXPECT_EQ(binary.cache.use, Use::kNone);
  EXPECT_NE(binary.cache.why, "");
  CacheReport report;
  EXPECT_EQ(ReadGraphCached(path, {}, Write("no-folder", "x"), nullptr, &report).edges(), 1u);
  EXPECT_EQ(report.use, Use::kNone);
  EXPECT_NE(report.why, "");
  EXPECT_THROW(Read(Path("missing")), InputError);
  EXPECT_THROW(Read(Write("bad.el", "0 x\n")), InputError);
  EXPECT_EQ(Entries(), 0u);
}

}  // namespace
}  // namespace chatty
