#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/session_state.h"
#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/interval_calibration.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::cli {
namespace {

struct FitFrameworksArguments {
  std::vector<std::string> paths;
  std::string output;
  std::string without_stack;
  std::string without_team;
  simulate::SimulationOptions engine;
};

std::string FitText(const calibrate::FrameworkFit& fit) {
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
  calibrate::FrameworkFitOptions options;
  options.engine = arguments.engine;
  ORRERY_TRY_STATUS(ProgramSession().state().SetOverlapModel(options.engine));
  ProgressLine progress(TerminalProgress(), "fitting");
  std::int64_t done = 0;
  options.progress = [&](const std::string& text) { progress.Update(++done, 0, text); };
  calibrate::FrameworkFitting fitting(tables, models, options);
  const calibrate::LeftOut left_out{arguments.without_stack, arguments.without_team};
  const calibrate::PopulationFit fit = fitting.FitWithout(left_out);
  const simulate::StepIntervals intervals =
      calibrate::CalibrateIntervals(fitting.Residuals(left_out));
  progress.Clear();
  if (fit.frameworks.empty()) {
    return InvalidInput(
        "{}: no row of grade A or A- that can be simulated names a framework of "
        "the catalogue",
        arguments.paths.front());
  }
  for (const calibrate::FrameworkFit& one : fit.frameworks) {
    Print(FitText(one));
  }
  if (!arguments.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(arguments.output, calibrate::FitsText(fit, intervals)));
  }
  return kExitOk;
}

}  // namespace

void AddFitFrameworksCommand(Verb& fit) {
  auto arguments = std::make_shared<FitFrameworksArguments>();
  Verb verb = fit.AddVerb(
      "frameworks",
      "Efficiency of frameworks relative to isolated kernels and collectives, from published runs");
  verb.AddOption("TABLE", arguments->paths,
                 "tables of published runs; docs/formats/published-runs.md")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "write the scalars to this file");
  verb.AddOption("--without-stack NAME", arguments->without_stack,
                 "leave out the rows of this stack (data/workload/stacks.yaml)");
  verb.AddOption("--without-team NAME", arguments->without_team, "leave out the rows of this team");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.OnRun([arguments] { return FitFrameworks(*arguments); });
}

}  // namespace orrery::cli
