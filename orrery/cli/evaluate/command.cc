#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/cli/collective_data.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/commands.h"
#include "orrery/cli/evaluate/families.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/evaluate/plot.h"
#include "orrery/cli/evaluate/kernel_evaluation.h"
#include "orrery/cli/terminal.h"
#include "orrery/collective/evaluation.h"

namespace orrery::cli {
namespace {

struct EvaluateArguments {
  KernelEvaluationArguments evaluation;
  std::string predictions;
  std::string plot;
  bool as_json = false;
};

int StatusOf(const KernelEvaluationResult& evaluation) {
  return evaluation.data.rejected.empty() ? kExitOk : kExitPartial;
}

Result<int> EvaluateKernels(const EvaluateArguments& arguments) {
  ORRERY_TRY(const KernelEvaluationResult evaluation, EvaluateKernels(arguments.evaluation));
  if (!arguments.predictions.empty()) {
    ORRERY_TRY_STATUS(WriteCsvFile(PredictionTable(evaluation.rows), arguments.predictions));
  }
  if (!arguments.plot.empty()) {
    ORRERY_TRY_STATUS(WriteEvaluationPlot(evaluation, arguments.plot));
  }
  Print(arguments.as_json ? EvaluationJson(evaluation) : EvaluationText(evaluation));
  return StatusOf(evaluation);
}

/// Splits files into those of collectives and the others.
std::vector<std::string> TakeCollectives(std::vector<std::string>& paths) {
  std::vector<std::string> collectives;
  std::ranges::copy_if(paths, std::back_inserter(collectives), IsCollectiveData);
  std::erase_if(paths, [&](const std::string& path) {
    return std::ranges::find(collectives, path) != collectives.end();
  });
  return collectives;
}

Status AddCollectives(const std::vector<std::string>& paths, FamilyEvaluation& evaluation) {
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(paths, ""));
  ORRERY_TRY(
      const collective::EvaluationResult evaluated,
      collective::Evaluate(data.rows, collective::kLeastBytes, collective::MachineModels::Shipped()));
  AddFamily(evaluated, evaluation);
  if (!data.rejected.empty()) {
    evaluation.rejected += data.rejected.size();
    evaluation.not_used +=
        fmt::format("\nNot used: {} rows\n{}\n", data.rejected.size(), RejectedText(data));
  }
  return {};
}

Result<int> EvaluateAll(const EvaluateArguments& arguments) {
  KernelEvaluationArguments options = arguments.evaluation;
  const bool are_own = options.paths.empty();
  if (are_own) {
    ORRERY_TRY(options.paths, OwnTables());
  }
  const std::vector<std::string> collectives = TakeCollectives(options.paths);
  FamilyEvaluation evaluation;
  evaluation.split = "all rows, by the shipped models";
  if (!options.paths.empty()) {
    ORRERY_TRY(const KernelEvaluationResult kernels, EvaluateKernels(options));
    evaluation.split = kernels.split;
    AddFamilies(kernels, evaluation);
  }
  if (!collectives.empty()) {
    ORRERY_TRY_STATUS(AddCollectives(collectives, evaluation));
  }
  if (are_own && options.split.empty() && options.models.empty()) {
    evaluation.split += ", which have learned from them (--split evaluates unseen rows)";
  }
  Print(arguments.as_json ? FamiliesJson(evaluation) : FamiliesText(evaluation));
  return evaluation.rejected == 0 ? kExitOk : kExitPartial;
}

void AddEvaluateKernels(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("kernels", "Predicted against measured times of operators");
  AddEvaluationOptions(verb, arguments->evaluation).Required();
  verb.AddOption("--predictions", arguments->predictions,
                   "write every evaluated row to this CSV (.gz, .zst)")
      .TypeName("FILE");
  verb.AddOption("--svg", arguments->plot, "draw errors over times and by operator")
      .TypeName("FILE");
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return EvaluateKernels(*arguments); });
}

void AddEvaluateAll(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("all", "One line for each family of models");
  AddEvaluationOptions(verb, arguments->evaluation);
  verb.Footer("Without DATA, the tables under data/measured of the source tree are evaluated.");
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return EvaluateAll(*arguments); });
}

}  // namespace

void AddEvaluateCommand(Verb& app) {
  Verb verb = app.AddVerb("evaluate", "Evaluate cost models on measurements");
  verb.RequireVerb();
  AddEvaluateKernels(verb);
  AddEvaluateCollectivesCommand(verb);
  AddEvaluateOverlapCommand(verb);
  AddEvaluateAll(verb);
}

}  // namespace orrery::cli
