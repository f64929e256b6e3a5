#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/jitter_fit.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::cli {
namespace {

struct FitJitterArguments {
  std::string path;
  std::string output;
};

std::string StallText(const simulate::JitterModel& model) {
  if (model.stalls_per_gpu_s == 0) {
    return "stalls: none";
  }
  constexpr double kSecondsOfHour = 3600;
  return fmt::format(
      "stalls: one in {:.2g} GPU-hours, median {:.2g} s, one in a hundred above {:.2g} s, none "
      "above {:.2g} s",
      1 / (kSecondsOfHour * model.stalls_per_gpu_s), model.StallQuantile(0.5),
      model.StallQuantile(0.99), model.longest_stall_s);
}

std::string FitText(const calibrate::RecordedStepTable& table, const simulate::JitterModel& model) {
  return fmt::format(
      "{} records; not used: {} at the beginning of runs, {} at their end, {} of runs or windows "
      "with too few\n"
      "{} systems of {} submitters, {} to {} GPUs ({})\n"
      "body: one step varies by {:.2g} % (sigma), the mean of 32 by {:.2g} %; systems differ by a "
      "factor of {:.1f} (one deviation)\n"
      "{}\n",
      table.records, table.in_warm_up, table.at_the_end, table.in_small_groups, model.systems,
      model.submitters, model.least_gpus, model.most_gpus, fmt::join(model.gpus, ", "),
      100 * model.step_sigma, 100 * model.WindowSigma(32), std::exp(model.sigma_deviation),
      StallText(model));
}

Result<int> FitJitter(const FitJitterArguments& arguments) {
  ORRERY_TRY(const calibrate::RecordedStepTable table,
             calibrate::ReadRecordedSteps(arguments.path));
  ORRERY_TRY(const simulate::JitterModel model, calibrate::FitJitter(table.groups));
  Print(FitText(table, model));
  if (!arguments.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(arguments.output, simulate::JitterText(model)));
  }
  return kExitOk;
}

}  // namespace

void AddFitJitterCommand(Verb& fit) {
  auto arguments = std::make_shared<FitJitterArguments>();
  Verb verb = fit.AddVerb("jitter", "How the times of healthy steps vary, from logged steps");
  verb.AddOption("STEPS", arguments->path, "table of logged steps; docs/formats/recorded-steps.md")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "write the constants to this file");
  verb.OnRun([arguments] { return FitJitter(*arguments); });
}

}  // namespace orrery::cli
