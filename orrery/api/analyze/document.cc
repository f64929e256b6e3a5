#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/analyze/metric.h"
#include "orrery/api/analyze.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/text/table.h"
#include "orrery/draw/format.h"
#include "orrery/report/run_report.h"

namespace orrery::api {
namespace {

constexpr std::size_t kMaxDetailRows = 16;

std::string ValueWithUnit(const AnalyzedMetric& metric) {
  if (!metric.value) {
    return fmt::format("n/a: {}", *metric.reason);
  }
  return fmt::format("{:.6g}{}{}", *metric.value, metric.unit.empty() ? "" : " ", metric.unit);
}

Table ResultTable(const Keyed<AnalyzedMetric>& metrics) {
  constexpr Table::Type kText = Table::Type::kText;
  Table table({{"metric", kText},
               {"value", Table::Type::kNumber},
               {"unit", kText},
               {"status", kText},
               {"reason", kText}});
  for (const auto& [name, metric] : metrics) {
    table.AddRow({name, Table::CellOf(metric.value), metric.unit, metric.status,
                  metric.reason.value_or("")});
  }
  return table;
}

}  // namespace

report::Document MakeDocument(const AnalyzeResult& result) {
  return result.is_timeline ? report::TimelineDocument(*result.report)
                            : report::RunDocument(*result.report);
}

report::Document MakeFindingsDocument(const AnalyzeResult& result) {
  return result.is_timeline ? report::TimelineDocument(*result.report)
                            : report::FindingsDocument(*result.report);
}

// CSV: metric,value,unit,status,reason. JSON: docs/formats/answers/analyze.md.
report::Document MakeMetricsDocument(const AnalyzeResult& result) {
  Document document{.kind = "Orrery metrics"};
  for (const auto& [name, metric] : result.metrics) {
    std::string details = draw::ValueText(metric.detail, 2, kMaxDetailRows);
    Document::Section& section =
        document.AddSection(fmt::format("{}: {}", name, ValueWithUnit(metric)));
    section.Say("  " + metric.meaning);
    if (details.ends_with('\n')) {
      details.pop_back();
    }
    if (!details.empty()) {
      section.Say(std::move(details));
    }
  }
  document.data = ToObject(result);
  document.sheets.emplace_back("metrics", ResultTable(result.metrics));
  return document;
}

report::Document MakeStatusDocument(const AnalyzeResult& result) {
  Document document{.kind = "Orrery metrics"};
  Document::Table table{.columns = {AsText("", "metric", 0), AsText("", "status", 100)},
                        .max_shown = SIZE_MAX};
  for (const auto& [name, metric] : result.metrics) {
    table.rows.push_back({name, metric.value ? "ok" : "n/a: " + *metric.reason});
  }
  document.AddSection().Add(std::move(table));
  document.data = ToObject(result);
  return document;
}

report::Document ListMetrics() {
  Document document{.kind = "Orrery metrics"};
  Document::Table table{.key = "metrics",
                        .columns = {AsText("metric", "metric", 0), AsText("unit", "unit", 0),
                                    AsText("meaning", "meaning", 0), AsText("needs", "needs", 0)},
                        .max_shown = SIZE_MAX};
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    table.rows.push_back({metric.name, metric.unit, metric.meaning, metric.needs});
    for (const analyze::MetricAlias& alias : metric.aliases) {
      table.rows.push_back({fmt::format("  {}", alias.name), alias.unit.value_or(metric.unit),
                            fmt::format("→ {}", metric.name)});
    }
  }
  document.AddSection().Add(std::move(table));
  return document;
}

}  // namespace orrery::api
