#include "orrery/cli/evaluate_families.h"

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

void AddFamilies(const KernelJudgement& kernels, FamilyJudgement& judgement) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const kernel::JudgedRow& row : kernels.rows) {
    FamilyRows& rows = rows_of_timing[row.measured.timing];
    rows.predicted.push_back(row.predicted.seconds);
    rows.measured.push_back(row.measured.seconds);
    rows.machines.insert(row.measured.gpu->name);
  }
  for (const auto& [timing, rows] : rows_of_timing) {
    judgement.families.push_back({"kernels", std::string(kernel::TimingName(timing)), rows.machines,
                                  learn::Evaluate(rows.predicted, rows.measured)});
  }
  judgement.not_used += NotUsedText(kernels.data);
  judgement.rejected += kernels.data.rejected.size();
}

void AddFamily(const collective::Judgement& collectives, FamilyJudgement& judgement) {
  std::set<std::string> machines;
  for (const collective::JudgedGroup& group : collectives.groups) {
    machines.insert(group.machine);
  }
  judgement.families.push_back({"collectives", "", std::move(machines), collectives.overall});
}

std::string FamiliesText(const FamilyJudgement& judgement) {
  draw::TextTable table = FigureTable({{"family"}, {"timing"}, {"machines"}});
  for (const Family& family : judgement.families) {
    AddFigures(table,
               {family.name, family.timing, fmt::format("{}", fmt::join(family.machines, ", "))},
               family.figures);
  }
  return fmt::format("Judged: {}; errors in %\n\n", judgement.split) + table.Render() +
         judgement.not_used;
}

std::string FamiliesJson(const FamilyJudgement& judgement) {
  Value families = Value::List();
  for (const Family& family : judgement.families) {
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
  document.Set("split", judgement.split);
  document.Set("families", std::move(families));
  document.Set("rejected_rows", static_cast<std::int64_t>(judgement.rejected));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

}  // namespace orrery::cli
