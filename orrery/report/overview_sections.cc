#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/draw/chart/series.h"
#include "orrery/report/page.h"
#include "orrery/report/parts.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

using draw::EscapeMarkup;

constexpr std::string_view kNavigation =
    "<nav><a href=\"#findings\">Findings</a><a href=\"#breakdown\">Where the time goes</a>"
    "<a href=\"#timeline\">One step</a><a href=\"#collectives\">Collectives</a>"
    "<a href=\"#path\">Critical path</a><a href=\"#arrivals\">Late arrivals</a>"
    "<a href=\"#metrics\">Metrics</a></nav>\n";

std::string FactList(const std::vector<Fact>& facts) {
  std::vector<NamedText> texts;
  for (const Fact& fact : facts) {
    texts.push_back({fact.label, fact.value});
  }
  return RenderFacts(texts);
}

std::string SwatchOf(const Figure& figure) {
  return figure.part ? draw::RenderSwatch(PartSeries()[static_cast<std::size_t>(*figure.part)])
                     : "";
}

std::string Tiles(const std::vector<Figure>& figures) {
  std::vector<Tile> tiles;
  for (const Figure& figure : figures) {
    tiles.push_back({figure.label, figure.value, figure.note, SwatchOf(figure)});
  }
  return RenderTiles(tiles);
}

std::string ShareOf(const Finding& finding) {
  if (!finding.share) {
    return "<div></div>";
  }
  const double percent = 100 * std::clamp(*finding.share, 0.0, 1.0);
  return fmt::format("<div class=\"share\">{:.0f} %<i><i style=\"width:{:.0f}%\"></i></i></div>",
                     percent, percent);
}

// A number and its percent sign stay on one line.
std::string Sentence(std::string_view text) {
  constexpr std::string_view kNoBreak = "\u00a0%";
  std::string out = EscapeMarkup(text);
  for (std::size_t at = out.find(" %"); at != std::string::npos; at = out.find(" %", at)) {
    out.replace(at, 2, kNoBreak);
  }
  return out;
}

std::string FindingItem(const Finding& finding) {
  const std::string more =
      finding.more.empty() ? "" : fmt::format("<p>{}</p>", Sentence(finding.more));
  return fmt::format("<li>{}<div><p>{}</p>{}</div></li>\n", ShareOf(finding),
                     Sentence(finding.text), more);
}

}  // namespace

std::string HeaderSection(const RunReport& report) {
  return fmt::format(
      "<header><div class=\"top\"><span class=\"brand\">Orrery run report</span>"
      "<button id=\"theme\" type=\"button\">light / "
      "dark</button></div>\n<h1>{}</h1>\n{}{}</header>\n"
      "{}",
      EscapeMarkup(report.title), FactList(report.facts), Tiles(report.figures), kNavigation);
}

std::string FindingsSection(const RunReport& report) {
  if (report.findings.empty()) {
    return Section("findings", "Findings", Caption("Nothing stands out."));
  }
  std::string items = "<ol class=\"findings\">\n";
  for (const Finding& finding : report.findings) {
    items += FindingItem(finding);
  }
  return Section("findings", "Findings",
                 Caption("Most important first; on the left the share of the step's time that a "
                         "finding is about.") +
                     items + "</ol>\n");
}

std::string NotesSection(const RunReport& report) {
  if (report.notes.empty()) {
    return {};
  }
  return Section("notes", "What could not be read or used", RenderList(report.notes));
}

}  // namespace orrery::report
