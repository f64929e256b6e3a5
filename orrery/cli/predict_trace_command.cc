#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/predict_commands.h"
#include "orrery/cli/predict_output.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"
#include "orrery/simulate/engine.h"
#include "orrery/simulate/result_trace.h"
#include "orrery/simulate/step_figures.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/workload/call_tree.h"
#include "orrery/workload/host_model.h"
#include "orrery/workload/recorded.h"

namespace orrery::cli {
namespace {

struct PredictArguments {
  RunArguments run;
  std::string path;
  std::string gpu;
  std::string host;
  std::string output;
  int repetitions = 4;
  bool as_json = false;
};

Result<trace::Trace> ReadRank(const PredictArguments& arguments) {
  RunArguments one = arguments.run;
  one.paths = {arguments.path};
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(one));
  if (run.set.ranks.size() != 1) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {} ranks; give the file of one",
                                                        arguments.path, run.set.ranks.size()));
  }
  return std::move(run.set.ranks[0]);
}

Result<workload::HostModel> ReadHost(const PredictArguments& arguments) {
  ORRERY_TRY(const Table table, ReadCsvFile(arguments.host));
  auto model = workload::HostModelOf(table);
  if (!model) {
    return FailWithin(arguments.host, model);
  }
  return model;
}

Result<workload::RecordedProgram> ProgramOf(const PredictArguments& arguments,
                                            const trace::Trace& rank,
                                            const workload::HostModel& host,
                                            Prediction& prediction) {
  if (!rank.activities.empty() && !rank.host_ops.empty()) {
    const std::vector<workload::CallTree> steps = workload::RecordedSteps(rank);
    prediction.kernels = "as recorded";
    return workload::ProgramOfRecording(rank, steps[steps.size() / 2], host);
  }
  return Fail(Error::Kind::kUnsupported, fmt::format("{}: no recorded kernels", arguments.path));
}

Status Predict(const PredictArguments& arguments) {
  ORRERY_TRY(const trace::Trace rank, ReadRank(arguments));
  ORRERY_TRY(const workload::HostModel host, ReadHost(arguments));
  Prediction prediction{.path = arguments.path, .gpu = arguments.gpu, .host = arguments.host};
  ORRERY_TRY(const workload::RecordedProgram recorded,
             ProgramOf(arguments, rank, host, prediction));
  prediction.coverage = recorded.coverage;
  ORRERY_TRY(const simulate::Timeline timeline,
             simulate::Run(recorded.program, {.repetitions = arguments.repetitions}));
  prediction.figures = simulate::FiguresOf(recorded.program, timeline);
  if (!arguments.output.empty()) {
    trace::TraceSet set;
    set.ranks.push_back(simulate::ResultTrace(recorded.program, timeline, {.gpu = arguments.gpu}));
    ORRERY_TRY_STATUS(trace::WriteOrr(set, arguments.output, {.threads = arguments.run.threads}));
  }
  Print(arguments.as_json ? PredictionJson(prediction) : PredictionText(prediction));
  return {};
}

int RunPredict(const PredictArguments& arguments) {
  const Status status = Predict(arguments);
  return status ? kExitOk : PrintError(status.error());
}

}  // namespace

void AddPredictTraceCommand(CLI::App& predict, int& status) {
  auto arguments = std::make_shared<PredictArguments>();
  predict.add_option("TRACE", arguments->path, "execution trace or recording of one rank");
  predict.add_option("--gpu", arguments->gpu, "GPU to predict for")->type_name("NAME");
  predict.add_option("--host", arguments->host, "costs of the host, from `orrery fit host`")
      ->type_name("FILE");
  predict.add_option("--repetitions", arguments->repetitions, "how many steps to simulate")
      ->capture_default_str()
      ->check(CLI::Range(2, 1000));
  predict.add_flag("--json", arguments->as_json, "print one JSON document");
  predict.add_option("-o,--output", arguments->output, "write the predicted trace (.orr)")
      ->type_name("FILE");
  AddRunOptions(predict, arguments->run);
  predict.callback([arguments, &predict, &status] {
    if (predict.get_subcommands().empty()) {
      status = RunPredict(*arguments);
    }
  });
}

}  // namespace orrery::cli
