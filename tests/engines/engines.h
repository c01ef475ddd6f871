// What tests of engines share: registered programs, runs of them, answers compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../framework/test_inputs.h"
#include "../registered_programs.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"

namespace chatty::test {

/// Devices, "host:3" or "cuda:3" (three on whatever GPUs there are), and a transport.
using Selection = std::tuple<const char*, const char*>;

/// Defined by the including file.
std::vector<std::unique_ptr<Device>> MakeDevices(std::string_view selection);
extern const DeviceKind kKind;

/// Every registered program that says that it may run so.
inline std::vector<const RegisteredProgram*> MonotonePrograms() {
  std::vector<const RegisteredProgram*> monotone;
  for (const RegisteredProgram* program : Programs().All()) {
    if (program->safety() == "monotone") monotone.push_back(&Programs().Find(program->name(), kKind));
  }
  return monotone;
}

struct AsyncAnswer {
  ErasedValues values;
  RunStatistics statistics;
};

inline AsyncAnswer RunBy(const char* execution, Session& session, const RegisteredProgram& program,
                         const ParameterValues& parameters, const char* transport = "auto") {
  RunOptions options;
  options.execution = ParseExecution(execution);
  options.comm = ParseCommSpec(transport);
  const std::unique_ptr<RegisteredJob> job = program.Prepare(session, parameters, "", options);
  AsyncAnswer answer;
  answer.statistics = job->Execute();
  answer.values = job->Output();
  return answer;
}

inline bool SameBytes(const ErasedValues& a, const ErasedValues& b) {
  return a.type == b.type && a.bytes.size() == b.bytes.size() && std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin());
}

inline ParameterValues From(const RegisteredProgram& program, const Graph& graph, VertexId source) {
  for (const ParameterInfo& parameter : program.parameters()) {
    if (parameter.name == "source" && graph.vertices() > 0) return {{"source", std::to_string(source % graph.vertices())}};
  }
  return {};
}

inline SessionOptions DividedBy(const char* partition) {
  SessionOptions options;
  options.partition = partition;
  options.threads = 4;
  return options;
}

}  // namespace chatty::test
