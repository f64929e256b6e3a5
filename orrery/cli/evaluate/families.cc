#include "orrery/cli/evaluate/families.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/value.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"
#include "orrery/learn/metrics.h"

namespace orrery::cli {
namespace {

struct FamilyRows {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::set<std::string> machines;
};

}  // namespace

void AddFamilies(const KernelEvaluationResult& kernels, FamilyEvaluation& evaluation) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const kernel::EvaluatedRow& row : kernels.rows) {
    FamilyRows& rows = rows_of_timing[row.measured.timing];
    rows.predicted.push_back(row.predicted.seconds);
    rows.measured.push_back(row.measured.seconds);
    rows.machines.insert(row.measured.gpu->name);
  }
  for (const auto& [timing, rows] : rows_of_timing) {
    evaluation.families.push_back({"kernels", std::string(kernel::TimingName(timing)), rows.machines,
                                  learn::Evaluate(rows.predicted, rows.measured)});
  }
  evaluation.not_used += NotUsedText(kernels.data);
  evaluation.rejected += kernels.data.rejected.size();
}

void AddFamily(const collective::EvaluationResult& collectives, FamilyEvaluation& evaluation) {
  std::set<std::string> machines;
  for (const collective::EvaluatedGroup& group : collectives.groups) {
    machines.insert(group.machine);
  }
  evaluation.families.push_back({"collectives", "", std::move(machines), collectives.overall});
}

std::string FamiliesText(const FamilyEvaluation& evaluation) {
  draw::TextTable table = FigureTable({{"family"}, {"timing"}, {"machines"}});
  for (const Family& family : evaluation.families) {
    AddFigures(table,
               {family.name, family.timing, fmt::format("{}", fmt::join(family.machines, ", "))},
               family.figures);
  }
  return fmt::format("Evaluated: {}; errors in %\n\n", evaluation.split) + table.Render() +
         evaluation.not_used;
}

std::string FamiliesJson(const FamilyEvaluation& evaluation) {
  Value families = Value::List();
  for (const Family& family : evaluation.families) {
    Value object = Value::Object();
    object.Set("family", family.name);
    object.Set("timing", family.timing);
    Value machines = Value::List();
    for (const std::string& machine : family.machines) {
      machines.Add(machine);
    }
    object.Set(family.name == "kernels" ? "gpus" : "machines", std::move(machines));
    SetFigures(object, family.figures);
    families.Add(std::move(object));
  }
  Value document = Value::Object();
  document.Set("split", evaluation.split);
  document.Set("families", std::move(families));
  document.Set("rejected_rows", static_cast<std::int64_t>(evaluation.rejected));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

}  // namespace orrery::cli
