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

struct Family {
  std::string name;
  std::string timing;
  std::set<std::string> gpus;
  learn::Evaluation figures;
};

struct FamilyRows {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::set<std::string> gpus;
};

std::vector<Family> FamiliesOf(const KernelJudgement& judgement) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const kernel::JudgedRow& row : judgement.rows) {
    FamilyRows& rows = rows_of_timing[row.measured.timing];
    rows.predicted.push_back(row.predicted.seconds);
    rows.measured.push_back(row.measured.seconds);
    rows.gpus.insert(row.measured.gpu->name);
  }
  std::vector<Family> families;
  for (const auto& [timing, rows] : rows_of_timing) {
    families.push_back({"kernels", std::string(kernel::TimingName(timing)), rows.gpus,
                        learn::Evaluate(rows.predicted, rows.measured)});
  }
  return families;
}

}  // namespace

std::string FamiliesText(const KernelJudgement& judgement) {
  draw::TextTable table = FigureTable({{"family"}, {"timing"}, {"GPUs"}});
  for (const Family& family : FamiliesOf(judgement)) {
    AddFigures(table, {family.name, family.timing, fmt::format("{}", fmt::join(family.gpus, ", "))},
               family.figures);
  }
  return fmt::format("Judged: {}; errors in %\n\n", judgement.split) + table.Render() +
         NotUsedText(judgement.data);
}

std::string FamiliesJson(const KernelJudgement& judgement) {
  Value families = Value::List();
  for (const Family& family : FamiliesOf(judgement)) {
    Value object = Value::Object();
    object.Set("family", family.name);
    object.Set("timing", family.timing);
    Value gpus = Value::List();
    for (const std::string& gpu : family.gpus) {
      gpus.Add(gpu);
    }
    object.Set("gpus", std::move(gpus));
    SetFigures(object, family.figures);
    families.Add(std::move(object));
  }
  Value document = Value::Object();
  document.Set("split", judgement.split);
  document.Set("families", std::move(families));
  document.Set("rejected_rows", static_cast<std::int64_t>(judgement.data.rejected.size()));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

}  // namespace orrery::cli
