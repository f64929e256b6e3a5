#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
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
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
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

struct FittedKernels {
  kernel::Measurements data;
  kernel::ModelSet models;
  learn::DataCard card;  // of all models, without sources and sections
};

Result<FittedKernels> FitAndJudge(const FitKernelsArguments& arguments) {
  FittedKernels fitted;
  ORRERY_TRY(fitted.data, ReadRows(arguments));
  const calibrate::KernelSplitRule rule{.seed = arguments.seed};
  ORRERY_TRY(fitted.models, Fit(fitted.data.rows, arguments.seed, "fitting"));
  if (!arguments.skip_figures) {
    ORRERY_TRY(fitted.card.figures, HeldOutMetrics(fitted.data.rows, rule));
  }
  fitted.card.title = "Times of operators on GPUs";
  fitted.card.rows = fitted.data.rows.size();
  fitted.card.split = "metrics: " + rule.Text() + "; the models have learned from all rows";
  fitted.card.seed = arguments.seed;
  fitted.card.made_by = "orrery fit kernels";
  return fitted;
}

/// The card of the models of one operator: only files with rows of it, so that a refit with one
/// more table changes only the operators that the table has.
Result<learn::DataCard> CardOfKind(const FittedKernels& fitted, kernel::OperatorKind kind) {
  learn::DataCard card = fitted.card;
  std::set<std::uint32_t> files;
  card.rows = 0;
  for (const kernel::Measurement& row : fitted.data.rows) {
    if (row.op.kind() == kind) {
      files.insert(row.file);
      ++card.rows;
    }
  }
  std::vector<std::string> paths;
  for (const std::uint32_t file : files) {
    paths.push_back(fitted.data.files[file]);
  }
  ORRERY_TRY(card.sources, SourcesOf(paths));
  const std::string ending = fmt::format(" {}", SchemaOf(kind).name);
  std::erase_if(card.figures, [&](const learn::DataCard::Figures& figures) {
    return !figures.name.ends_with(ending);
  });
  return card;
}

/// Writes one file for each operator into a folder.
Result<std::vector<std::string>> WriteByKind(const FittedKernels& fitted,
                                             const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return InvalidInput("{}: cannot create the folder: {}", folder, error.message());
  }
  std::set<kernel::OperatorKind> kinds;
  for (const kernel::EfficiencyModel& model : fitted.models.models()) {
    kinds.insert(model.domain().kind);
  }
  std::vector<std::string> paths;
  for (const kernel::OperatorKind kind : kinds) {
    learn::ModelFile file;
    ORRERY_TRY(file.card, CardOfKind(fitted, kind));
    fitted.models.AddTo(file, kind);
    paths.push_back(
        (std::filesystem::path(folder) / fmt::format("{}.orrmodel", SchemaOf(kind).name)).string());
    ORRERY_TRY_STATUS(learn::WriteModelFile(file, paths.back()));
  }
  return paths;
}

Result<std::vector<std::string>> WriteModels(const FittedKernels& fitted,
                                             const FitKernelsArguments& arguments) {
  std::error_code error;
  if (arguments.output.ends_with('/') || std::filesystem::is_directory(arguments.output, error)) {
    return WriteByKind(fitted, arguments.output);
  }
  learn::ModelFile file{.card = fitted.card};
  ORRERY_TRY(file.card.sources, SourcesOf(arguments.paths));
  fitted.models.AddTo(file);
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, arguments.output));
  return std::vector{arguments.output};
}

double TotalBytes(const std::vector<std::string>& paths) {
  double bytes = 0;
  for (const std::string& path : paths) {
    std::error_code ignored;
    bytes += static_cast<double>(std::filesystem::file_size(path, ignored));
  }
  return bytes;
}

Result<int> FitKernels(const FitKernelsArguments& arguments) {
  ORRERY_TRY(const FittedKernels fitted, FitAndJudge(arguments));
  ORRERY_TRY(const std::vector<std::string> paths, WriteModels(fitted, arguments));
  Print(fmt::format("{}: {} models from {} rows, {:.0f} kB\n", arguments.output,
                    fitted.models.models().size(), fitted.data.rows.size(),
                    TotalBytes(paths) / 1000));
  return NoticeRejected(fitted.data);
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
  verb.AddOption("-o,--output FILE", arguments->output,
                 "the model file to write, or a folder (an ending /) for one file per operator")
      .Required();
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
