#include "orrery/base/text/table.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"
#include "orrery/api/diff/page.h"

namespace orrery::api {
namespace {

std::vector<CostField> FieldsOf(const Section& section) {
  std::vector<CostField> fields(std::begin(kCostFields), std::end(kCostFields));
  fields.insert(fields.end(), section.fields.begin(), section.fields.end());
  return fields;
}

bool IsUnknown(const MetricChange& change) {
  return change.GetVerdict() == analyze::diff::Verdict::kUnknown;
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

}  // namespace orrery::api
