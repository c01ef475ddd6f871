/// \file
/// What `chatty compare` measures, keeps and shows: plain data, and its JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "chatty/cli/compare/median_interval.h"
#include "chatty/cli/cost_curves.h"
#include "chatty/cli/json.h"
#include "chatty/framework/statistics.h"

namespace chatty::cli {

/// What stands for a communication path or a partition where there is only one device.
inline constexpr std::string_view kNothing = "none";

/// One way to run one program on one graph.
struct Combination {
  std::string graph;          ///< its name within the comparison
  std::string program;        ///< as the registry calls it
  std::string execution;      ///< as `--execution` takes it
  std::string comm;           ///< as `--comm` takes it; kNothing on one device
  std::string partition;      ///< as `--partition` takes it; kNothing on one device
  std::uint32_t devices = 1;  ///< how many
  bool operator==(const Combination&) const = default;
  /// In the order of the members.
  bool operator<(const Combination& other) const {
    return std::tie(graph, program, execution, comm, partition, devices) <
           std::tie(other.graph, other.program, other.execution, other.comm, other.partition, other.devices);
  }
};
/// "async, p2p-copy, metis": all but graph, program and devices.
std::string Strategy(const Combination& combination);
/// "bfs on road, 2 devices, bsp, host, edge-balanced": for messages.
std::string Describe(const Combination& combination);

/// What became of a combination.
enum class Outcome : std::uint8_t {
  kNotReached,     ///< there was no time for it
  kOk,             ///< measured, and the answer is right
  kWrong,          ///< the answer is wrong
  kFailed,         ///< it should have run and did not
  kNotApplicable,  ///< the program, the build or the machine cannot do it
};
/// "not reached", "ok", "wrong", "failed" or "not applicable".
std::string_view OutcomeName(Outcome outcome);

/// Message buffers of one path and encoding.
struct PathBuffers {
  std::string path, encoding;            ///< as BufferRecord has them
  std::uint64_t buffers = 0;             ///< how many
  std::uint64_t bytes = 0;               ///< of all of them
  std::vector<std::uint64_t> histogram;  ///< buffers of [2^i, 2^(i+1)) bytes; entry 0 also those without bytes
};
/// One buffer, of those kept for drawing.
struct BufferSample {
  std::string path;                          ///< as BufferRecord has it
  std::uint64_t bytes = 0;                   ///< its size
  double predicted_us = 0, measured_us = 0;  ///< both known
};
/// What is kept of a run's buffers.
struct BufferSummary {
  std::vector<PathBuffers> paths;
  std::vector<BufferSample> samples;  ///< evenly chosen among those whose time is known
  std::uint64_t judged = 0;           ///< buffers of more than 64 KiB whose time is known
  std::uint64_t within = 0;           ///< those of them that were predicted within 25 %
};
/// Sums up; keeps at most `samples` buffers.
BufferSummary SummariseBuffers(std::span<const BufferRecord> buffers, std::size_t samples = 200);

/// One combination's results.
struct Measurement {
  Combination combination;
  Outcome outcome = Outcome::kNotReached;
  std::string reason;                    ///< why it is not ok
  bool again = true;                     ///< a failure that a resumed comparison tries again
  std::vector<double> trials_ms;         ///< of the finished trials
  std::optional<Verdict> verdict;        ///< of the last answer that was verified
  bool checked = true;                   ///< no trial came after it
  bool profiled = false;                 ///< the following are there
  RunStatistics statistics;              ///< of a timed trial, without buffers
  std::optional<BufferSummary> buffers;  ///< of the extra run that explains
  std::string costs;                     ///< that the trials went by, as CostsName calls them; empty if by none
  std::string buffer_costs;              ///< that the buffers' predicted times are from
  bool buffers_dropped = false;          ///< there were buffers, of other costs

  bool good() const { return outcome == Outcome::kOk && !trials_ms.empty(); }  ///< there is a time, of a right answer
};

/// Of the trials' times.
struct Spread {
  double median = 0, min = 0, max = 0;
  Interval interval;       ///< of the median: MedianInterval
  std::size_t trials = 0;  ///< how many times there were
};
/// All zero for no trials.
Spread SpreadOf(std::vector<double> times);

/// A compared graph.
struct ComparedGraph {
  std::string name, path;
  std::uint64_t bytes = 0;       ///< of the file
  std::int64_t modified_ns = 0;  ///< when the file was last written, since the epoch of the file system's clock
  bool loaded = false;           ///< the following are known
  std::uint64_t vertices = 0, edges = 0;
  bool symmetric = false;
  std::string weights;
};

/// A part file that a comparison divides graphs by.
struct ComparedParts {
  std::string name, path;        ///< as `--partition` has it; absolute
  std::uint64_t bytes = 0;       ///< of the file
  std::int64_t modified_ns = 0;  ///< as of a graph
};

/// Points of a figure: numbers over categories or numbers.
struct FigureSeries {
  std::string name;
  bool published = false;                              ///< the paper's own
  std::vector<std::pair<std::string, double>> points;  ///< x as it is printed, y
};
/// One figure of a paper, as measured here.
struct Figure {
  std::string name, title, x_label, y_label;
  std::string reading;  ///< one sentence that says how to read it
  std::string source;   ///< where axes and published numbers come from
  bool lines = false;   ///< x is a number, drawn as lines on logarithmic axes; else bars
  std::vector<FigureSeries> series;
  std::vector<std::string> notes;  ///< what could not be measured
  std::size_t failed = 0;          ///< of the notes those of what should have been measured
};
/// Points of a figure that were measured together: what the journal keeps of it.
struct FigurePoints {
  std::string figure;         ///< its name
  std::uint32_t devices = 0;  ///< how many had a part in it
  struct Point {
    std::string series, x;
    double y = 0;
  };
  std::vector<Point> points;
  std::string failure;  ///< why they have no numbers and are not tried again; else empty
};

/// A whole comparison.
struct Comparison {
  std::string started, command_line;
  Json build, machine, settings;  ///< as in the journal's first line
  std::string links = "all";
  std::string kind;  ///< "host" or "cuda"
  std::vector<ComparedGraph> graphs;
  std::vector<ComparedParts> parts;
  std::vector<Measurement> measurements;
  std::optional<CostCurves> costs;
  std::optional<Figure> figure;
  std::vector<FigurePoints> points;  ///< of figures, as the journal has them
  std::vector<std::string> notes;

  const ComparedGraph* Find(std::string_view graph) const;  ///< null if there is none of that name
};

/// @{
/// What the journal and results.json hold. Reading throws nlohmann's exceptions for what is not theirs.
Json ToJson(const Combination& combination);
Json ToJson(const RunStatistics& statistics);
Json ToJson(const BufferSummary& buffers);
Json ToJson(const ComparedGraph& graph);
Json ToJson(const ComparedParts& parts);
Json ToJson(const Figure& figure);
Json ToJson(const FigurePoints& points);
Json ToJson(const Comparison& comparison);
Combination CombinationFrom(const Json& json);
RunStatistics StatisticsFrom(const Json& json);
BufferSummary BuffersFrom(const Json& json);
ComparedGraph GraphFrom(const Json& json);
ComparedParts PartsFrom(const Json& json);
FigurePoints FigurePointsFrom(const Json& json);
/// @}

/// results.csv: a row a combination; docs/comparing.md lists the columns.
std::string ResultsCsv(const Comparison& comparison);
/// A figure's CSV: figure, series, published, x, y.
std::string FigureCsv(const Figure& figure);
/// One field of a CSV as RFC 4180 writes it.
std::string CsvField(std::string_view text);

// ----------------------------------------------------------------- findings ----

/// What the times of two combinations say of each other.
enum class Standing : std::uint8_t {
  kSame,     ///< no difference that the trials show, and both medians are known well
  kFaster,   ///< the first one is
  kSlower,   ///< the first one is
  kUnclear,  ///< the trials are too few, or too far apart, to say
};
/// "same", "faster", "slower" or "unclear".
std::string_view StandingName(Standing standing);
/// Medians that are closer than this are not told apart, whatever their intervals say.
inline constexpr double kMinDifference = 0.03;
/// A median is known well if half the length of its interval is at most this part of it.
inline constexpr double kKnownWell = 0.05;
/// Fewer trials show no difference and no sameness: the range of two covers their median in half of all samples.
inline constexpr std::size_t kFewestTrials = 3;
/// How `first` stands to `second`: faster or slower if their intervals are disjoint and the greater median is more than
/// kMinDifference above the lesser; else the same if both medians are known well; else unclear. Unclear, too, where either
/// has fewer than kFewestTrials trials.
Standing StandingOf(const Spread& first, const Spread& second);
/// About how many trials would make a median known well whose interval is that of `trials` trials: intervals narrow with the
/// square root of the trials. As many as there are if it is known well already; else six at least, which an interval of
/// kMedianCoverage needs.
std::size_t TrialsToKnowWell(const Spread& spread, std::size_t trials);

/// The price of having let the machine choose, a path or an engine.
struct Regret {
  Combination chosen;  ///< the one with `auto`
  Spread chosen_ms;
  std::string engine;  ///< which one ran, as RunStatistics::execution; empty if it is not known
  std::string best;    ///< the fixed path, or engine, of the least median where the rest of the combination is the same
  Spread best_ms;
  Standing standing = Standing::kUnclear;  ///< of the choice to the best one
  double regret = 0;                       ///< chosen / best - 1 of the medians where the choice is slower; else 0
  std::size_t more_trials = 0;             ///< about how many would help, of each, where it is unclear; else 0
};
/// One for each combination with `--comm auto` that has a right fixed path beside it.
std::vector<Regret> Regrets(const Comparison& comparison);
/// One for each combination with `--execution auto` that has a right fixed engine beside it, also on one device.
std::vector<Regret> EngineRegrets(const Comparison& comparison);
/// Of the regrets.
struct RegretSummary {
  std::size_t same = 0, faster = 0, slower = 0, unclear = 0;  ///< cases
  double median = 0, worst = 0;                               ///< over the cases that are not unclear; zero for none

  std::size_t clear() const { return same + faster + slower; }  ///< cases that count
};
RegretSummary Summarise(std::span<const Regret> regrets);
/// "none in 18 cases, 3 unclear" or "1.2 % in the median of 20, 9.6 % at worst, 4 unclear".
std::string DescribeRegret(const RegretSummary& summary);

/// How much faster `auto` is than one fixed path.
struct AgainstFixed {
  std::string comm;
  double ratio = 1;       ///< geometric mean of its time over that of `auto`
  std::size_t cases = 0;  ///< combinations that have both
};
std::vector<AgainstFixed> AutoAgainstFixed(const Comparison& comparison);

/// The least median of a program on one device; none if there is no right one.
std::optional<double> BestSingleMs(const Comparison& comparison, std::string_view graph, std::string_view program);

}  // namespace chatty::cli
