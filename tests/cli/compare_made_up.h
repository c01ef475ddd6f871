/// \file
/// Measurements that nobody made, for findings and pages.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/compare/data.h"

namespace chatty::cli {

inline Measurement Made(const std::string& program, std::uint32_t devices, const std::string& comm,
                        std::vector<double> trials, bool passed = true) {
  Measurement m;
  m.combination = {
      "g",    program, "bsp", devices == 1 ? std::string(kNothing) : comm, devices == 1 ? std::string(kNothing) : "metis",
      devices};
  m.trials_ms = std::move(trials);
  m.outcome = passed ? Outcome::kOk : Outcome::kWrong;
  m.verdict = Verdict{passed, ""};
  return m;
}

/// Cases of each standing: on 2, 4 and so on devices.
inline Comparison EachStanding() {
  Comparison comparison;
  comparison.measurements = {
      Made("bfs", 2, "auto", {10, 10.1, 10.2}),  Made("bfs", 2, "host", {10, 10.1, 10.2}),  // the same
      Made("bfs", 4, "auto", {8, 8, 8.1}),       Made("bfs", 4, "host", {10, 10.1, 10.2}),  // faster
      Made("bfs", 8, "auto", {11, 11, 11.1}),    Made("bfs", 8, "host", {10, 10, 10.2}),    // slower by a tenth
      Made("bfs", 16, "auto", {1, 1.5, 2.5}),    Made("bfs", 16, "host", {0.9, 1, 3}),      // unclear: 50 % by medians
      Made("sssp", 2, "auto", {12.5, 12.5, 13}), Made("sssp", 2, "host", {10, 10, 10}),     // slower by a quarter
  };
  return comparison;
}

}  // namespace chatty::cli
