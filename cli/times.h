/// \file
/// Times: taken, rounded, and as people read them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace chatty::cli {

/// Milliseconds since it was made.
class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The middle one, or the mean of the two in the middle. There must be one.
double Median(std::vector<double> times);
/// Milliseconds of a record: what is below a nanosecond means nothing.
double RoundedMs(double ms);
std::string FormatMs(double ms);  ///< "0.123 ms", "45.6 ms", "12.3 s"

}  // namespace chatty::cli
