/// \file
/// Drawing for pages: scales, ticks and the few shapes that charts need.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chatty::cli {

/// Maps numbers to a stretch of pixels, linearly or by logarithm.
class Scale {
 public:
  /// Linear from 0, or from `low` if that is negative, to a round number from `high` on.
  static Scale Linear(double low, double high, double begin, double end);
  /// Logarithmic, between powers of ten around positive numbers; as if 1 to 10 where there are none.
  static Scale Log(double low, double high, double begin, double end);

  double operator()(double value) const;
  bool log() const { return log_; }
  /// Where lines of a grid stand, few enough to be told apart.
  std::vector<double> Ticks() const;

 private:
  bool log_ = false;
  double low_ = 0, high_ = 1, begin_ = 0, end_ = 1, step_ = 1;
};

/// A drawing as text. Coordinates are in pixels of a drawing `width` wide, which pages scale.
class Svg {
 public:
  Svg(double width, double height, std::string_view label);

  void Text(double x, double y, std::string_view css, std::string_view text);
  void Line(double x1, double y1, double x2, double y2, std::string_view css);
  /// `title`: what pointing at the mark shows.
  void Rect(double x, double y, double width, double height, std::string_view css, std::string_view title = "");
  void Dot(double x, double y, double radius, std::string_view css, std::string_view title = "");
  void Path(const std::vector<std::pair<double, double>>& points, std::string_view css, std::string_view title = "",
            bool closed = false);
  std::string Finish() const;  ///< the whole element

 private:
  std::string text_;
};

/// `text` in no more than so many letters: what is too many is left out of its middle, for names differ at their ends. A
/// letter of more than a byte is kept whole; those of East Asian scripts, which are wide, count as two.
std::string Fitted(std::string_view text, std::size_t letters);
/// "3", "0.05", "1,200", "4M": what stands at a tick.
std::string TickText(double value);
/// "4 B", "64 KiB", "1 MiB", without decimals where there are none.
std::string SizeText(double bytes);
/// "1.2M", "34k", "56".
std::string CountText(double count);

}  // namespace chatty::cli
