#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/cli/diff/diff.h"

namespace orrery::cli {
namespace {

std::vector<CostField> FieldsOf(const Section& section) {
  std::vector<CostField> fields(std::begin(kCostFields), std::end(kCostFields));
  fields.insert(fields.end(), section.fields.begin(), section.fields.end());
  return fields;
}

std::string_view BetterName(analyze::Better better) {
  return better == analyze::Better::kNeither  ? "neither"
         : better == analyze::Better::kHigher ? "higher"
                                              : "lower";
}

Value StepData(const StepParts& parts) {
  Value data = Value::Object();
  data.Set("ranks", parts.num_ranks)
      .Set("steps", parts.num_steps)
      .Set("step_time_ns", parts.step_ns)
      .Set("recorded_span_ns", parts.span_ns);
  for (const StepPart& part : kStepParts) {
    data.Set(part.key, parts.*part.member);
  }
  return data;
}

bool IsUnknown(const MetricChange& change) {
  return change.GetVerdict() == analyze::diff::Verdict::kUnknown;
}

Value MetricData(const MetricChange& change) {
  return Value::Object()
      .Set("unit", change.unit)
      .Set("better", BetterName(change.better))
      .Set("before", change.before)
      .Set("after", change.after)
      .Set("percent", change.Percent())
      .Set("verdict", IsUnknown(change) ? "unknown" : VerdictName(change.GetVerdict()))
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

Value MemoryData(const MemoryChange& change) {
  return Value::Object()
      .Set("name", change.name)
      .Set("change", ChangeName(change.change))
      .Set("before_bytes", change.before_bytes)
      .Set("after_bytes", change.after_bytes);
}

struct LineName {
  std::string_view section;
  std::string_view name;
  std::string_view quantity;
};

// Adds it; `verdict` says what changed, or what the change means.
void AddLine(Table& table, const LineName& line, std::optional<double> before,
             std::optional<double> after, std::string_view verdict = {}) {
  const auto difference = before && after ? std::optional(*after - *before) : std::nullopt;
  table.AddRow({std::string(line.section), std::string(line.name), std::string(line.quantity),
                Table::CellOf(before), Table::CellOf(after), Table::CellOf(difference),
                std::string(verdict)});
}

// A line is about one quantity: of a gemm that takes longer the count may be the same.
Change ChangeOfQuantity(const CostChange& change, const CostField& field) {
  const bool is_in_both = change.change != Change::kAdded && change.change != Change::kDeleted;
  return is_in_both
             ? analyze::diff::ChangeOf(change.before.*field.member, change.after.*field.member)
             : change.change;
}

}  // namespace

Value DiffData(const DiffPage& page) {
  Value metrics = Value::Object();
  for (const MetricChange& change : page.diff.metrics) {
    metrics.Set(change.name, MetricData(change));
  }
  Value data = Value::Object();
  data.Set("before", page.path_before)
      .Set("after", page.path_after)
      .Set("fail_over_percent", page.limit_percent)
      .Set("worse", Value::ListOf(page.worse, &MetricChange::name))
      .Set("step", Value::Object()
                       .Set("before", StepData(page.diff.step_before))
                       .Set("after", StepData(page.diff.step_after)))
      .Set("metrics", std::move(metrics));
  for (const Section& section : kSections) {
    data.Set(section.key, Value::ListOf(page.diff.*section.member, [&](const CostChange& change) {
               return ChangeData(change, section);
             }));
  }
  return data.Set("memory", Value::ListOf(page.diff.memory, MemoryData));
}

Table DiffTable(const DiffPage& page) {
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"section", kText},
               {"name", kText},
               {"quantity", kText},
               {"before", kNumber},
               {"after", kNumber},
               {"difference", kNumber},
               {"change", kText}});
  const StepParts& before = page.diff.step_before;
  const StepParts& after = page.diff.step_after;
  AddLine(table, {"step", "step time", "ns"}, before.step_ns, after.step_ns);
  for (const StepPart& part : kStepParts) {
    AddLine(table, {"step", part.title, "ns"}, before.*part.member, after.*part.member,
            ChangeName(analyze::diff::ChangeOf(before.*part.member, after.*part.member)));
  }
  for (const MetricChange& change : page.diff.metrics) {
    AddLine(table, {"metrics", change.name, change.unit}, change.before, change.after,
            IsUnknown(change) ? "" : VerdictName(change.GetVerdict()));
  }
  for (const Section& section : kSections) {
    for (const CostChange& change : page.diff.*section.member) {
      for (const CostField& field : FieldsOf(section)) {
        AddLine(table, {section.key, change.name, field.key}, change.before.*field.member,
                change.after.*field.member, ChangeName(ChangeOfQuantity(change, field)));
      }
    }
  }
  for (const MemoryChange& change : page.diff.memory) {
    AddLine(table, {"memory", change.name, "bytes"}, change.before_bytes, change.after_bytes,
            ChangeName(change.change));
  }
  return table;
}

}  // namespace orrery::cli
