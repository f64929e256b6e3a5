#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/replay_calibration.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::api {
namespace {

/// A recording that was read, with the name that measured steps have for it.
struct Recording {
  std::string name;  // the file's, up to the first dot
  trace::Trace trace;
  bool is_left_out = false;
};

Result<Recording> ReadRecording(const FitHostRequest& request, const std::string& path) {
  RunInput input = request.run;
  input.paths = {path};
  request.call.Report("reading " + path);
  ORRERY_TRY(ingest::Run run, ReadRun(input, request.call.progress));
  if (run.set.ranks.size() != 1 || run.set.ranks[0].host_ops.empty() ||
      run.set.ranks[0].runtime_calls.empty()) {
    return InvalidInput("{}: no recording of one rank with operators and runtime calls", path);
  }
  const std::string file = std::filesystem::path(path).filename().string();
  Recording recording{.name = file.substr(0, file.find('.')), .trace = std::move(run.set.ranks[0])};
  recording.is_left_out =
      std::ranges::find(request.without, recording.name) != request.without.end();
  return recording;
}

Result<std::vector<Recording>> ReadRecordings(const FitHostRequest& request) {
  std::vector<Recording> recordings;
  for (const std::string& path : request.paths) {
    ORRERY_TRY(recordings.emplace_back(), ReadRecording(request, path));
  }
  for (const std::string& name : request.without) {
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

Result<std::vector<double>> ProfilerCostsNs(const FitHostRequest& request,
                                            const std::vector<Recording>& recordings) {
  if (request.profiler_cost_us) {
    return std::vector<double>(recordings.size(), *request.profiler_cost_us * 1000);
  }
  if (request.steps.empty()) {
    return InvalidInput(
        "the overhead of the profiler per event is not known: give --steps with measured steps, or "
        "--profiler-cost");
  }
  ORRERY_TRY(const auto steps_ms, ReadSteps(request.steps, recordings));
  std::vector<const trace::Trace*> traces;
  std::ranges::transform(recordings, std::back_inserter(traces),
                         [](const Recording& recording) { return &recording.trace; });
  return calibrate::ProfilerCosts(traces, steps_ms);
}

Status AddLaunches(const std::vector<std::string>& paths, workload::HostModel& model,
                   std::vector<std::string>& notices) {
  for (const std::string& path : paths) {
    ORRERY_TRY(const Table table, ReadCsvFile(path));
    const Result<std::int64_t> num_unknown = workload::AddMeasuredLaunches(table, model);
    if (!num_unknown) {
      return FailWithin(path, num_unknown);
    }
    if (*num_unknown > 0) {
      notices.push_back(
          fmt::format("{}: {} rows name operators that are not known here", path, *num_unknown));
    }
  }
  return {};
}

Result<FitHostResult> Run(const FitHostRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY_STATUS(CheckOutput(request.output));
  ORRERY_TRY(const std::vector<Recording> recordings, ReadRecordings(request));
  workload::HostFit fit;
  std::vector<std::size_t> without;
  for (const Recording& recording : recordings) {
    const std::size_t number = fit.Add(recording.trace);
    if (recording.is_left_out) {
      without.push_back(number);
    }
  }
  ORRERY_TRY(const std::vector<double> costs_ns, ProfilerCostsNs(request, recordings));
  request.call.Report("fitting");
  workload::HostModel model = fit.Fit({.profiler_costs_ns = costs_ns, .without = without});
  FitHostResult result{.output = request.output,
                       .recordings = static_cast<std::int64_t>(recordings.size() - without.size())};
  ORRERY_TRY_STATUS(AddLaunches(request.measured_kernels, model, result.notices));
  ORRERY_TRY_STATUS(WriteCsvFile(workload::HostTable(model), request.output));
  result.entries = static_cast<std::int64_t>(model.entries().size());
  result.profiler_cost_us = model.profiler_cost_ns / 1000;
  return result;
}

}  // namespace

Result<FitHostResult> FitHost(const Session& /*session*/, const FitHostRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
