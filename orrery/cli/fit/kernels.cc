#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/model_file.h"

namespace orrery::cli {
namespace {

struct FitKernelsArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string gpu;
  double largest_spread = 20;
  std::uint64_t seed = 1;
  bool skip_figures = false;
};

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows, std::uint64_t seed,
                             std::string_view what) {
  ProgressLine progress(TerminalProgress(), what);
  return calibrate::FitModels(rows, {.seed = seed}, [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), what);
  });
}

/// Evaluates models that have not seen a fifth of the shapes, for the card.
Result<std::vector<learn::DataCard::Figures>> HeldOutMetrics(
    const std::vector<kernel::Measurement>& rows, const calibrate::KernelSplitRule& rule) {
  ORRERY_TRY(const std::vector<calibrate::RowSplit> rounds, calibrate::SplitRows(rows, rule));
  ORRERY_TRY(const kernel::ModelSet models, Fit(rounds.front().train, rule.seed, "judging"));
  const std::vector<calibrate::EvaluatedOperator> evaluated =
      calibrate::EvaluateKernels(models, rounds.front().test);
  std::vector<learn::DataCard::Figures> figures;
  for (const calibrate::OperatorGroup& group :
       GroupsOf(evaluated, calibrate::GroupBy::kOperatorGpu)) {
    figures.push_back(
        {fmt::format("{} {} {}", group.gpu, kernel::TimingName(group.timing), group.operator_name),
         group.figures});
  }
  return figures;
}

Result<kernel::Measurements> ReadRows(const FitKernelsArguments& arguments) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(arguments.paths));
  const hardware::Gpu* only = nullptr;
  if (!arguments.gpu.empty()) {
    ORRERY_TRY(only, GpuNamed(arguments.gpu));
  }
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > arguments.largest_spread || (only != nullptr && row.gpu != only) ||
           row.is_sustained;
  });
  kernel::KeepFastestReplays(data.rows);
  return WithRows(std::move(data));
}

Result<int> FitKernels(const FitKernelsArguments& arguments) {
  ORRERY_TRY(const kernel::Measurements data, ReadRows(arguments));
  const calibrate::KernelSplitRule rule{.seed = arguments.seed};
  learn::ModelFile file;
  ORRERY_TRY(file.card.sources, SourcesOf(arguments.paths));
  ORRERY_TRY(const kernel::ModelSet models, Fit(data.rows, arguments.seed, "fitting"));
  if (!arguments.skip_figures) {
    ORRERY_TRY(file.card.figures, HeldOutMetrics(data.rows, rule));
  }
  file.card.title = "Times of operators on GPUs";
  file.card.rows = data.rows.size();
  file.card.split = "figures: " + rule.Text() + "; the models have learned from all rows";
  file.card.seed = arguments.seed;
  file.card.made_by = "orrery fit kernels";
  models.AddTo(file);
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, arguments.output));
  std::error_code ignored;
  Print(fmt::format(
      "{}: {} models from {} rows, {:.0f} kB\n", arguments.output, models.models().size(),
      data.rows.size(),
      static_cast<double>(std::filesystem::file_size(arguments.output, ignored)) / 1000));
  return NoticeRejected(data);
}

struct FitSiblingsArguments {
  std::vector<std::string> paths;
  std::string output;
  std::vector<std::string> gpus;
};

Result<kernel::Measurements> ReadSiblingRows(const FitSiblingsArguments& arguments) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(arguments.paths));
  std::vector<const hardware::Gpu*> chosen;
  for (const std::string& name : arguments.gpus) {
    ORRERY_TRY(chosen.emplace_back(), GpuNamed(name));
  }
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return !chosen.empty() && std::ranges::find(chosen, row.gpu) == chosen.end();
  });
  return data;
}

Result<int> FitSiblings(const FitSiblingsArguments& arguments) {
  ORRERY_TRY(const kernel::Measurements data, ReadSiblingRows(arguments));
  ORRERY_TRY(const kernel::ModelSet models, kernel::ShippedModels());
  kernel::SiblingLevels fitted;
  fitted.levels = calibrate::FitSiblingLevels(models, data.rows);
  if (fitted.levels.empty()) {
    return InvalidInput(
        "{}: fewer than {} rows of any operator on a GPU that models of other GPUs cover{}",
        arguments.paths.front(), calibrate::kFewestRowsOfLevel,
        data.rejected.empty() ? "" : "\n" + RejectedText(data.files, data.rejected));
  }
  for (const std::string& path : arguments.paths) {
    fitted.sources.push_back(std::filesystem::path(path).filename().string());
  }
  ORRERY_TRY_STATUS(WriteFile(arguments.output, kernel::SiblingLevelsText(fitted)));
  Print(fmt::format("{}: levels of {} operators from {} rows\n", arguments.output,
                    fitted.levels.size(), data.rows.size()));
  return NoticeRejected(data);
}

}  // namespace

void AddFitKernelsCommand(Verb& fit) {
  auto arguments = std::make_shared<FitKernelsArguments>();
  Verb verb = fit.AddVerb("kernels", "Times of operators, from measurements");
  verb.AddOption("DATA", arguments->paths,
                 "tables of `orrery measure kernels`, NeuSight or aiconfigurator")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "the model file to write").Required();
  verb.AddOption("--gpu NAME", arguments->gpu, "only rows of this GPU");
  verb.AddOption("--max-spread", arguments->largest_spread,
                 "leave out rows whose repeats differ by more than so many percent (20)")
      .Range(0.0, 1e6);
  verb.AddOption("--seed", arguments->seed, "of draws and splits (1)");
  verb.AddFlag("--no-figures", arguments->skip_figures,
               "do not evaluate a second fit on unseen shapes for the model's card");
  verb.OnRun([arguments] { return FitKernels(*arguments); });
}

void AddFitSiblingsCommand(Verb& fit) {
  auto arguments = std::make_shared<FitSiblingsArguments>();
  Verb verb = fit.AddVerb(
      "siblings", "Corrections for GPUs with few measurements, relative to models of other GPUs");
  verb.AddOption("DATA", arguments->paths, "tables as `orrery fit kernels` takes them").Required();
  verb.AddOption("-o,--output FILE", arguments->output, "the file to write").Required();
  verb.AddOption("--gpu NAME", arguments->gpus, "only rows of this GPU; may be repeated")
      .OneValueEach();
  verb.OnRun([arguments] { return FitSiblings(*arguments); });
}

}  // namespace orrery::cli
