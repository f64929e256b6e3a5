#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/call.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/model_file.h"

namespace orrery::api {
namespace {

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows,
                             const FitKernelsRequest& request, std::string_view what) {
  const CallOptions& call = request.call;
  call.Report(what);
  return calibrate::FitModels(
      rows, {.seed = request.seed}, [&](std::size_t done, std::size_t total) {
        if (call.progress) {
          call.progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), what);
        }
      });
}

/// Evaluates models that have not seen a fifth of the shapes, for the card.
Result<std::vector<learn::DataCard::Figures>> HeldOutMetrics(
    const std::vector<kernel::Measurement>& rows, const calibrate::KernelSplitRule& rule,
    const FitKernelsRequest& request) {
  ORRERY_TRY(const std::vector<calibrate::RowSplit> rounds, calibrate::SplitRows(rows, rule));
  ORRERY_TRY(const kernel::ModelSet models, Fit(rounds.front().train, request, "judging"));
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

Result<kernel::Measurements> ReadRows(const FitKernelsRequest& request) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(request.paths));
  const hardware::Gpu* only = nullptr;
  if (!request.gpu.empty()) {
    ORRERY_TRY(only, GpuNamed(request.gpu));
  }
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > request.max_spread || (only != nullptr && row.gpu != only) ||
           row.is_sustained;
  });
  kernel::KeepFastest(data.rows);
  return WithRows(std::move(data));
}

struct FittedKernels {
  kernel::Measurements data;
  kernel::ModelSet models;
  learn::DataCard card;  // of all models, without sources and sections
};

Result<FittedKernels> FitAndJudge(const FitKernelsRequest& request) {
  FittedKernels fitted;
  ORRERY_TRY(fitted.data, ReadRows(request));
  const calibrate::KernelSplitRule rule{.seed = request.seed};
  ORRERY_TRY(fitted.models, Fit(fitted.data.rows, request, "fitting"));
  if (!request.no_figures) {
    ORRERY_TRY(fitted.card.figures, HeldOutMetrics(fitted.data.rows, rule, request));
  }
  fitted.card.title = "Times of operators on GPUs";
  fitted.card.rows = fitted.data.rows.size();
  fitted.card.split = "metrics: " + rule.Text() + "; the models have learned from all rows";
  fitted.card.seed = request.seed;
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
                                             const FitKernelsRequest& request) {
  std::error_code error;
  if (request.output.ends_with('/') || std::filesystem::is_directory(request.output, error)) {
    return WriteByKind(fitted, request.output);
  }
  learn::ModelFile file{.card = fitted.card};
  ORRERY_TRY(file.card.sources, SourcesOf(request.paths));
  fitted.models.AddTo(file);
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, request.output));
  return std::vector{request.output};
}

double TotalBytes(const std::vector<std::string>& paths) {
  double bytes = 0;
  for (const std::string& path : paths) {
    std::error_code ignored;
    bytes += static_cast<double>(std::filesystem::file_size(path, ignored));
  }
  return bytes;
}

Result<FitKernelsResult> Run(const FitKernelsRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY_STATUS(CheckOutput(request.output));
  ORRERY_TRY(const FittedKernels fitted, FitAndJudge(request));
  FitKernelsResult result{.output = request.output,
                          .models = static_cast<std::int64_t>(fitted.models.models().size()),
                          .rows = static_cast<std::int64_t>(fitted.data.rows.size())};
  ORRERY_TRY(result.files, WriteModels(fitted, request));
  result.bytes = TotalBytes(result.files);
  NoteRejected(fitted.data, result);
  return result;
}

}  // namespace

Result<FitKernelsResult> FitKernels(const Session& /*session*/, const FitKernelsRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
