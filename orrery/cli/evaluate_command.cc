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
#include "orrery/cli/evaluate_commands.h"
#include "orrery/cli/evaluate_families.h"
#include "orrery/cli/evaluate_output.h"
#include "orrery/cli/evaluate_plot.h"
#include "orrery/cli/kernel_judging.h"
#include "orrery/cli/terminal.h"
#include "orrery/collective/evaluation.h"

namespace orrery::cli {
namespace {

struct EvaluateArguments {
  KernelJudging judging;
  std::string predictions;
  std::string plot;
  bool as_json = false;
};

int StatusOf(const KernelJudgement& judgement) {
  return judgement.data.rejected.empty() ? kExitOk : kExitPartial;
}

Result<int> EvaluateKernels(const EvaluateArguments& arguments) {
  ORRERY_TRY(const KernelJudgement judgement, JudgeKernels(arguments.judging));
  if (!arguments.predictions.empty()) {
    ORRERY_TRY_STATUS(WriteCsvFile(PredictionTable(judgement.rows), arguments.predictions));
  }
  if (!arguments.plot.empty()) {
    ORRERY_TRY_STATUS(WriteJudgementPlot(judgement, arguments.plot));
  }
  Print(arguments.as_json ? JudgementJson(judgement) : JudgementText(judgement));
  return StatusOf(judgement);
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

Status AddCollectives(const std::vector<std::string>& paths, FamilyJudgement& judgement) {
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(paths, ""));
  ORRERY_TRY(
      const collective::Judgement judged,
      collective::Judge(data.rows, collective::kLeastBytes, collective::MachineModels::Shipped()));
  AddFamily(judged, judgement);
  if (!data.rejected.empty()) {
    judgement.rejected += data.rejected.size();
    judgement.not_used +=
        fmt::format("\nNot used: {} rows\n{}\n", data.rejected.size(), RejectedText(data));
  }
  return {};
}

Result<int> EvaluateAll(const EvaluateArguments& arguments) {
  KernelJudging judging = arguments.judging;
  const bool are_own = judging.paths.empty();
  if (are_own) {
    ORRERY_TRY(judging.paths, OwnTables());
  }
  const std::vector<std::string> collectives = TakeCollectives(judging.paths);
  FamilyJudgement judgement;
  judgement.split = "all rows, by the shipped models";
  if (!judging.paths.empty()) {
    ORRERY_TRY(const KernelJudgement kernels, JudgeKernels(judging));
    judgement.split = kernels.split;
    AddFamilies(kernels, judgement);
  }
  if (!collectives.empty()) {
    ORRERY_TRY_STATUS(AddCollectives(collectives, judgement));
  }
  if (are_own && judging.split.empty() && judging.models.empty()) {
    judgement.split += ", which have learned from them (--split judges unseen rows)";
  }
  Print(arguments.as_json ? FamiliesJson(judgement) : FamiliesText(judgement));
  return judgement.rejected == 0 ? kExitOk : kExitPartial;
}

int Finish(const Result<int>& status) {
  return status ? *status : PrintError(status.error());
}

void AddEvaluateKernels(CLI::App& evaluate, int& status) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App* const verb =
      evaluate.add_subcommand("kernels", "Predicted against measured times of operators");
  AddJudgingOptions(*verb, arguments->judging)->required();
  verb->add_option("--predictions", arguments->predictions,
                   "write every judged row to this CSV (.gz, .zst)")
      ->type_name("FILE");
  verb->add_option("--svg", arguments->plot, "draw errors over times and by operator")
      ->type_name("FILE");
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  verb->callback([arguments, &status] { status = Finish(EvaluateKernels(*arguments)); });
}

void AddEvaluateAll(CLI::App& evaluate, int& status) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App* const verb = evaluate.add_subcommand("all", "One line for each family of models");
  AddJudgingOptions(*verb, arguments->judging);
  verb->footer("Without DATA, the tables under data/measured of the source tree are judged.");
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  verb->callback([arguments, &status] { status = Finish(EvaluateAll(*arguments)); });
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, int& status) {
  CLI::App* const verb = app.add_subcommand("evaluate", "Judge cost models on measurements");
  verb->require_subcommand(1);
  AddEvaluateKernels(*verb, status);
  AddEvaluateCollectivesCommand(*verb, status);
  AddEvaluateOverlapCommand(*verb, status);
  AddEvaluateAll(*verb, status);
}

}  // namespace orrery::cli
