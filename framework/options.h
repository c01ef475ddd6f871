/// \file
/// Choices that a user may leave to the library.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

namespace chatty {

class Trace;

/// Which side of an edge looks for the other.
enum class Direction : std::uint8_t {
  kAuto,  ///< the cheaper one, round by round, from the edges that each would look at
  kPush,
  kPull,
};

/// How to run a program. The defaults leave every choice to the library.
struct RunOptions {
  /// Push, pull, or whichever is cheaper, round by round.
  Direction direction = Direction::kAuto;
  std::string execution = "auto";        ///< "bsp"; "async" for kMonotone programs; "auto", which is bsp
  std::string transport = "auto";        ///< see MakeTransport
  std::uint32_t max_rounds = 0;          ///< stop after so many rounds; 0: only when the program is done
  std::chrono::milliseconds timeout{0};  ///< longest wait for another device; 0: for ever
  Trace* trace = nullptr;                ///< records what ran when, if not null; not owned, see core/trace.h
  /// Ends the run after the round at hand, all devices after the same one, once a stop is requested: by std::stop_source's
  /// request_stop(), from any thread. The run then returns what it had, with RunStatistics::ended telling so.
  std::stop_token stop{};
};

}  // namespace chatty
