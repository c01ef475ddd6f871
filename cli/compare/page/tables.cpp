#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chatty/cli/compare/page/parts.h"
#include "chatty/cli/compare/svg.h"
#include "chatty/cli/text.h"
#include "chatty/cli/times.h"

namespace chatty::cli::page {

std::string TroublesTable(const PageData& page) {
  std::map<std::pair<std::string, std::string>, std::vector<const Measurement*>> reasons;  // outcome and reason
  for (const Measurement& m : page.comparison.measurements) {
    if (m.outcome == Outcome::kOk || m.outcome == Outcome::kNotReached) continue;
    reasons[{std::string(OutcomeName(m.outcome)), m.reason}].push_back(&m);
  }
  if (reasons.empty()) return "";
  std::string html =
      "<section id=\"troubles\"><h2>What was not measured, and why</h2>\n<div class=\"scroll\"><table><tbody>\n";
  for (const auto& [key, list] : reasons) {
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 4); ++i) named.push_back(Describe(list[i]->combination));
    if (list.size() > named.size()) named.push_back(fmt::format("and {} more", list.size() - named.size()));
    html +=
        fmt::format("<tr><td class=\"{}\">{}</td><td>{}</td><td>{}</td></tr>\n", key.first == "not applicable" ? "" : "bad",
                    Html(key.first), Html(fmt::format("{}", fmt::join(named, "; "))), Html(key.second));
  }
  return html + "</tbody></table></div></section>\n";
}

std::string TimesTable(const PageData& page) {
  std::string html =
      "<section id=\"all\"><h2>All times</h2>\n<details><summary>Show the table</summary>\n<div class=\"scroll\"><table>"
      "<thead><tr><th>Graph</th><th>Program</th><th class=\"n\">Devices</th><th>Engine</th><th>Path</th><th>Partition</th>"
      "<th class=\"n\">Median</th><th class=\"n\">Least</th><th class=\"n\">Most</th><th "
      "class=\"n\">Trials</th><th>Answer</th>"
      "</tr></thead><tbody>\n";
  for (const Measurement& m : page.comparison.measurements) {
    const Combination& c = m.combination;
    const Spread spread = SpreadOf(m.trials_ms);
    const bool timed = !m.trials_ms.empty();
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{}\">{}</td></tr>\n",
        Html(c.graph), Html(c.program), c.devices, Html(c.execution), Html(c.comm), Html(c.partition),
        timed ? FormatMs(spread.median) : "", timed ? FormatMs(spread.min) : "", timed ? FormatMs(spread.max) : "",
        m.trials_ms.size(),
        m.outcome == Outcome::kOk      ? "good"
        : m.outcome == Outcome::kWrong ? "bad"
                                       : "",
        m.outcome == Outcome::kOk ? (m.verdict ? "verified" : "not verified") : std::string(OutcomeName(m.outcome)));
  }
  return html + "</tbody></table></div></details></section>\n";
}

}  // namespace chatty::cli::page
