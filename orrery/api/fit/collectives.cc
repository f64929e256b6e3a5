#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/calibrate/collectives/calibration.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"

namespace orrery::api {
namespace {

FitBound BoundOf(collective::Constant constant, const collective::MachineModel& model) {
  const collective::ConstantInfo& info = collective::InfoOf(constant);
  return {.constant = std::string(info.name),
          .least = info.least,
          .most = info.most,
          .value = model.constants[constant]};
}

FitOutlier OutlierOf(const calibrate::CollectiveOutlier& outlier,
                     const std::vector<std::string>& files) {
  const collective::Measurement& row = *outlier.row;
  return {.file = files[row.file],
          .line = row.line,
          .collective = std::string(CollectiveKindName(row.request.kind)),
          .bytes = row.request.size.count,
          .gpus = row.gpus,
          .measured_s = row.seconds,
          .fitted_s = outlier.predicted_seconds};
}

FittedMachine MachineOf(const calibrate::MachineCalibration& calibration,
                        const std::vector<std::string>& files) {
  const collective::MachineModel& model = calibration.model;
  FittedMachine machine{.machine = model.machine,
                        .source = model.source,
                        .setup = model.setup,
                        .rows = static_cast<std::int64_t>(model.rows),
                        .most_gpus = model.most_gpus,
                        .nccl_version = model.nccl_version,
                        .version_told = model.was_version_told,
                        .settings = model.assumed_settings,
                        .machines_of_class = model.machines_of_class,
                        .mape = calibration.all.mape,
                        .median = calibration.all.median};
  for (const collective::Constant constant : model.fitted) {
    machine.constants.emplace_back(collective::InfoOf(constant).name, model.constants[constant]);
  }
  for (const collective::Constant constant : calibration.at_bounds) {
    machine.at_bounds.push_back(BoundOf(constant, model));
  }
  if (calibration.large.rows > 0) {
    machine.large_mape = calibration.large.mape;
  }
  for (const calibrate::CollectiveOutlier& outlier : calibration.outliers) {
    machine.outliers.push_back(OutlierOf(outlier, files));
  }
  return machine;
}

/// Fits all classes of machines: adds them to `result`, and their models to `models`.
void FitMachines(const collective::Measurements& data, const FitCollectivesRequest& request,
                 collective::MachineModels& models, FitCollectivesResult& result) {
  const std::vector<calibrate::MachineClass> classes = calibrate::ClassesOf(data.rows);
  for (const calibrate::MachineClass& machines : classes) {
    ThrowIfStopped();
    const collective::Measurement& first = *machines.front().front();
    if (request.call.progress) {
      request.call.progress(static_cast<std::int64_t>(models.all().size()), 0, first.machine());
    }
    const Result<std::vector<calibrate::MachineCalibration>> calibrations =
        calibrate::CalibrateMachineClass(machines, classes.size() == 1);
    if (!calibrations) {
      result.skipped.push_back(fmt::format("{} by {}: {}", first.machine(), first.source,
                                           calibrations.error().message()));
      continue;
    }
    for (const calibrate::MachineCalibration& calibration : *calibrations) {
      result.machines.push_back(MachineOf(calibration, data.files));
      // The fit of a constant at a bound failed: the rows do not identify it.
      result.is_partial = result.is_partial || !calibration.at_bounds.empty();
      models.Add(calibration.model);
    }
  }
}

// Each line ends, so that lines of rows can follow.
std::string SkippedText(const FitCollectivesResult& result) {
  return result.skipped.empty() ? "" : fmt::format("{}\n", fmt::join(result.skipped, "\n"));
}

void AddNotices(const collective::Measurements& data, const FitCollectivesRequest& request,
                FitCollectivesResult& result) {
  if (data.without_gpu > 0) {
    result.notices.push_back(
        fmt::format("{} rows do not name their GPU and count as measured on '{}'", data.without_gpu,
                    request.cluster));
  }
  if (!result.skipped.empty() || !data.rejected.empty()) {
    result.notices.push_back(fmt::format("not used:\n{}{}", SkippedText(result),
                                         RejectedText(data.files, data.rejected)));
    result.is_partial = true;
  }
}

Result<FitCollectivesResult> Run(const FitCollectivesRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY_STATUS(CheckOutput(request.output));
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(request.paths, request.cluster));
  FitCollectivesResult result{.output = request.output,
                              .rejected_rows = static_cast<std::int64_t>(data.rejected.size()),
                              .rows_without_gpu = static_cast<std::int64_t>(data.without_gpu)};
  collective::MachineModels models;
  FitMachines(data, request, models, result);
  if (models.all().empty()) {
    return Fail(Error::Kind::kInvalidInput, "no machine has enough rows\n" + SkippedText(result));
  }
  ORRERY_TRY_STATUS(WriteFile(request.output, models.Text()));
  AddNotices(data, request, result);
  return result;
}

}  // namespace

Result<FitCollectivesResult> FitCollectives(const Session& /*session*/,
                                            const FitCollectivesRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
