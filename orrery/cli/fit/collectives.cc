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
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/framework_fit.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/run_table.h"

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
                        const std::vector<collective::Outlier>& outliers) {
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
                            const collective::Calibration& calibration) {
  const collective::MachineModel& model = calibration.model;
  const std::string assumed =
      model.assumed_settings.empty() ? "" : "; " + model.assumed_settings + " assumed";
  std::string text =
      fmt::format("{} by {} ({}): {} rows, up to {} GPUs; tuner of NCCL {}, {}{}\n", model.machine,
                  model.source, model.setup, model.rows, model.most_gpus, model.nccl_version,
                  model.was_version_told ? "told" : "fits best", assumed);
  text += ConstantsText(model);
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
             ReadCollectives(arguments.paths, arguments.cluster));
  collective::MachineModels models;
  std::string skipped;
  ProgressLine progress(TerminalProgress(), "fitting");
  for (const std::vector<const collective::Measurement*>& group :
       collective::GroupByMachine(data.rows)) {
    progress.Update(static_cast<std::int64_t>(models.all().size()), 0, group.front()->machine());
    const Result<collective::Calibration> calibration = collective::Calibrate(group);
    if (!calibration) {
      skipped += fmt::format("{} by {}: {}\n", group.front()->machine(), group.front()->source,
                             calibration.error().message());
      continue;
    }
    progress.Clear();
    Print(VisibleText(CalibrationText(data, *calibration)));
    models.Add(calibration->model);
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
  return kExitOk;
}

struct FitFrameworksArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string without_team;
  simulate::SimulationOptions engine;
};

std::string FitText(const simulate::FrameworkFit& fit) {
  std::string text = fmt::format(
      "{}: {} rows, mean error {:.1f} % with the population's mean, {:.1f} % with the fit\n",
      fit.framework.name, fit.rows, 100 * fit.error_before, 100 * fit.error_after);
  for (const workload::FittedScalar& scalar : workload::FittedScalars()) {
    text += fmt::format("  {:<22}{:.4g}\n", scalar.key, fit.framework.*scalar.member);
  }
  return text;
}

Result<int> FitFrameworks(const FitFrameworksArguments& arguments) {
  std::vector<std::unique_ptr<workload::RunTable>> opened;
  std::vector<const workload::RunTable*> tables;
  for (const std::string& path : arguments.paths) {
    ORRERY_TRY(opened.emplace_back(), workload::OpenRunTable(path));
    tables.push_back(opened.back().get());
  }
  ORRERY_TRY(const kernel::ModelSet models, kernel::ShippedModels());
  simulate::FrameworkFitOptions options;
  options.engine = arguments.engine;
  ORRERY_TRY(const std::shared_ptr<const overlap::Model> overlap_model,
             LoadOverlapModel(options.engine));
  ProgressLine progress(TerminalProgress(), "fitting");
  std::int64_t done = 0;
  options.progress = [&](const std::string& text) { progress.Update(++done, 0, text); };
  simulate::FrameworkFitting fitting(tables, models, options);
  fitting.Run();
  const simulate::PopulationFit fit = fitting.Solve(arguments.without_team);
  progress.Clear();
  if (fit.frameworks.empty()) {
    return InvalidInput(
        "{}: no row of grade A or A- that can be simulated names a framework of "
        "the catalogue",
        arguments.paths.front());
  }
  for (const simulate::FrameworkFit& one : fit.frameworks) {
    Print(FitText(one));
  }
  if (!arguments.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(arguments.output, simulate::FitsText(fit)));
  }
  return kExitOk;
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

void AddFitFrameworksCommand(Verb& fit) {
  auto arguments = std::make_shared<FitFrameworksArguments>();
  Verb verb = fit.AddVerb(
      "frameworks",
      "Efficiency of frameworks relative to isolated kernels and collectives, from published runs");
  verb.AddOption("TABLE", arguments->paths,
                 "tables of published runs; docs/formats/published-runs.md")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "write the scalars to this file");
  verb.AddOption("--without-team NAME", arguments->without_team, "leave out the rows of this team");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.OnRun([arguments] { return FitFrameworks(*arguments); });
}

}  // namespace orrery::cli
