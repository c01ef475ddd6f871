// `chatty compare` with answers that are wrong, runs that fail and inputs that are refused: it goes on, and tells.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../sanitized.h"
#include "chatty/cli/json.h"
#include "chatty/core/error.h"
#include "chatty/framework/registry.h"
#include "compare_fixture.h"

namespace chatty::cli {
namespace {

/// Gives so many right answers, and wrong ones from then on.
class SpoiledJob final : public RegisteredJob {
 public:
  SpoiledJob(std::unique_ptr<RegisteredJob> inner, int right) : inner_(std::move(inner)), right_(right) {}
  RunStatistics Execute() override { return inner_->Execute(); }
  RunStatistics statistics() const override { return inner_->statistics(); }
  const RunPlan& plan() const override { return inner_->plan(); }
  ErasedValues Output() override {
    ErasedValues values = inner_->Output();
    if (right_-- <= 0) std::fill(values.bytes.begin(), values.bytes.end(), std::byte{1});
    return values;
  }
  void Set(std::string_view name, std::string_view value) override { inner_->Set(name, value); }

 private:
  std::unique_ptr<RegisteredJob> inner_;
  int right_;
};

/// bfs, but for what is done to it.
class Spoiled final : public RegisteredProgram {
 public:
  /// kWrongAfterwards: of each job all answers but the first that is looked at are wrong. kWrongAlways: that one, too.
  enum class How { kNothing, kWrong, kNoMemory, kFails, kTimesOut, kWrongAfterwards, kWrongAlways };
  Spoiled(const RegisteredProgram& inner, How how) : inner_(inner), how_(how) {}
  std::string_view name() const override { return "spoiled"; }
  std::string_view summary() const override { return inner_.summary(); }
  std::vector<ParameterInfo> parameters() const override { return inner_.parameters(); }
  std::vector<std::string> values() const override { return inner_.values(); }
  std::string_view safety() const override { return inner_.safety(); }
  std::string_view reduction() const override { return inner_.reduction(); }
  bool traverses() const override { return inner_.traverses(); }
  void Check(const ParameterValues& parameters) const override { inner_.Check(parameters); }
  std::unique_ptr<RegisteredJob> Prepare(Session& session, const ParameterValues& parameters, std::string_view value,
                                         const RunOptions& options) const override {
    if (how_ == How::kNoMemory) throw OutOfMemoryError("host:0: 1 TiB was asked for");
    if (how_ == How::kFails) throw DeviceError("host:1: a step failed");
    if (how_ == How::kTimesOut) throw TimeoutError("waited 1 ms for host:1");
    std::unique_ptr<RegisteredJob> job = inner_.Prepare(session, parameters, value, options);
    if (how_ != How::kWrongAfterwards && how_ != How::kWrongAlways) return job;
    return std::make_unique<SpoiledJob>(std::move(job), how_ == How::kWrongAfterwards ? 1 : 0);
  }
  RunPlan Plan(Session& session, const ParameterValues& parameters, std::string_view value,
               const RunOptions& options) const override {
    return inner_.Plan(session, parameters, value, options);
  }
  std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value, const RunOptions& options,
                                                 std::size_t devices) const override {
    return inner_.Memory(graph, value, options, devices);
  }
  Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                 const RunStatistics* statistics, const VertexData& data) const override {
    if (how_ == How::kWrong) return Failed("vertex 3 has level 7, and 2 is right");
    return inner_.Verify(graph, parameters, values, statistics, data);
  }
  ErasedValues OutputShape(const Graph& graph, std::string_view value) const override {
    return inner_.OutputShape(graph, value);
  }

 private:
  const RegisteredProgram& inner_;
  const How how_;
};

TEST_F(CompareTest, WrongAnswersAreToldAndDoNotEndIt) {
  Registry registry;
  RegisterPrograms(registry);
  registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(registry.Find("bfs", DeviceKind::kHost), Spoiled::How::kWrong));
  const ChildEnd run = With(registry, Compare({"--programs", "spoiled,sssp", "--execution", "bsp", "--devices", "1,2",
                                               "--comm", "auto,host", "--trials", "2"}));
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_NE(run.err.find("vertex 3 has level 7"), std::string::npos) << run.err;
  const Json results = Results();
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), m.at("program") == "spoiled" ? "wrong" : "ok") << m;
    EXPECT_EQ(m.at("time").at("trials_ms").size(), m.at("program") == "spoiled" ? 1u : 2u) << m;
  }
  EXPECT_NE(ReadAll(folder_ / "out" / "index.html").find("WRONG"), std::string::npos);
  for (const Json& regret : results.at("regret").at("cases")) EXPECT_EQ(regret.at("program"), "sssp");
}

TEST_F(CompareTest, AnswersOfTrialsAreVerified) {
  Registry registry, later;
  for (Registry* to : {&registry, &later}) RegisterPrograms(*to);
  const RegisteredProgram& bfs = registry.Find("bfs", DeviceKind::kHost);
  registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kWrongAfterwards));
  later.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kWrongAlways));
  const auto compare = [&](const Registry& programs, const Arguments& more) {
    return With(programs, test::Join(Compare({"--programs", "spoiled,bfs", "--execution", "bsp", "--devices", "1"}), more));
  };
  const auto outcomes = [&](std::size_t times) {
    const Json results = Results();
    for (const Json& m : results.at("measurements")) {
      const bool spoiled = m.at("program") == "spoiled";
      EXPECT_EQ(m.at("outcome"), spoiled ? "wrong" : "ok") << m;
      EXPECT_EQ(m.at("verification").at("passed"), !spoiled) << m;
      EXPECT_EQ(m.at("time").at("trials_ms").size(), spoiled ? times : 3u) << m;
    }
  };
  // The last trial's of a visit, and each one's where each one starts elsewhere.
  EXPECT_EQ(compare(registry, {"--trials", "3"}).status, 3);
  outcomes(3);
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(registry, {"--trials", "3", "--source", "random:5"}).status, 3);
  outcomes(1);

  // A later visit's as well.
  fs::remove_all(folder_ / "out");
  Registry right;
  RegisterPrograms(right);
  right.Add(DeviceKind::kHost, std::make_unique<Spoiled>(bfs, Spoiled::How::kNothing));
  EXPECT_EQ(compare(right, {"--trials", "2"}).status, 0);
  EXPECT_EQ(compare(later, {"--trials", "3", "--resume"}).status, 3);
  outcomes(3);

  // What ended before it was looked at is looked at when the comparison goes on, though it lacks no trial.
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(right, {"--trials", "3"}).status, 0);
  std::string journal = ReadAll(JournalPath());
  const std::size_t of_bfs = journal.rfind("\"kind\":\"trial\"", journal.find("\"program\":\"bfs\""));
  const std::size_t cut = journal.find('\n', of_bfs) + 1;  // behind the last trial of the other one
  ASSERT_NE(journal.substr(cut).find("\"kind\":\"verdict\""), std::string::npos);
  fs::resize_file(JournalPath(), cut);
  EXPECT_EQ(compare(later, {"--trials", "3", "--resume"}).status, 3);
  outcomes(3);
}

TEST_F(CompareTest, FailuresDoNotEndIt) {
  for (const auto& [how, why] :
       {std::pair(Spoiled::How::kNoMemory, "1 TiB was asked for"), std::pair(Spoiled::How::kFails, "a step failed"),
        std::pair(Spoiled::How::kTimesOut, "waited 1 ms")}) {
    fs::remove_all(folder_ / "out");
    Registry registry;
    RegisterPrograms(registry);
    registry.Add(DeviceKind::kHost, std::make_unique<Spoiled>(registry.Find("bfs", DeviceKind::kHost), how));
    const Arguments options = Compare({"--programs", "spoiled,bfs", "--execution", "bsp", "--devices", "1,2", "--comm",
                                       "auto", "--trials", "1", "--resume"});
    const ChildEnd run = With(registry, options);
    EXPECT_EQ(run.status, 1) << run.err;
    const Json results = Results();
    for (const Json& m : results.at("measurements")) {
      const bool spoiled = m.at("program") == "spoiled";
      EXPECT_EQ(m.at("outcome"), spoiled ? "failed" : "ok") << m;
      EXPECT_EQ(m.value("reason", "").find(why) != std::string::npos, spoiled) << m;
    }
    // What failed is tried again, once what was missing is there.
    Registry mended;
    RegisterPrograms(mended);
    mended.Add(DeviceKind::kHost, std::make_unique<Spoiled>(mended.Find("bfs", DeviceKind::kHost), Spoiled::How::kNothing));
    const ChildEnd again = With(mended, options);
    EXPECT_EQ(again.status, 0) << again.err;
    const Json all = Results();
    for (const Json& m : all.at("measurements")) EXPECT_EQ(m.at("outcome"), "ok") << m;
  }
}

#if !CHATTY_TEST_SANITIZED  // which take more room than this leaves
TEST_F(CompareTest, AShortageOfThreadsIsAFailure) {
  ASSERT_EQ(Chatty({"generate", "grid", "60", "60", "-o", Path("kron.chatty")}).status, 0);
  const Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1", "--trials", "1"});
  const auto within = [&](std::size_t stack_gib) {
    return Wait(StartChatty(options, [&] {
      ::setenv("CUDA_VISIBLE_DEVICES", "", 1);  // whose driver would start threads of its own
      rlimit stack{}, room{};
      stack.rlim_cur = stack.rlim_max = stack_gib << 30;  // of each thread
      room.rlim_cur = room.rlim_max = std::size_t{16} << 30;
      return ::setrlimit(RLIMIT_STACK, &stack) == 0 && ::setrlimit(RLIMIT_AS, &room) == 0 ? 0 : 126;
    }));
  };
  // One has room, which waits for signals; a second one, to prepare the graph, but no third; none besides for the device.
  for (const std::size_t stack_gib : {12, 7, 5}) {
    fs::remove_all(folder_ / "out");
    const ChildEnd run = within(stack_gib);
    if (run.status >= 126) GTEST_SKIP() << "this machine refuses such limits";
    EXPECT_EQ(run.status, 1) << run.out << run.err;
    ASSERT_TRUE(fs::exists(folder_ / "out" / "results.json")) << "the process was ended: " << run.err;
    const Json results = Results();
    ASSERT_EQ(results.at("measurements").size(), 1u);
    EXPECT_EQ(results.at("measurements")[0].at("outcome"), "failed") << stack_gib;
    const std::string reason = results.at("measurements")[0].value("reason", "");
    EXPECT_NE(reason.find("of 2 threads could be started"), std::string::npos) << reason;
    const ChildEnd again = Chatty(test::Join(options, {"--resume"}));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(Results().at("measurements").at(0).at("outcome"), "ok");
  }
}
#endif

TEST_F(CompareTest, AGraphThatCannotBeHadIsSoForEachCombination) {
  if (sizeof(VertexId) > 4) GTEST_SKIP() << "this build can name them all";
  const std::uint64_t header[] = {2, 0, (std::uint64_t{1} << 32) + 2, 1};  // of Galois: version, bytes, vertices, edges
  std::ofstream(Path("huge.gr"), std::ios::binary).write(reinterpret_cast<const char*>(header), sizeof(header));
  std::error_code full;
  fs::resize_file(Path("huge.gr"), std::uint64_t{40} << 30, full);  // takes no room
  if (full) GTEST_SKIP() << "this file system refuses such a file";
  const ChildEnd run = Chatty({"compare", Path("huge.gr"), "--on", "host", "--threads", "2", "--programs", "bfs,cc",
                               "--devices", "1,2", "--comm", "host", "--execution", "bsp", "--out", Path("out")});
  const Json results = Results();
  ASSERT_EQ(results.at("measurements").size(), 4u);
  for (const Json& m : results.at("measurements")) {
    EXPECT_EQ(m.at("outcome"), "not applicable") << m;
    EXPECT_EQ(m.at("reason"), results.at("measurements")[0].at("reason"));
  }
  EXPECT_EQ(run.status, 0) << run.err;
  // What no graph could be read by is no finding.
  const ChildEnd unknown =
      Chatty({"compare", Path("kron.chatty"), "--on", "host", "--format", "xyz", "--out", Path("none")});
  EXPECT_EQ(unknown.status, 2) << unknown.out;
  EXPECT_NE(unknown.err.find("unknown graph format 'xyz'"), std::string::npos) << unknown.err;
  EXPECT_FALSE(fs::exists(Path("none")));
}

TEST_F(CompareTest, ABrokenGraphDoesNotEndIt) {
  std::ofstream(Path("broken.mtx")) << "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 7\n";
  Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "1,2", "--trials", "1"});
  options.insert(options.begin() + 1, Path("broken.mtx"));
  const ChildEnd run = Chatty(options);
  EXPECT_EQ(run.status, 1) << run.err;
  const Json results = Results();
  for (const Json& m : results.at("measurements"))
    EXPECT_EQ(m.at("outcome"), m.at("graph") == "kron" ? "ok" : "failed") << m;
}

TEST_F(CompareTest, APartFileGoesWithOneGraphOfSeveral) {
  std::ofstream(Path("path.el")) << "0 1\n1 2\n";
  std::ofstream parts(Path("kron.part.2"));
  for (int v = 0; v < 128; ++v) parts << v % 2 << '\n';
  parts.close();
  Arguments options = Compare({"--programs", "bfs", "--execution", "bsp", "--devices", "2", "--comm", "host", "--trials",
                               "1", "--partition", Path("kron.part.2")});
  options.insert(options.begin() + 1, Path("path.el"));
  const ChildEnd run = Chatty(options);
  EXPECT_EQ(run.status, 0) << run.err;
  const Json results = Results();
  ASSERT_EQ(results.at("measurements").size(), 2u);
  for (const Json& m : results.at("measurements")) {
    const bool fits = m.at("graph") == "kron";
    EXPECT_EQ(m.at("outcome"), fits ? "ok" : "not applicable") << m;
    EXPECT_EQ(m.value("reason", "").find("128 lines for the 3 vertices") != std::string::npos, !fits) << m;
  }
}

TEST_F(CompareTest, ASourceThatIsNoVertexIsRefused) {
  std::ofstream(Path("path.el")) << "0 1\n1 2\n";
  const auto compare = [&](const std::string& graph, const Arguments& more, const std::string& programs = "cc,bfs") {
    Arguments all = Compare({"--programs", programs, "--execution", "bsp", "--devices", "1,2", "--comm", "auto"});
    if (!graph.empty()) all.insert(all.begin() + 2, graph);
    all.insert(all.end(), more.begin(), more.end());
    return Chatty(all);
  };
  for (const Arguments& source : {Arguments{"--source", "128"}, Arguments{"--set", "source=128"}}) {
    const ChildEnd alone = compare("", source);
    EXPECT_EQ(alone.status, 2) << alone.out;
    EXPECT_NE(alone.err.find("--source 128: not a vertex; the graph's are 0 to 127"), std::string::npos) << alone.err;
    EXPECT_EQ(alone.err.find("kron"), std::string::npos) << alone.err;
  }
  // Of the first graph 5 is one; yet nothing is measured on it.
  const ChildEnd both = compare(Path("path.el"), {"--source", "5"});
  EXPECT_EQ(both.status, 2) << both.out;
  EXPECT_NE(both.err.find("path.el: --source 5: not a vertex; the graph's are 0 to 2"), std::string::npos) << both.err;
  EXPECT_FALSE(fs::exists(JournalPath())) << "the folder cannot be used for what was meant";
  EXPECT_FALSE(fs::exists(folder_ / "out" / "results.json"));

  const ChildEnd right = compare("", {"--source", "5"});
  EXPECT_EQ(right.status, 0) << right.err;
  const std::string journal = ReadAll(JournalPath());
  const ChildEnd further = compare(Path("path.el"), {"--source", "5", "--resume"});
  EXPECT_EQ(further.status, 2) << further.out;
  EXPECT_NE(further.err.find("path.el: --source 5"), std::string::npos) << further.err;
  EXPECT_EQ(ReadAll(JournalPath()), journal) << "what was measured is kept, and nothing else";
  // Programs without a source have no use for one, and what every graph has is fine.
  fs::remove_all(folder_ / "out");
  EXPECT_EQ(compare(Path("path.el"), {"--source", "2"}).status, 0);
}

TEST_F(CompareTest, WhatNobodyHasIsRefused) {
  const auto refused = [&](const Arguments& more, std::string_view why) {
    const ChildEnd run = Chatty(Compare(test::Join({"--devices", "1", "--execution", "bsp", "--trials", "1"}, more)));
    EXPECT_EQ(run.status, 2) << run.out;
    EXPECT_NE(run.err.find(why), std::string::npos) << run.err;
    EXPECT_FALSE(fs::exists(folder_ / "out"));
  };
  refused({"--programs", "bfs,pr", "--set", "foo=1"}, "--set foo=1: no program of bfs, pagerank has such a parameter");
  refused({"--programs", "cc,pr", "--source", "5"}, "--source 5: no program of cc, pagerank starts from a vertex");
  refused({"--programs", "cc", "--set", "source=5"}, "--set source=5: no program of cc");
  refused({"--programs", "pr,cc,pagerank"}, "pagerank stands there twice");
  refused({"--programs", "bfs,ppr", "--vertex-data", "teleprot=x.txt"},
          "--vertex-data teleprot=x.txt: no program of bfs, personalised_pagerank takes such an array (did you mean "
          "'teleport'?)");
  refused({"--programs", "ppr", "--vertex-data", "teleport=" + Path("none.txt")}, Path("none.txt"));
  refused({"--programs", "cc", "--comm", "all,all"}, "'all' stands there twice");
  // What one of them has is that one's.
  const ChildEnd run = Chatty(Compare({"--programs", "bfs,pr", "--set", "rounds=3", "--source", "5", "--execution", "bsp",
                                       "--devices", "1", "--trials", "1"}));
  EXPECT_EQ(run.status, 0) << run.err;
}

}  // namespace
}  // namespace chatty::cli
