#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/evaluate/kernels.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/collectives/evaluation.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/learn/metrics.h"

namespace orrery::api {
namespace {

struct Family {
  std::string name;
  std::string timing;  // parts of the measured times; empty where there is one kind only
  std::set<std::string> machines;  // GPUs or clusters
  learn::Evaluation errors;
};

struct EvaluatedFamilies {
  std::string split;  // the rows that were evaluated
  std::vector<Family> families = {};
  std::vector<Document::List> not_used = {};  // rows, by name
  std::size_t rejected = 0;
};

struct FamilyRows {
  learn::EvaluatedTimes times;
  std::set<std::string> machines;
};

void AddRejected(const std::vector<std::string>& files, const std::vector<RejectedRow>& rows,
                 EvaluatedFamilies& evaluated) {
  evaluated.not_used.push_back(NotUsedList(files, rows));
  evaluated.rejected += rows.size();
}

void AddFamilies(const EvaluatedKernels& kernels, EvaluatedFamilies& evaluated) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const calibrate::EvaluatedOperator& row : kernels.rows) {
    FamilyRows& rows = rows_of_timing[row.measured.timing];
    rows.times.Add(row.predicted.seconds, row.measured.seconds);
    rows.machines.insert(row.measured.gpu->name);
  }
  for (const auto& [timing, rows] : rows_of_timing) {
    evaluated.families.push_back(
        {"kernels", std::string(kernel::TimingName(timing)), rows.machines, rows.times.Evaluate()});
  }
  AddRejected(kernels.data.files, kernels.data.rejected, evaluated);
}

Status AddCollectives(const std::vector<std::string>& paths, EvaluatedFamilies& evaluated) {
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(paths, ""));
  ORRERY_TRY(const calibrate::CollectiveEvaluation evaluation,
             calibrate::EvaluateCollectives(data.rows, collective::kLeastBytes,
                                            collective::MachineModels::Shipped()));
  Family family{.name = "collectives", .timing = "", .machines = {}, .errors = evaluation.overall};
  for (const calibrate::CollectiveGroup& group : evaluation.groups) {
    family.machines.insert(group.machine);
  }
  evaluated.families.push_back(std::move(family));
  AddRejected(data.files, data.rejected, evaluated);
  return {};
}

Document DocumentOf(const EvaluatedFamilies& evaluated) {
  Document document{.title = fmt::format("Evaluated: {}; errors in %", evaluated.split),
                    .kind = "Orrery evaluation"};
  Document::Table table{.columns = MetricColumns({"family", "timing", "machines"})};
  for (const Family& family : evaluated.families) {
    table.rows.push_back(MetricCells(
        {family.name, family.timing, fmt::format("{}", fmt::join(family.machines, ", "))},
        family.errors));
  }
  Document::Section& section = document.AddSection();
  section.Add(std::move(table));
  std::ranges::copy(evaluated.not_used, std::back_inserter(section.blocks));
  return document;
}

FamilyErrors ErrorsOf(const Family& family) {
  FamilyErrors errors{
      .family = family.name, .timing = family.timing, .errors = MetricsOf(family.errors)};
  (family.name == "kernels" ? errors.gpus : errors.machines)
      .emplace(family.machines.begin(), family.machines.end());
  return errors;
}

EvaluateAllResult ResultOf(const EvaluatedFamilies& evaluated) {
  EvaluateAllResult result{.split = evaluated.split,
                           .rejected_rows = static_cast<std::int64_t>(evaluated.rejected),
                           .is_partial = evaluated.rejected > 0,
                           .document = std::make_shared<const Document>(DocumentOf(evaluated))};
  for (const Family& family : evaluated.families) {
    result.families.push_back(ErrorsOf(family));
  }
  return result;
}

std::vector<std::string> TakeCollectives(std::vector<std::string>& paths) {
  std::vector<std::string> collectives;
  std::ranges::copy_if(paths, std::back_inserter(collectives), IsCollectiveData);
  std::erase_if(paths, [&](const std::string& path) {
    return std::ranges::find(collectives, path) != collectives.end();
  });
  return collectives;
}

Result<EvaluateAllResult> Evaluate(const Session& session, const EvaluateAllRequest& request) {
  EvaluateKernelsRequest of_kernels = request.kernels;
  of_kernels.call = request.call;
  if (of_kernels.paths.empty()) {
    return InvalidInput("name tables of measured operators or collectives");
  }
  const std::vector<std::string> collectives = TakeCollectives(of_kernels.paths);
  EvaluatedFamilies evaluated{.split = "all rows, by the shipped models"};
  if (!of_kernels.paths.empty()) {
    ORRERY_TRY(const EvaluatedKernels kernels, PredictMeasured(session, of_kernels));
    evaluated.split = kernels.split;
    AddFamilies(kernels, evaluated);
  }
  if (!collectives.empty()) {
    ORRERY_TRY_STATUS(AddCollectives(collectives, evaluated));
  }
  if (request.is_fitted_data && of_kernels.split.empty() && of_kernels.models.empty()) {
    evaluated.split += ", which have learned from them (--split evaluates unseen rows)";
  }
  return ResultOf(evaluated);
}

}  // namespace

Result<EvaluateAllResult> EvaluateAll(const Session& session, const EvaluateAllRequest& request) {
  return RunCancellable(request.call, [&] { return Evaluate(session, request); });
}

}  // namespace orrery::api
