#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/visible_text.h"
#include "orrery/calibrate/collectives/calibration.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kNamedOutliers = 20;

struct FitCollectivesArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string cluster;
};

std::string ConstantsText(const collective::MachineModel& model) {
  std::string text;
  for (const collective::Constant constant : model.fitted) {
    text += fmt::format("  {:<24}{:.4g}\n", collective::InfoOf(constant).name,
                        model.constants[constant]);
  }
  return text;
}

std::string OutlierText(const collective::Measurements& data,
                        const std::vector<calibrate::CollectiveOutlier>& outliers) {
  std::string text;
  for (std::size_t i = 0; i < std::min(outliers.size(), kNamedOutliers); ++i) {
    const collective::Measurement& row = *outliers[i].row;
    const std::string line = row.line == 0 ? "" : fmt::format(":{}", row.line);
    text += fmt::format("  {}{}: {} of {} bytes on {} GPUs: {:.1f} us, the fit says {:.1f}\n",
                        data.files[row.file], line, CollectiveKindName(row.request.kind),
                        row.request.size.count, row.gpus, row.seconds * 1e6,
                        outliers[i].predicted_seconds * 1e6);
  }
  if (outliers.size() > kNamedOutliers) {
    text += fmt::format("  … and {} more\n", outliers.size() - kNamedOutliers);
  }
  return text;
}

std::string CalibrationText(const collective::Measurements& data,
                            const calibrate::MachineCalibration& calibration) {
  const collective::MachineModel& model = calibration.model;
  const std::string assumed =
      model.assumed_settings.empty() ? "" : "; " + model.assumed_settings + " assumed";
  std::string text =
      fmt::format("{} by {} ({}): {} rows, up to {} GPUs; tuner of NCCL {}, {}{}\n", model.machine,
                  model.source, model.setup, model.rows, model.most_gpus, model.nccl_version,
                  model.was_version_told ? "told" : "fits best", assumed);
  if (model.machines_of_class > 1) {
    text += fmt::format("  constants shared with {} other machines of its class\n",
                        model.machines_of_class - 1);
  }
  text += ConstantsText(model);
  for (const collective::Constant constant : calibration.at_bounds) {
    text += fmt::format(
        "  {}: the rows drive it to a bound ({:g} to {:g}), so it keeps its prior, {:.4g}\n",
        collective::InfoOf(constant).name, collective::InfoOf(constant).least,
        collective::InfoOf(constant).most, model.constants[constant]);
  }
  text += fmt::format("  error in sample         MAPE {:.1f} %, median {:.1f} %",
                      calibration.all.mape, calibration.all.median);
  if (calibration.large.rows > 0) {
    text += fmt::format("; from 4 MB: MAPE {:.1f} %", calibration.large.mape);
  }
  text += fmt::format("\n  off by more than 30 %   {} of {} rows\n", calibration.outliers.size(),
                      model.rows);
  return text + OutlierText(data, calibration.outliers) + "\n";
}

Result<int> FitCollectives(const FitCollectivesArguments& arguments) {
  ORRERY_TRY(const collective::Measurements data,
             ReadMeasuredCollectives(arguments.paths, arguments.cluster));
  collective::MachineModels models;
  std::string skipped;
  bool is_any_at_bound = false;  // that constant's fit failed: rows do not identify it
  ProgressLine progress(TerminalProgress(), "fitting");
  const std::vector<calibrate::MachineClass> classes = calibrate::ClassesOf(data.rows);
  for (const calibrate::MachineClass& machines : classes) {
    const collective::Measurement& first = *machines.front().front();
    progress.Update(static_cast<std::int64_t>(models.all().size()), 0, first.machine());
    const Result<std::vector<calibrate::MachineCalibration>> calibrations =
        calibrate::CalibrateMachineClass(machines, classes.size() == 1);
    if (!calibrations) {
      skipped += fmt::format("{} by {}: {}\n", first.machine(), first.source,
                             calibrations.error().message());
      continue;
    }
    progress.Clear();
    for (const calibrate::MachineCalibration& calibration : *calibrations) {
      is_any_at_bound = is_any_at_bound || !calibration.at_bounds.empty();
      Print(VisibleText(CalibrationText(data, calibration)));
      models.Add(calibration.model);
    }
  }
  if (models.all().empty()) {
    return Fail(Error::Kind::kInvalidInput, "no machine has enough rows\n" + skipped);
  }
  ORRERY_TRY_STATUS(WriteFile(arguments.output, models.Text()));
  Print(fmt::format("{}: {} machines\n", arguments.output, models.all().size()));
  if (!skipped.empty() || !data.rejected.empty()) {
    PrintNotice(fmt::format("not used:\n{}{}", skipped, RejectedText(data.files, data.rejected)));
    return kExitPartial;
  }
  return is_any_at_bound ? kExitPartial : kExitOk;
}

}  // namespace

void AddFitCollectivesCommand(Verb& fit) {
  auto arguments = std::make_shared<FitCollectivesArguments>();
  Verb verb = fit.AddVerb("collectives", "Constants of machines, from measured collectives");
  verb.AddOption("DATA", arguments->paths,
                 "nccl-tests logs or tables; docs/formats/measured-collectives.md")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "the model file to write").Required();
  verb.AddOption("--cluster NAME", arguments->cluster,
                 "the machine, where the data do not name it");
  verb.OnRun([arguments] { return FitCollectives(*arguments); });
}

}  // namespace orrery::cli
