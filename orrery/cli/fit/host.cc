#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/table.h"
#include "orrery/calibrate/replay_calibration.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host_fit.h"
#include "orrery/workload/recorded/host_model.h"

namespace orrery::cli {
namespace {

struct FitHostArguments {
  RunArguments run;
  std::vector<std::string> without;
  std::vector<std::string> measured_kernels;
  std::string steps;
  std::optional<double> profiler_cost_us;
  std::string output;
};

/// A recording that was read, with the name that measured steps have for it.
struct Recording {
  std::string name;  // the file's, up to the first dot
  trace::Trace trace;
  bool is_left_out = false;
};

Result<Recording> ReadRecording(const FitHostArguments& arguments, const std::string& path) {
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments.run, {path}));
  if (run.set.ranks.size() != 1 || run.set.ranks[0].host_ops.empty() ||
      run.set.ranks[0].runtime_calls.empty()) {
    return InvalidInput("{}: no recording of one rank with operators and runtime calls", path);
  }
  const std::string file = std::filesystem::path(path).filename().string();
  Recording recording{.name = file.substr(0, file.find('.')), .trace = std::move(run.set.ranks[0])};
  recording.is_left_out =
      std::ranges::find(arguments.without, recording.name) != arguments.without.end();
  return recording;
}

Result<std::vector<Recording>> ReadRecordings(const FitHostArguments& arguments) {
  std::vector<Recording> recordings;
  for (const std::string& path : arguments.run.paths) {
    ORRERY_TRY(recordings.emplace_back(), ReadRecording(arguments, path));
  }
  for (const std::string& name : arguments.without) {
    if (std::ranges::find(recordings, name, &Recording::name) == recordings.end()) {
      return NotFound("--without {}: no such recording", name);
    }
  }
  return recordings;
}

// The steps of each recording: rows whose `name` is that of the recording.
Result<std::vector<std::vector<double>>> ReadSteps(const std::string& path,
                                                   const std::vector<Recording>& recordings) {
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  std::vector<std::vector<double>> steps_ms(recordings.size());
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const auto name = table.Text(row, "name");
    const auto step_ms = table.Number(row, "step_ms");
    const auto found = std::ranges::find(recordings, name, &Recording::name);
    if (found != recordings.end() && step_ms && *step_ms > 0 && !found->is_left_out) {
      steps_ms[static_cast<std::size_t>(found - recordings.begin())].push_back(*step_ms);
    }
  }
  if (std::ranges::all_of(steps_ms, &std::vector<double>::empty)) {
    return InvalidInput("{}: no row with 'name' and 'step_ms' for any of the recordings", path);
  }
  return steps_ms;
}

Result<std::vector<double>> ProfilerCostsNs(const FitHostArguments& arguments,
                                            const std::vector<Recording>& recordings) {
  if (arguments.profiler_cost_us) {
    return std::vector<double>(recordings.size(), *arguments.profiler_cost_us * 1000);
  }
  if (arguments.steps.empty()) {
    return InvalidInput(
        "the overhead of the profiler per event is not known: give --steps with measured steps, or "
        "--profiler-cost");
  }
  ORRERY_TRY(const auto steps_ms, ReadSteps(arguments.steps, recordings));
  std::vector<const trace::Trace*> traces;
  std::ranges::transform(recordings, std::back_inserter(traces),
                         [](const Recording& recording) { return &recording.trace; });
  return calibrate::ProfilerCosts(traces, steps_ms);
}

Status AddLaunches(const std::vector<std::string>& paths, workload::HostModel& model) {
  for (const std::string& path : paths) {
    ORRERY_TRY(const Table table, ReadCsvFile(path));
    const Result<std::int64_t> num_unknown = workload::AddMeasuredLaunches(table, model);
    if (!num_unknown) {
      return FailWithin(path, num_unknown);
    }
    if (*num_unknown > 0) {
      PrintNotice(
          fmt::format("{}: {} rows name operators that are not known here", path, *num_unknown));
    }
  }
  return {};
}

Result<int> FitHost(const FitHostArguments& arguments) {
  ORRERY_TRY(const std::vector<Recording> recordings, ReadRecordings(arguments));
  workload::HostFit fit;
  std::vector<std::size_t> without;
  for (const Recording& recording : recordings) {
    const std::size_t number = fit.Add(recording.trace);
    if (recording.is_left_out) {
      without.push_back(number);
    }
  }
  ORRERY_TRY(const std::vector<double> costs_ns, ProfilerCostsNs(arguments, recordings));
  const ProgressLine progress(TerminalProgress(), "fitting");
  workload::HostModel model = fit.Fit({.profiler_costs_ns = costs_ns, .without = without});
  ORRERY_TRY_STATUS(AddLaunches(arguments.measured_kernels, model));
  ORRERY_TRY_STATUS(WriteCsvFile(workload::HostTable(model), arguments.output));
  const std::size_t num_used = recordings.size() - without.size();
  Print(
      fmt::format("{}: {} entries from {} recording{}, {:.2f} µs of the profiler off each event "
                  "in the median\n",
                  arguments.output, model.entries().size(), num_used, num_used == 1 ? "" : "s",
                  model.profiler_cost_ns / 1000));
  return kExitOk;
}

}  // namespace

void AddFitHostCommand(Verb& fit) {
  auto arguments = std::make_shared<FitHostArguments>();
  Verb verb = fit.AddVerb("host", "CPU time of operators and launches, from recorded traces");
  verb.AddOption("TRACE", arguments->run.paths, "recordings with operators and runtime calls")
      .Required();
  verb.AddOption(
      "--steps FILE", arguments->steps,
      "CSV with columns name and step_ms, measured without the profiler, to find its overhead");
  verb.AddOption(
      "--kernels FILE", arguments->measured_kernels,
      "tables of `orrery measure kernels`: launch counts of operators that no recording has");
  verb.AddOption("--profiler-cost US", arguments->profiler_cost_us,
                 "overhead of the profiler per event, instead of --steps")
      .Range(0.0, 1e3);
  verb.AddOption("--without NAME", arguments->without,
                 "leave out the recording of this name; may be repeated")
      .OneValueEach();
  verb.AddOption("-o,--output", arguments->output, "file to write").Required();
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return FitHost(*arguments); });
}

}  // namespace orrery::cli
