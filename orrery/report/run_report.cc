#include "orrery/report/run_report.h"

#include <algorithm>
#include <cstddef>

#include <fmt/core.h>

#include "orrery/report/parts.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

void AddOverview(const RunReport& report, Document& document) {
  Document::Section& facts = document.AddSection();
  for (const Fact& fact : report.facts) {
    facts.Add(
        Document::Fact{.key = "", .label = fact.label, .value = fact.value, .is_minor = true});
  }
  Document::Section& tiles = document.AddSection();
  tiles.shown = Shown::kInHtml;
  for (const Figure& figure : report.figures) {
    Document::Fact tile{
        .key = "", .label = figure.label, .value = figure.value, .note = figure.note};
    if (figure.part) {
      tile.series = PartSeries()[static_cast<std::size_t>(*figure.part)];
    }
    tiles.Add(std::move(tile));
  }
}

void AddFindings(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Findings");
  section.Say(report.findings.empty()
                  ? "Nothing stands out."
                  : "Most important first, with the share of the step's time that each is about.");
  for (const Document::Finding& finding : report.findings) {
    section.Add(finding);
  }
}

void AddMetrics(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Metrics");
  if (report.metrics.empty()) {
    section.Say("No metrics were requested.");
    return;
  }
  Document::Table known{.key = "",
                        .heading = "",
                        .columns = {{"", "metric"},
                                    {"", "value", Unit::kNumber},
                                    {"", "unit"},
                                    {"", "meaning", Unit::kText, 0}},
                        .max_shown = SIZE_MAX,
                        .has_filter = true};
  Document::Table missing{.key = "",
                          .heading = "metrics that do not apply",
                          .columns = {{"", "metric"}, {"", "reason", Unit::kText, 0}},
                          .max_shown = SIZE_MAX};
  for (const MetricRow& metric : report.metrics) {
    if (metric.value) {
      known.rows.push_back({metric.name, *metric.value, metric.unit, metric.meaning});
    } else {
      missing.rows.push_back({metric.name, "n/a: " + metric.reason});
    }
  }
  if (!missing.rows.empty()) {
    known.caption = fmt::format("{} of {} apply to this run (--list PATH says why others do not).",
                                known.rows.size(), report.metrics.size());
  }
  section.Add(std::move(known));
  if (!missing.rows.empty()) {
    Document::Section& others = document.AddSection();
    others.shown = Shown::kInHtml;
    others.Add(std::move(missing));
  }
}

}  // namespace

Document RunDocument(const RunReport& report) {
  Document document{.title = report.title, .kind = "Orrery run report"};
  AddOverview(report, document);
  AddFindings(report, document);
  AddBreakdown(report, document);
  AddTimeline(report, document);
  AddCollectives(report, document);
  AddCriticalPath(report, document);
  AddArrivals(report, document);
  AddMetrics(report, document);
  document.AddSection().Add(
      Document::List{"", "Notes: what could not be read or used", report.notes});
  return document;
}

}  // namespace orrery::report
