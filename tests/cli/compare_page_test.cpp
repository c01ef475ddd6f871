// The page of `chatty compare`, and its drawings.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/cli/compare/costs.h"
#include "chatty/cli/compare/data.h"
#include "chatty/cli/compare/page/page.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/json.h"
#include "compare_fixture.h"
#include "compare_made_up.h"

namespace chatty::cli {
namespace {

/// Something in every chart.
Comparison Everything() {
  Comparison all;
  all.kind = "host";
  all.machine = {{"processor", "a <fast> one"}, {"threads", 8}};
  all.graphs.push_back({"g", "/g", 1, 1, true, 1000, 5000, true, "none"});
  all.measurements = {Made("bfs", 1, "", {8, 9, 10}), Made("bfs", 2, "auto", {5, 5.2, 5.1}),
                      Made("bfs", 2, "host", {5.5, 5, 6}), Made("bfs", 2, "staged", {12, 13, 12.5}),
                      Made("bfs", 4, "auto", {2.9, 3, 3.4})};
  for (Measurement& m : all.measurements) {
    if (m.combination.devices < 2) continue;
    m.profiled = true;
    for (std::uint32_t i = 0; i < m.combination.devices; ++i) {
      m.statistics.devices.push_back({fmt::format("host:{}", i), 10, 3, 1, 0.5});
      for (std::uint32_t j = 0; j < m.combination.devices; ++j) {
        if (i != j) m.statistics.pairs.push_back({i, j, 500, 100 + i, 4000 * (i + j)});
      }
    }
    std::vector<BufferRecord> buffers;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const double us = 5 + i * i * 0.3;
      buffers.push_back(
          {i, 0, 1, false, i % 3 == 0 ? "staged" : "host", "pairs", i, std::uint64_t{40} << (i / 4), 0, us * 1.1, us});
    }
    m.buffers = SummariseBuffers(buffers);
  }
  all.costs = CostCurves{true, "host:0 to host:1", {}, {{5000, "host", "staged"}}};
  for (const char* path : {"host", "staged"}) all.costs->lines.push_back({path, 3, path[0] == 'h' ? 1e-3 : 4e-4, 1e9});
  return all;
}

TEST(ComparePage, HasEachChartDrawn) {
  const std::string page = ComparisonPage(Everything());
  ExpectPage(page);
  EXPECT_EQ(page.find("class=\"missing\""), std::string::npos);
  EXPECT_EQ(page.find("<fast>"), std::string::npos) << "not escaped";
  EXPECT_NE(page.find("a pair may have bytes but no messages"), std::string::npos);
  for (const std::string_view chart : kCharts) {
    const std::size_t begin = page.find(fmt::format("<figure id=\"{}\">", chart));
    const std::string part = page.substr(begin, page.find("</figure>", begin) - begin);
    EXPECT_NE(part.find(chart == "regret" ? "<table>" : "<svg"), std::string::npos) << chart;
  }
}

TEST(ComparePage, SaysWhatPathsAndColoursAre) {
  Comparison all = Everything();
  all.kind = "host";
  const std::string page = ComparisonPage(all);
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_NE(page.find("Host devices share the machine&#39;s cores"), std::string::npos);
  EXPECT_NE(page.find("A colour is a path"), std::string::npos);
  for (const char* line : {"</i>auto</dt><dd>the program chooses", "</i>host</dt><dd>shared memory between host devices",
                           "</i>staged</dt><dd>copies to page-locked host memory"}) {
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  all.kind = "cuda";
  EXPECT_EQ(ComparisonPage(all).find("Host devices share"), std::string::npos);
}

TEST(ComparePage, GreysWhatIsUnclear) {
  Comparison comparison = EachStanding();
  comparison.kind = "host";
  const std::string page = ComparisonPage(comparison);
  EXPECT_EQ(Unbalanced(page), "");
  EXPECT_NE(
      page.find("Regret of auto: <b>5.0 % in the median of 4, 25.0 % at worst, 1 unclear</b>. It is slower in 2, the same "
                "in 1 and faster in 1."),
      std::string::npos);
  EXPECT_NE(page.find("<div><b>5.0 %</b><span>regret of auto"), std::string::npos);
  EXPECT_NE(page.find("<div><b>1</b><span>cases of auto unclear"), std::string::npos);
  const std::size_t grey = page.find("<tr class=\"unclear\">");
  ASSERT_NE(grey, std::string::npos);
  const std::string row = page.substr(grey, page.find("</tr>", grey) - grey);
  EXPECT_NE(row.find("<td class=\"n\">16</td>"), std::string::npos) << row;
  EXPECT_NE(row.find("<td>unclear</td>"), std::string::npos) << row;
  EXPECT_NE(row.find(" more trials</td>"), std::string::npos) << row;
  EXPECT_EQ(row.find(" %"), std::string::npos) << "a regret: " << row;
  EXPECT_EQ(page.find("<tr class=\"unclear\">", grey + 1), std::string::npos) << "one case is";
  EXPECT_NE(page.find("<span class=\"i\">12.5 ms to 13.0 ms</span>"), std::string::npos) << "the interval of auto";
  EXPECT_NE(page.find("<td>slower</td><td class=\"n bad\">25.0 %</td>"), std::string::npos);
  EXPECT_NE(page.find("<td>faster</td><td class=\"n good\">0.0 %</td>"), std::string::npos);

  for (Measurement& m : comparison.measurements) m.trials_ms = {1, 2, 4};
  const std::string unclear = ComparisonPage(comparison);
  EXPECT_NE(unclear.find("<b>unclear in 5 cases</b>"), std::string::npos);
  EXPECT_EQ(unclear.find("<span>regret of auto"), std::string::npos) << "a headline of noise";
}

TEST(ComparePage, SaysWhatIsMissing) {
  Comparison nothing;
  nothing.graphs.push_back({"g", "/g", 1, 1, false, 0, 0, false, ""});
  nothing.measurements.emplace_back();
  nothing.measurements.back().combination = {"g", "bfs", "bsp", "auto", "metis", 2};
  const std::string page = ComparisonPage(nothing);
  ExpectPage(page);
  std::size_t missing = 0;
  for (std::size_t at = 0; (at = page.find("<p class=\"missing\"", at)) != std::string::npos; ++at) ++missing;
  EXPECT_EQ(missing, std::size(kCharts));
}

/// What stands between `begin` and `end`, each time.
std::vector<std::string> Between(std::string_view text, std::string_view begin, std::string_view end) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = text.find(begin, at)) != std::string_view::npos;) {
    at += begin.size();
    found.emplace_back(text.substr(at, text.find(end, at) - at));
  }
  return found;
}

TEST(ComparePage, SeriesOfAFigureAreToldApart) {
  constexpr std::size_t kSeries = 24;
  for (const bool lines : {false, true}) {
    Comparison comparison;
    Figure figure;
    figure.name = figure.title = "many";
    figure.lines = lines;
    for (std::size_t i = 0; i < kSeries + 3; ++i) {
      const bool published = i >= kSeries;
      figure.series.push_back({fmt::format("series-{}", i), published, {{"1", 2.0}, {"4", 7.0}}});
    }
    comparison.figure = figure;
    const std::string page = ComparisonPage(comparison);
    EXPECT_EQ(Unbalanced(page), "");
    // Line or bar, and its sample in the legend.
    std::map<std::string, std::set<std::string>> series;  // by class
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
      const std::string name = figure.series[i].name + (i >= kSeries ? " (published)" : "");
      const std::size_t sample = page.find(fmt::format("aria-label=\"{}\"", name));
      ASSERT_NE(sample, std::string::npos) << name;
      const std::string css = Between(page.substr(sample), "class=\"", "\"").front();
      series[css].insert(name);
      EXPECT_NE(page.find(fmt::format("class=\"{}\"><title>{}{}", css, name, lines ? "<" : ", 4: 7<")), std::string::npos)
          << "the legend shows another one: " << name;
      EXPECT_EQ(page.find(fmt::format(">series-{}</text>", i)) != std::string::npos, !lines) << "a bar without its name";
    }
    EXPECT_EQ(series.size(), figure.series.size());
    // Classes differ in what they look like, too.
    for (const char* rule : {"svg .q9 {", "svg .q9d {", "svg .t1 {", "svg .t2 {", "svg rect.t1 {", "svg rect.t2 {",
                             "svg rect.published {", "svg .dash {"}) {
      EXPECT_NE(page.find(rule), std::string::npos) << rule;
    }
  }
}

TEST(ComparePage, LongNamesStayInTheirCharts) {
  Comparison all = Everything();
  const std::string folder = "/a/quite/long/folder/on/some/network/drive/with/日本語日本語日本語日本語日本語/in/its/name/";
  for (Measurement& m : all.measurements) {
    if (m.combination.devices > 1) m.combination.partition = folder + "p1.part";
    if (m.combination.comm == "host") m.combination.partition = folder + "p2.part";
  }
  Figure figure;
  figure.name = figure.title = "names";
  figure.series = {{"a-series-" + std::string(80, 'x'), false, {{"bfs on " + std::string(90, 'y'), 3}}}};
  all.figure = figure;
  const std::string page = ComparisonPage(all);
  EXPECT_NO_THROW(static_cast<void>(Json(page).dump())) << "letters are cut in two";
  std::size_t texts = 0;
  for (const std::string& text : Between(page, "<text ", "</text>")) {
    const std::string_view letters = std::string_view(text).substr(text.find('>') + 1);
    EXPECT_EQ(Fitted(letters, 60), letters);
    ++texts;
  }
  EXPECT_GT(texts, 30u);
  EXPECT_NE(page.find(">bsp auto p1.part</text>"), std::string::npos);
  EXPECT_NE(page.find(">bsp host p2.part</text>"), std::string::npos);
  for (Measurement& m : all.measurements) {
    if (m.combination.devices > 1) m.combination.partition = m.combination.comm == "host" ? "a/p.part" : "b/p.part";
  }
  const std::string alike = ComparisonPage(all);
  EXPECT_NE(alike.find(">bsp auto b/p.part</text>"), std::string::npos) << "one name in two folders";
  EXPECT_NE(alike.find(">bsp host a/p.part</text>"), std::string::npos);
}

TEST(ComparePage, HeadingsOfPairsDoNotOverlap) {
  for (const std::uint32_t devices : {2u, 8u, 9u, 12u, 16u, 20u, 64u}) {
    Comparison all = Everything();
    Measurement& m = all.measurements.back();
    m.combination.devices = devices;
    const std::string page = ComparisonPage(all);
    const std::size_t begin = page.find("<figure id=\"pairs\">");
    const std::string part = page.substr(begin, page.find("</figure>", begin) - begin);
    double right = 0, bottom = 0;
    std::size_t columns = 0, rows = 0;
    for (const std::string& text : Between(part, "<text x=\"", "</text>")) {
      double x = 0, y = 0;
      char css[8] = "", letters[64] = "";
      if (std::sscanf(text.c_str(), "%lf\" y=\"%lf\" class=\"%7[^\"]\">%63[^<]", &x, &y, css, letters) != 4) continue;
      if (std::string_view(css) == "m f" && y == 14) {
        const double half = 2.8 * static_cast<double>(std::string_view(letters).size());
        EXPECT_GT(x - half, right) << letters << " of " << devices;
        right = x + half;
        ++columns;
      } else if (std::string_view(css) == "e f" && x == 28 && y != 14) {
        EXPECT_GE(y - bottom, 10.9) << letters << " of " << devices;
        bottom = y;
        ++rows;
      }
    }
    EXPECT_GE(columns, std::min<std::size_t>(devices, 12)) << devices;
    EXPECT_EQ(rows, columns);
    EXPECT_LE(columns, devices);
  }
}

TEST(CompareSvg, TextsAreCutInTheirMiddle) {
  EXPECT_EQ(Fitted("p2p-copy", 8), "p2p-copy");
  EXPECT_EQ(Fitted("bsp host a-long-name.part", 13), "bsp …ame.part");
  EXPECT_EQ(Fitted("日本語日本語", 12), "日本語日本語");
  EXPECT_EQ(Fitted("日本語日本語", 11), "日…日本語");
  EXPECT_EQ(Fitted("ééééé", 4), "é…éé");
  EXPECT_EQ(Fitted("abc", 1), "…");
  EXPECT_EQ(Fitted("", 5), "");
}

TEST(CompareSvg, TicksAndTexts) {
  const Scale log = Scale::Log(0.3, 250, 0, 100);
  EXPECT_EQ(log.Ticks(), (std::vector<double>{0.1, 1, 10, 100, 1000}));
  EXPECT_NEAR(log(1), 25, 1e-9);
  const Scale linear = Scale::Linear(0, 7.2, 0, 80);
  EXPECT_EQ(linear.Ticks(), (std::vector<double>{0, 2, 4, 6, 8}));
  EXPECT_NEAR(linear(6), 60, 1e-9);
  EXPECT_EQ(SizeText(65536), "64 KiB");
  EXPECT_EQ(SizeText(1536), "1.5 KiB");
  EXPECT_EQ(TickText(12000), "12,000");
  EXPECT_EQ(CsvField("a,\"b\""), "\"a,\"\"b\"\"\"");
}

}  // namespace
}  // namespace chatty::cli
