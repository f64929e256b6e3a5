#include "orrery/cli/analyze/output.h"

#include <cstddef>
#include <optional>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/table.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"

namespace orrery::cli {
namespace {

using draw::TextTable;

constexpr std::size_t kMaxDetailRows = 16;

std::string ValueWithUnit(const NamedResult& named) {
  if (!named.result.is_ok()) {
    return fmt::format("n/a: {}", named.result.reason);
  }
  return fmt::format("{:.6g}{}{}", *named.result.value, named.unit.empty() ? "" : " ", named.unit);
}

std::string NeedsText(const analyze::Metric& metric) {
  std::string text;
  for (const analyze::Need& need : metric.needs) {
    text += text.empty() ? "" : ", ";
    text += NeedText(need);
  }
  return text;
}

}  // namespace

std::string AnalyzeJson(const std::vector<NamedResult>& results) {
  draw::JsonWriter json;
  json.BeginObject().Key("metrics").BeginObject();
  for (const NamedResult& named : results) {
    const analyze::MetricResult& result = named.result;
    json.Key(named.name).BeginObject();
    json.Key("value");
    result.is_ok() ? json.Number(*result.value) : json.Null();
    json.Key("unit").String(named.unit);
    json.Key("status").String(result.is_ok() ? "ok" : "n/a");
    json.Key("reason");
    result.is_ok() ? json.Null() : json.String(result.reason);
    json.Key("detail");
    draw::WriteValue(json, result.detail);
    json.EndObject();
  }
  json.EndObject().EndObject();
  return json.Finish();
}

std::string AnalyzeCsv(const std::vector<NamedResult>& results) {
  Table table;
  const std::size_t metric = table.AddColumn("metric", Table::Type::kText);
  const std::size_t value = table.AddColumn("value", Table::Type::kNumber);
  const std::size_t unit = table.AddColumn("unit", Table::Type::kText);
  const std::size_t status = table.AddColumn("status", Table::Type::kText);
  const std::size_t reason = table.AddColumn("reason", Table::Type::kText);
  for (const NamedResult& named : results) {
    const std::size_t row = table.AddRow();
    table.Set(row, metric, named.name);
    if (named.result.is_ok()) {
      table.Set(row, value, *named.result.value);
    }
    table.Set(row, unit, named.unit);
    table.Set(row, status, std::string(named.result.is_ok() ? "ok" : "n/a"));
    table.Set(row, reason, named.result.reason);
  }
  return FormatCsv(table);
}

std::string AnalyzeText(const std::vector<NamedResult>& results) {
  std::string text;
  for (const NamedResult& named : results) {
    text += text.empty() ? "" : "\n";
    text += fmt::format("{}: {}\n  {}\n", named.name, ValueWithUnit(named), named.meaning);
    text += draw::ValueText(named.result.detail, 2, kMaxDetailRows);
  }
  return text;
}

std::string StatusText(const std::vector<NamedResult>& results) {
  TextTable table({{"metric"}, {"status", TextTable::Align::kLeft, 100}});
  for (const NamedResult& named : results) {
    table.AddRow({named.name, named.result.is_ok() ? "ok" : "n/a: " + named.result.reason});
  }
  return table.Render();
}

std::string MetricListText() {
  TextTable table({{"metric"}, {"unit"}, {"meaning"}, {"needs"}});
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    table.AddRow({std::string(metric.name), std::string(metric.unit), std::string(metric.meaning),
                  NeedsText(metric)});
    for (const analyze::MetricAlias& alias : metric.aliases) {
      table.AddRow({fmt::format("  {}", alias.name), std::string(alias.unit.value_or(metric.unit)),
                    fmt::format("→ {}", metric.name)});
    }
  }
  return table.Render();
}

}  // namespace orrery::cli
