#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate_output.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/terminal.h"
#include "orrery/kernel/evaluation.h"
#include "orrery/kernel/fit.h"
#include "orrery/kernel/row_split.h"

namespace orrery::cli {
namespace {

struct EvaluateArguments {
  std::vector<std::string> paths;
  std::vector<std::string> models;
  std::string split;
  double largest_spread = 100;
  std::string predictions;
  bool as_json = false;
};

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows, ProgressLine& progress) {
  return kernel::FitModels(rows, {}, [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "fitting");
  });
}

/// Learns from one part of the rows and judges the other.
Result<std::vector<kernel::JudgedRow>> JudgeSplit(const std::vector<kernel::Measurement>& rows,
                                                  const kernel::SplitRule& rule) {
  ORRERY_TRY(const std::vector<kernel::RowSplit> rounds, kernel::SplitRows(rows, rule));
  ProgressLine progress(TerminalProgress());
  std::vector<kernel::JudgedRow> judged;
  for (const kernel::RowSplit& round : rounds) {
    ORRERY_TRY(const kernel::ModelSet models, Fit(round.train, progress));
    std::vector<kernel::JudgedRow> part = kernel::Judge(models, round.test);
    judged.insert(judged.end(), part.begin(), part.end());
  }
  return judged;
}

Result<int> EvaluateKernels(const EvaluateArguments& arguments) {
  std::optional<kernel::SplitRule> rule;
  if (!arguments.split.empty()) {
    ORRERY_TRY(rule, kernel::SplitRule::Parse(arguments.split));
  }
  KernelJudgement judgement;
  ORRERY_TRY(judgement.data, kernel::ReadMeasurements(arguments.paths));
  std::erase_if(judgement.data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > arguments.largest_spread;
  });
  if (judgement.data.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no row of the data can be used\n" + RejectedText(judgement.data));
  }
  if (rule) {
    judgement.split = rule->Text();
    ORRERY_TRY(judgement.rows, JudgeSplit(judgement.data.rows, *rule));
  } else {
    ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(arguments.models));
    judgement.split = arguments.models.empty() ? "all rows, by the shipped models"
                                               : "all rows, by the given models";
    judgement.rows = kernel::Judge(models, judgement.data.rows);
  }
  if (!arguments.predictions.empty()) {
    ORRERY_TRY_STATUS(WriteCsvFile(PredictionTable(judgement.rows), arguments.predictions));
  }
  Print(arguments.as_json ? JudgementJson(judgement) : JudgementText(judgement));
  return judgement.data.rejected.empty() ? kExitOk : kExitPartial;
}

int RunEvaluateKernels(const EvaluateArguments& arguments) {
  const Result<int> status = EvaluateKernels(arguments);
  return status ? *status : PrintError(status.error());
}

void AddEvaluateKernels(CLI::App& evaluate, int& status) {
  auto arguments = std::make_shared<EvaluateArguments>();
  CLI::App* const verb =
      evaluate.add_subcommand("kernels", "Predicted against measured times of operators");
  verb->add_option("DATA", arguments->paths,
                   "tables of `orrery measure kernels`, NeuSight or aiconfigurator")
      ->required();
  verb->add_option("--model", arguments->models,
                   "model files to judge instead of the shipped ones");
  verb->add_option("--split", arguments->split,
                   "fit on a part and judge the rest: random:20, gpu, gpu:NAME, value:m:20, "
                   "above:m:4096, each perhaps with :seed=7");
  verb->add_option("--max-spread", arguments->largest_spread,
                   "leave out rows whose repeats differ by more percent (100)")
      ->check(CLI::Range(0.0, 1e6));
  verb->add_option("--predictions", arguments->predictions,
                   "write every judged row to this CSV (.gz, .zst)")
      ->type_name("FILE");
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  verb->callback([arguments, &status] { status = RunEvaluateKernels(*arguments); });
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, int& status) {
  CLI::App* const verb = app.add_subcommand("evaluate", "Judge cost models on measurements");
  verb->require_subcommand(1);
  AddEvaluateKernels(*verb, status);
}

}  // namespace orrery::cli
