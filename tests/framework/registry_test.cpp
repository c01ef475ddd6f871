// The registry: programs by name, their values and shapes, and verifiers that see a wrong answer.
#include "chatty/framework/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "../registered_programs.h"
#include "chatty/programs/verify.h"
#include "test_inputs.h"

namespace chatty::test {
namespace {

TEST(Registry, KnowsWhatThisExecutableWasBuiltWith) {
  std::vector<std::string> names;
  for (const RegisteredProgram* program : Programs().All()) {
    names.emplace_back(program->name());
    EXPECT_FALSE(program->summary().empty()) << names.back();
    EXPECT_FALSE(program->values().empty()) << names.back();
    EXPECT_EQ(&Programs().Find(program->name(), DeviceKind::kHost), program) << "host first";
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const char* name : {"bfs", "cc", "label_propagation", "pagerank", "pagerank_push", "sssp"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_EQ(Programs().Find("bfs", DeviceKind::kHost).values(), (std::vector<std::string>{"level", "parent"}));
  EXPECT_EQ(Programs().Find("bfs", DeviceKind::kHost).parameters().at(0).name, "source");
  EXPECT_TRUE(Programs().Find("bfs", DeviceKind::kHost).parameters().at(0).is_vertex);
}

TEST(Registry, UnknownNamesAreUsageErrorsWithTheChoices) {
  try {
    Programs().Find("bsf", DeviceKind::kHost);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("bfs"), std::string::npos) << error.what();
  }
  const Graph graph = MakeSymmetric(3, {{0, 1}});
  Session session(graph, "host");
  const RegisteredProgram& bfs = Programs().Find("bfs", DeviceKind::kHost);
  EXPECT_THROW(bfs.Prepare(session, {}, "grandparent", {}), UsageError);
  EXPECT_THROW(bfs.Prepare(session, {{"source", "3"}}, "", {}), UsageError);
  EXPECT_THROW(bfs.Prepare(session, {{"colour", "3"}}, "", {}), UsageError);
  EXPECT_THROW(Programs().Find("pagerank", DeviceKind::kHost).Prepare(session, {{"damping", "1"}}, "", {}), UsageError);
  EXPECT_THROW(Programs().Find("pagerank", DeviceKind::kHost).Prepare(session, {{"tolerance", "nan"}}, "", {}), UsageError);
}

TEST(Registry, ShapeIsWhatTheJobPutsOut) {
  for (const WeightKind kind : {WeightKind::kNone, WeightKind::kInt32, WeightKind::kFloat32}) {
    const Graph graph = MakeSymmetric(4, {{0, 1, 1}, {2, 3, 2}}, kind);
    Session session(graph, "host:2");
    for (const RegisteredProgram* program : Programs().All()) {
      for (const std::string& value : program->values()) {
        const ErasedValues shape = program->OutputShape(graph, value);
        const auto job = program->Prepare(session, {}, value, {});
        job->Execute();
        const ErasedValues output = job->Output();
        EXPECT_EQ(shape.type, output.type) << program->name();
        EXPECT_EQ(shape.is_vertex, output.is_vertex) << program->name();
        EXPECT_EQ(shape.name, value);
        EXPECT_EQ(output.name, value);
        EXPECT_EQ(output.size(), 4u);
      }
    }
  }
}

TEST(Registry, VerifiersSeeAWrongAnswer) {
  const Graph graph = MakeSymmetric(4, {{0, 1, 1}, {1, 2, 2}}, WeightKind::kInt32);
  Session session(graph, "host:2");
  for (const RegisteredProgram* program : Programs().All()) {
    for (const std::string& value : program->values()) {
      const auto job = program->Prepare(session, {}, value, {});
      const RunStatistics statistics = job->Execute();
      ErasedValues output = job->Output();
      const Verdict right = program->Verify(graph, {}, output, &statistics);
      EXPECT_TRUE(right) << program->name() << ": " << right.message;
      output.bytes[SizeOf(output.type) * 2] ^= std::byte{1};
      output.bytes[SizeOf(output.type) * 3 - 2] ^= std::byte{1};
      EXPECT_FALSE(program->Verify(graph, {}, output, &statistics)) << program->name() << " " << value;
      output.bytes = Array<std::byte>(SizeOf(output.type) * 3, std::byte{0});
      EXPECT_THROW(static_cast<void>(program->Verify(graph, {}, output, &statistics)), UsageError);
    }
  }
}

}  // namespace
}  // namespace chatty::test
