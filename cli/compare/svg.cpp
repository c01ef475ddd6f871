#include "chatty/cli/compare/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chatty/cli/text.h"

namespace chatty::cli {

Scale Scale::Linear(double low, double high, double begin, double end) {
  Scale scale;
  scale.low_ = std::min(low, 0.0);
  high = std::max(high, scale.low_ + 1e-12);
  const double rough = (high - scale.low_) / 4;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  scale.step_ = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      scale.step_ = factor * power;
      break;
    }
  }
  scale.low_ = std::floor(scale.low_ / scale.step_) * scale.step_;
  scale.high_ = std::ceil(high / scale.step_ - 1e-9) * scale.step_;
  scale.begin_ = begin;
  scale.end_ = end;
  return scale;
}

Scale Scale::Log(double low, double high, double begin, double end) {
  Scale scale;
  scale.log_ = true;
  if (!(low > 0) || !(high > 0)) low = high = 1;
  scale.low_ = std::floor(std::log10(low) + 1e-9);
  scale.high_ = std::ceil(std::log10(high) - 1e-9);
  if (scale.high_ <= scale.low_) scale.high_ = scale.low_ + 1;
  scale.begin_ = begin;
  scale.end_ = end;
  return scale;
}

double Scale::operator()(double value) const {
  const double at = log_ ? std::log10(std::max(value, 1e-300)) : value;
  const double share = std::clamp((at - low_) / (high_ - low_), 0.0, 1.0);
  return begin_ + share * (end_ - begin_);
}

std::vector<double> Scale::Ticks() const {
  std::vector<double> ticks;
  if (log_) {
    const int every = std::max(1, static_cast<int>(std::ceil((high_ - low_) / 6)));
    for (int power = static_cast<int>(low_); power <= static_cast<int>(high_); power += every) {
      ticks.push_back(std::pow(10, power));
    }
    return ticks;
  }
  const int count = static_cast<int>(std::lround((high_ - low_) / step_));
  for (int i = 0; i <= count; ++i) ticks.push_back(low_ + i * step_);
  return ticks;
}

Svg::Svg(double width, double height, std::string_view label) {
  text_ = fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width, height, Html(label));
}

void Svg::Text(double x, double y, std::string_view css, std::string_view text) {
  text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, css, Html(text));
}

void Svg::Line(double x1, double y1, double x2, double y2, std::string_view css) {
  text_ +=
      fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2, css);
}

void Svg::Rect(double x, double y, double width, double height, std::string_view css, std::string_view title) {
  text_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"><title>{}</title></rect>\n", x, y,
      std::max(width, 0.0), std::max(height, 0.0), css, Html(title));
}

void Svg::Dot(double x, double y, double radius, std::string_view css, std::string_view title) {
  text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" class=\"{}\"><title>{}</title></circle>\n", x, y,
                       radius, css, Html(title));
}

void Svg::Path(const std::vector<std::pair<double, double>>& points, std::string_view css, std::string_view title,
               bool closed) {
  if (points.empty()) return;
  text_ += "<path d=\"";
  char command = 'M';
  for (const auto& [x, y] : points) {
    text_ += fmt::format("{}{:.1f} {:.1f}", command, x, y);
    command = 'L';
  }
  text_ += fmt::format("{}\" class=\"{}\"><title>{}</title></path>\n", closed ? "Z" : "", css, Html(title));
}

std::string Svg::Finish() const { return text_ + "</svg>\n"; }

std::string Fitted(std::string_view text, std::size_t letters) {
  std::vector<std::pair<std::size_t, std::size_t>> found;  // where each letter begins, and how wide it is
  std::size_t sum = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) == 0x80) continue;           // within a letter
    found.emplace_back(at, byte >= 0xE3 ? 2 : 1);  // from U+3000 on
    sum += found.back().second;
  }
  if (sum <= letters) return std::string(text);
  if (letters < 2) return "…";
  std::size_t head = 0, tail = found.size(), left = (letters - 1) / 3;
  while (found[head].second <= left) left -= found[head++].second;
  left = letters - 1 - (letters - 1) / 3;
  while (found[tail - 1].second <= left) left -= found[--tail].second;
  const std::size_t end = tail < found.size() ? found[tail].first : text.size();
  return fmt::format("{}…{}", text.substr(0, found[head].first), text.substr(end));
}

std::string TickText(double value) {
  const double size = std::abs(value);
  if (size >= 1e9) return fmt::format("{:.3g}G", value / 1e9);
  if (size >= 1e6) return fmt::format("{:.3g}M", value / 1e6);
  if (size > 0 && size < 1e-3) return fmt::format("{:.0e}", value);
  if (size >= 1e5) return fmt::format("{:.3g}k", value / 1e3);
  if (size >= 1000) {
    const auto whole = static_cast<long long>(std::llround(value));
    return fmt::format("{},{:03}", whole / 1000, std::llabs(whole % 1000));
  }
  return fmt::format("{:.4g}", value);
}

std::string SizeText(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return bytes < 10 && bytes != std::floor(bytes) ? fmt::format("{:.1f} {}", bytes, kUnits[unit])
                                                  : fmt::format("{:.0f} {}", bytes, kUnits[unit]);
}

std::string CountText(double count) {
  if (count >= 1e9) return fmt::format("{:.3g}G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.3g}M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.3g}k", count / 1e3);
  return fmt::format("{:.0f}", count);
}

}  // namespace chatty::cli
