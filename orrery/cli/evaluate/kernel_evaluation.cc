#include "orrery/cli/evaluate/kernel_evaluation.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/cli/kernel_models.h"
#include "orrery/cli/program_folder.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/verb.h"
#include "orrery/kernel/evaluation.h"
#include "orrery/kernel/fit.h"
#include "orrery/kernel/row_split.h"

namespace orrery::cli {
namespace {

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows, ProgressLine& progress) {
  return kernel::FitModels(rows, {}, [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "fitting");
  });
}

/// Learns from one part of the rows and evaluates the other.
Result<std::vector<kernel::EvaluatedRow>> EvaluateSplit(
    const std::vector<kernel::Measurement>& rows, const kernel::SplitRule& rule) {
  ORRERY_TRY(const std::vector<kernel::RowSplit> rounds, kernel::SplitRows(rows, rule));
  ProgressLine progress(TerminalProgress());
  std::vector<kernel::EvaluatedRow> evaluated;
  for (const kernel::RowSplit& round : rounds) {
    ORRERY_TRY(const kernel::ModelSet models, Fit(round.train, progress));
    std::vector<kernel::EvaluatedRow> part = kernel::Evaluate(models, round.test);
    evaluated.insert(evaluated.end(), part.begin(), part.end());
  }
  return evaluated;
}

Result<kernel::Measurements> ReadRows(const KernelEvaluationArguments& evaluation) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(evaluation.paths));
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > evaluation.largest_spread_percent;
  });
  if (data.rows.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no row of the data can be used\n" + RejectedText(data));
  }
  return data;
}

}  // namespace

Option AddEvaluationOptions(Verb& verb, KernelEvaluationArguments& evaluation) {
  const Option data = verb.AddOption(
      "DATA", evaluation.paths, "tables of `orrery measure kernels`, NeuSight or aiconfigurator");
  verb.AddOption("--model", evaluation.models,
                 "model file to evaluate instead of the shipped ones; may be repeated")
      .TypeName("FILE")
      .OneValueEach();
  verb.AddOption("--split", evaluation.split,
                 "fit on a part and evaluate the rest: random:20, gpu, gpu:NAME, value:m:20, "
                 "above:m:4096, each perhaps with :seed=7")
      .TypeName("RULE");
  verb.AddFlag("--unseen-gpu", evaluation.is_gpu_unseen,
               "evaluate each row by the models of all GPUs but its own");
  verb.AddOption("--max-spread", evaluation.largest_spread_percent,
                 "leave out rows whose repeats differ by more percent (100)")
      .Range(0.0, 1e6);
  return data;
}

Result<std::vector<std::string>> OwnTables() {
  // Ceilings are rates of the machine and pairs are times of concurrent kernels, not of single operators.
  constexpr std::string_view kCeilings = "ceilings";
  constexpr std::string_view kPairs = "overlap";
  const std::filesystem::path folder = (ProgramFolder() / "../data/measured").lexically_normal();
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".csv") != std::string::npos && !name.starts_with(kCeilings) &&
        !name.starts_with(kPairs)) {
      paths.push_back(entry.path().string());
    }
  }
  if (paths.empty()) {
    return Fail(
        Error::Kind::kNotFound,
        "no measured tables next to the program (data/measured of its source tree); name some");
  }
  std::ranges::sort(paths);
  return paths;
}

Result<KernelEvaluationResult> EvaluateKernels(const KernelEvaluationArguments& options) {
  std::optional<kernel::SplitRule> rule;
  if (!options.split.empty()) {
    ORRERY_TRY(rule, kernel::SplitRule::Parse(options.split));
  }
  KernelEvaluationResult result;
  ORRERY_TRY(result.data, ReadRows(options));
  if (rule) {
    result.split = rule->Text();
    ORRERY_TRY(result.rows, EvaluateSplit(result.data.rows, *rule));
    return result;
  }
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(options.models));
  result.split =
      options.models.empty() ? "all rows, by the shipped models" : "all rows, by the given models";
  if (options.is_gpu_unseen) {
    result.split += " of other GPUs";
    result.rows = kernel::EvaluateHeldOut(models, result.data.rows);
    return result;
  }
  result.rows = kernel::Evaluate(models, result.data.rows);
  return result;
}

}  // namespace orrery::cli
