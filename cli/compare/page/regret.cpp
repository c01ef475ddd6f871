#include <fmt/format.h>

#include <string>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli::page {

std::string RegretTable(const PageData& page) {
  const std::vector<Regret> regrets = Regrets(page.comparison);
  std::string body;
  if (regrets.empty()) {
    body = Missing("It takes verified times of auto and of another path on two devices or more.");
  } else {
    const RegretSummary summary = Summarise(regrets);
    body = fmt::format("<p>Regret of auto: <b>{}</b>. It is slower in {}, the same in {} and faster in {}.</p>\n",
                       DescribeRegret(summary), summary.slower, summary.same, summary.faster);
    if (summary.unclear > 0) {
      body +=
          "<p>Grey rows are unclear: the intervals overlap, and a median is known to no better than 5 %. They do not count. "
          "More trials, <code>--resume --trials N</code>, would decide most of them; their number is estimated from how "
          "wide "
          "the intervals are.</p>\n";
    }
    body +=
        "<div class=\"scroll\"><table><thead><tr><th>Graph</th><th>Program</th><th class=\"n\">Devices</th><th>Engine</th>"
        "<th>Partition</th><th class=\"n\">auto</th><th>Best fixed path</th><th class=\"n\">its time</th>"
        "<th>auto is</th><th class=\"n\">Regret</th></tr></thead><tbody>\n";
    const auto time = [](const Spread& spread) {
      return fmt::format("{}<span class=\"i\">{} to {}</span>", FormatMs(spread.median), FormatMs(spread.interval.low),
                         FormatMs(spread.interval.high));
    };
    for (const Regret& r : regrets) {
      const bool unclear = r.standing == Standing::kUnclear;
      body += fmt::format(
          "<tr{}><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td>"
          "<td class=\"n\">{}</td><td>{}</td><td class=\"n {}\">{}</td></tr>\n",
          unclear ? " class=\"unclear\"" : "", Html(r.chosen.graph), Html(r.chosen.program), r.chosen.devices,
          Html(r.chosen.execution), Html(r.chosen.partition), time(r.chosen_ms), Html(r.best), time(r.best_ms),
          StandingName(r.standing),
          unclear           ? ""
          : r.regret <= 0   ? "good"
          : r.regret > 0.15 ? "bad"
                            : "",
          unclear ? fmt::format("about {} more trial{}", r.more_trials, r.more_trials == 1 ? "" : "s")
                  : fmt::format("{:.1f} %", 100 * r.regret));
    }
    body +=
        "</tbody></table></div>\n<div class=\"scroll\"><table><thead><tr><th>Always this path</th><th class=\"n\">auto is "
        "faster by</th>"
        "<th class=\"n\">Cases</th></tr></thead><tbody>\n";
    for (const AgainstFixed& fixed : AutoAgainstFixed(page.comparison)) {
      body += fmt::format("<tr><td>{}</td><td class=\"n\">{:.2f} times</td><td class=\"n\">{}</td></tr>\n", Html(fixed.comm),
                          fixed.ratio, fixed.cases);
    }
    body += "</tbody></table></div>\n";
  }
  if (const std::vector<Regret> engines = EngineRegrets(page.comparison); !engines.empty()) {
    body += fmt::format("<p>Regret of the engine that auto takes: <b>{}</b>.</p>\n", DescribeRegret(Summarise(engines)));
  }
  return Chart(
      "regret", "What it costs to let the machine choose",
      "Regret is how much longer auto took than the best path that one could have named beforehand. It counts where the "
      "intervals of both medians, in small print, are apart and the medians differ by more than 3 %: elsewhere it is 0 %. "
      "The "
      "second table is a geometric mean over all cases.",
      body);
}

}  // namespace chatty::cli::page
