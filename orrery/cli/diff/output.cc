#include "orrery/cli/diff/output.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/table.h"
#include "orrery/cli/diff/sections.h"
#include "orrery/draw/json_writer.h"

namespace orrery::cli {
namespace {

using analyze::diff::Change;
using analyze::diff::Cost;
using analyze::diff::CostChange;
using analyze::diff::MemoryChange;
using analyze::diff::MetricChange;
using analyze::diff::StepParts;
using draw::JsonWriter;

void WriteOptional(JsonWriter& json, std::string_view key, std::optional<double> value) {
  json.Key(key);
  value ? json.Number(*value) : json.Null();
}

void WriteStep(JsonWriter& json, std::string_view key, const StepParts& parts) {
  json.Key(key).BeginObject();
  json.Key("ranks").Unsigned(parts.num_ranks);
  json.Key("steps").Unsigned(parts.num_steps);
  WriteOptional(json, "marker_ns", parts.marker_ns);
  for (const StepPart& part : kStepParts) {
    json.Key(part.key).Number(parts.*part.member);
  }
  json.EndObject();
}

void WriteMetric(JsonWriter& json, const MetricChange& change) {
  json.Key(change.name).BeginObject();
  json.Key("unit").String(change.unit);
  json.Key("better").String(BetterName(change.better));
  WriteOptional(json, "before", change.before);
  WriteOptional(json, "after", change.after);
  WriteOptional(json, "percent", change.Percent());
  json.Key("verdict").String(change.GetVerdict() == analyze::diff::Verdict::kUnknown
                                 ? "unknown"
                                 : VerdictName(change.GetVerdict()));
  json.Key("reason_before");
  change.before ? json.Null() : json.String(change.reason_before);
  json.Key("reason_after");
  change.after ? json.Null() : json.String(change.reason_after);
  json.EndObject();
}

void WriteCost(JsonWriter& json, std::string_view key, const Cost& cost, const Section& section) {
  json.Key(key).BeginObject();
  for (const CostField& field : FieldsOf(section)) {
    json.Key(field.key).Number(cost.*field.member);
  }
  json.EndObject();
}

void WriteChange(JsonWriter& json, const CostChange& change, const Section& section) {
  json.BeginObject();
  json.Key("name").String(change.name);
  if (!change.kernel_class.empty()) {
    json.Key("class").String(change.kernel_class);
  }
  json.Key("change").String(ChangeName(change.change));
  json.Key("difference_ns").Number(change.DifferenceNs());
  WriteCost(json, "before", change.before, section);
  WriteCost(json, "after", change.after, section);
  json.EndObject();
}

void WriteMemory(JsonWriter& json, const MemoryChange& change) {
  const auto write = [&](std::string_view key, std::optional<std::int64_t> bytes) {
    json.Key(key);
    bytes ? json.Integer(*bytes) : json.Null();
  };
  json.BeginObject().Key("name").String(change.name);
  json.Key("change").String(ChangeName(change.change));
  write("before_bytes", change.before_bytes);
  write("after_bytes", change.after_bytes);
  json.EndObject();
}

void WriteEvaluation(JsonWriter& json, const DiffPage& page) {
  WriteOptional(json, "fail_over_percent", page.limit_percent);
  json.Key("worse").BeginArray();
  for (const MetricChange& change : page.worse) {
    json.String(change.name);
  }
  json.EndArray();
}

/// The lines of --csv.
class CsvLines {
 public:
  struct Line {
    std::string_view section;
    std::string_view name;
    std::string_view quantity;
    std::optional<double> before = {};
    std::optional<double> after = {};
    std::string_view verdict = {};  // what changed, or what the change means
  };

  void Add(const Line& line) {
    const std::size_t row = table_.AddRow();
    table_.Set(row, section_, std::string(line.section));
    table_.Set(row, name_, std::string(line.name));
    table_.Set(row, quantity_, std::string(line.quantity));
    SetNumber(row, before_, line.before);
    SetNumber(row, after_, line.after);
    if (line.before && line.after) {
      SetNumber(row, difference_, *line.after - *line.before);
    }
    table_.Set(row, verdict_, std::string(line.verdict));
  }

  [[nodiscard]] std::string Format() const { return FormatCsv(table_); }

 private:
  void SetNumber(std::size_t row, std::size_t column, std::optional<double> value) {
    if (value) {
      table_.Set(row, column, *value);
    }
  }

  Table table_;
  std::size_t section_ = table_.AddColumn("section", Table::Type::kText);
  std::size_t name_ = table_.AddColumn("name", Table::Type::kText);
  std::size_t quantity_ = table_.AddColumn("quantity", Table::Type::kText);
  std::size_t before_ = table_.AddColumn("before", Table::Type::kNumber);
  std::size_t after_ = table_.AddColumn("after", Table::Type::kNumber);
  std::size_t difference_ = table_.AddColumn("difference", Table::Type::kNumber);
  std::size_t verdict_ = table_.AddColumn("change", Table::Type::kText);
};

void AddStepLines(CsvLines& lines, const StepParts& before, const StepParts& after) {
  lines.Add({"step", "marker", "ns", before.marker_ns, after.marker_ns});
  for (const StepPart& part : kStepParts) {
    const double first = before.*part.member;
    const double second = after.*part.member;
    lines.Add({"step", part.title, "ns", first, second,
               ChangeName(analyze::diff::ChangeOf(first, second))});
  }
}

// A line is about one quantity: of a gemm that takes longer the count may be the same.
Change ChangeOfQuantity(const CostChange& change, const CostField& field) {
  const bool is_in_both = change.change != Change::kAdded && change.change != Change::kDeleted;
  return is_in_both
             ? analyze::diff::ChangeOf(change.before.*field.member, change.after.*field.member)
             : change.change;
}

std::optional<double> AsNumber(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

std::string DiffJson(const DiffPage& page) {
  JsonWriter json;
  json.BeginObject();
  json.Key("before").String(page.path_before).Key("after").String(page.path_after);
  WriteEvaluation(json, page);
  json.Key("step").BeginObject();
  WriteStep(json, "before", page.diff.step_before);
  WriteStep(json, "after", page.diff.step_after);
  json.EndObject();
  json.Key("metrics").BeginObject();
  for (const MetricChange& change : page.diff.metrics) {
    WriteMetric(json, change);
  }
  json.EndObject();
  for (const Section& section : kSections) {
    json.Key(section.key).BeginArray();
    for (const CostChange& change : page.diff.*section.member) {
      WriteChange(json, change, section);
    }
    json.EndArray();
  }
  json.Key("memory").BeginArray();
  for (const MemoryChange& change : page.diff.memory) {
    WriteMemory(json, change);
  }
  json.EndArray().EndObject();
  return json.Finish();
}

std::string DiffCsv(const DiffPage& page) {
  CsvLines lines;
  AddStepLines(lines, page.diff.step_before, page.diff.step_after);
  for (const MetricChange& change : page.diff.metrics) {
    lines.Add({"metrics", change.name, change.unit, change.before, change.after,
               change.GetVerdict() == analyze::diff::Verdict::kUnknown
                   ? ""
                   : VerdictName(change.GetVerdict())});
  }
  for (const Section& section : kSections) {
    for (const CostChange& change : page.diff.*section.member) {
      for (const CostField& field : FieldsOf(section)) {
        lines.Add({section.key, change.name, field.key, change.before.*field.member,
                   change.after.*field.member, ChangeName(ChangeOfQuantity(change, field))});
      }
    }
  }
  for (const MemoryChange& change : page.diff.memory) {
    lines.Add({"memory", change.name, "bytes", AsNumber(change.before_bytes),
               AsNumber(change.after_bytes), ChangeName(change.change)});
  }
  return lines.Format();
}

}  // namespace orrery::cli
