#include "orrery/cli/diff/output.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/table.h"
#include "orrery/cli/diff/sections.h"

namespace orrery::cli {
namespace {

using analyze::diff::Change;
using analyze::diff::Cost;
using analyze::diff::CostChange;
using analyze::diff::MemoryChange;
using analyze::diff::MetricChange;
using analyze::diff::StepParts;

Value OrNull(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

Value BytesOrNull(std::optional<std::int64_t> bytes) {
  return bytes ? Value(*bytes) : Value();
}

Value StepData(const StepParts& parts) {
  Value data = Value::Object();
  data.Set("ranks", parts.num_ranks)
      .Set("steps", parts.num_steps)
      .Set("marker_ns", OrNull(parts.marker_ns));
  for (const StepPart& part : kStepParts) {
    data.Set(part.key, parts.*part.member);
  }
  return data;
}

Value MetricData(const MetricChange& change) {
  const bool is_unknown = change.GetVerdict() == analyze::diff::Verdict::kUnknown;
  return Value::Object()
      .Set("unit", change.unit)
      .Set("better", BetterName(change.better))
      .Set("before", OrNull(change.before))
      .Set("after", OrNull(change.after))
      .Set("percent", OrNull(change.Percent()))
      .Set("verdict", is_unknown ? "unknown" : VerdictName(change.GetVerdict()))
      .Set("reason_before", change.before ? Value() : Value(change.reason_before))
      .Set("reason_after", change.after ? Value() : Value(change.reason_after));
}

Value CostData(const Cost& cost, const Section& section) {
  Value data = Value::Object();
  for (const CostField& field : FieldsOf(section)) {
    data.Set(field.key, cost.*field.member);
  }
  return data;
}

Value ChangeData(const CostChange& change, const Section& section) {
  Value data = Value::Object();
  data.Set("name", change.name);
  if (!change.kernel_class.empty()) {
    data.Set("class", change.kernel_class);
  }
  return data.Set("change", ChangeName(change.change))
      .Set("difference_ns", change.DifferenceNs())
      .Set("before", CostData(change.before, section))
      .Set("after", CostData(change.after, section));
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

  [[nodiscard]] const Table& table() const { return table_; }

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

Value DiffData(const DiffPage& page) {
  Value worse = Value::List();
  for (const MetricChange& change : page.worse) {
    worse.Add(change.name);
  }
  Value metrics = Value::Object();
  for (const MetricChange& change : page.diff.metrics) {
    metrics.Set(change.name, MetricData(change));
  }
  Value data = Value::Object();
  data.Set("before", page.path_before)
      .Set("after", page.path_after)
      .Set("fail_over_percent", OrNull(page.limit_percent))
      .Set("worse", std::move(worse))
      .Set("step", Value::Object()
                       .Set("before", StepData(page.diff.step_before))
                       .Set("after", StepData(page.diff.step_after)))
      .Set("metrics", std::move(metrics));
  for (const Section& section : kSections) {
    Value changes = Value::List();
    for (const CostChange& change : page.diff.*section.member) {
      changes.Add(ChangeData(change, section));
    }
    data.Set(section.key, std::move(changes));
  }
  Value memory = Value::List();
  for (const MemoryChange& change : page.diff.memory) {
    memory.Add(Value::Object()
                   .Set("name", change.name)
                   .Set("change", ChangeName(change.change))
                   .Set("before_bytes", BytesOrNull(change.before_bytes))
                   .Set("after_bytes", BytesOrNull(change.after_bytes)));
  }
  return data.Set("memory", std::move(memory));
}

Table DiffTable(const DiffPage& page) {
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
  return lines.table();
}

}  // namespace orrery::cli
