/// \file
/// The parts of a comparison's page, each as HTML, and what their charts have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/svg.h"

namespace chatty::cli::page {

inline constexpr double kChartWidth = 360;  ///< of one chart; a phone shows it at its full size
inline constexpr std::size_t kColours = 10;
inline constexpr std::size_t kLetters = 60;  ///< that a chart has room for from edge to edge

/// The colour of each path, the same in all charts.
class Colours {
 public:
  explicit Colours(const Comparison& comparison);

  std::string Of(std::string_view path) const;  ///< as CSS has it
  /// The rules that the classes of Fill and Stroke need.
  std::string Css() const;
  std::string Fill(std::string_view path) const { return "f" + Index(path); }    ///< a class
  std::string Stroke(std::string_view path) const { return "k" + Index(path); }  ///< a class
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string Index(std::string_view path) const;

  std::vector<std::string> names_;
};

/// A comparison, and what the charts of its page ask about it.
class PageData {
 public:
  using Key = std::pair<std::string, std::string>;  ///< graph and program

  explicit PageData(const Comparison& all);

  /// The measurements of a graph and program.
  std::vector<const Measurement*> Of(const Key& key) const;
  /// What stands for a graph and program where one run has to: on the most devices that were measured, `auto`, else the
  /// fastest. Null if there is none.
  const Measurement* Chosen(const Key& key) const;
  /// A strategy in a chart's margin.
  std::string Label(const Combination& c) const;
  /// Paths and their colours, of those that were measured.
  std::vector<std::pair<std::string, std::string>> PathLegend() const;

  const Comparison& comparison;
  const Colours colours;
  std::vector<Key> cases;           ///< all graphs and programs
  bool several_partitions = false;  ///< more than one is compared

 private:
  std::map<std::string, int> files_;  // partitions of each file's name
};

/// "bfs on road".
std::string Name(const PageData::Key& key);
double MedianMs(const Measurement& m);

/// Names and colours in a line; `engines`: and which lines are of which engine.
std::string Legend(const std::vector<std::pair<std::string, std::string>>& entries, bool engines);
/// One chart of the page: a heading, how to read it, what it shows.
std::string Chart(std::string_view id, std::string_view title, std::string_view reading, std::string_view body);
std::string Missing(std::string_view why);  ///< stands for a chart without data
/// Titles and drawings side by side; `missing` if there are none.
std::string Panels(const std::vector<std::pair<std::string, std::string>>& panels, std::string_view missing);
/// Writes labels along a horizontal axis at `y` and the grid above it.
void HorizontalAxis(Svg& svg, const Scale& scale, double top, double y, std::string_view label, double right,
                    const std::function<std::string(double)>& text = TickText);
/// The same along a vertical axis at `left`.
void VerticalAxis(Svg& svg, const Scale& scale, double left, double right, std::string_view label,
                  const std::function<std::string(double)>& text = TickText);

/// @{
/// The parts, in the order in which they stand.
std::string PaperFigure(const Figure& figure);
std::string TimesChart(const PageData& page);
std::string ScalingChart(const PageData& page);
std::string RegretTable(const PageData& page);
std::string SharesChart(const PageData& page);
std::string PairsChart(const PageData& page);
std::string SizesChart(const PageData& page);
std::string ModelChart(const PageData& page);
std::string CrossoversChart(const PageData& page);
std::string TroublesTable(const PageData& page);
std::string TimesTable(const PageData& page);
/// @}

}  // namespace chatty::cli::page
