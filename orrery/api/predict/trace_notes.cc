#include "orrery/api/predict/trace_notes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include <fmt/core.h>

#include "orrery/api/predict/trace_answer.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/data_loader.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::api {
namespace {

// Kernels launched by what the recording does not have. Those in front of the first launch of a
// stream were launched before it began, in steps that are not replayed.
void NoteKernelsWithoutLaunch(const trace::Trace& rank, Prediction& prediction) {
  std::map<RowId, std::int64_t> first_of_stream;
  for (RowId row = 0; row < rank.activities.size(); ++row) {
    if (rank.activities.launch[row] != kNoRow) {
      const std::int64_t begin_ns = rank.activities.begin_ns[row];
      std::int64_t& first_ns =
          first_of_stream.try_emplace(rank.activities.track[row], begin_ns).first->second;
      first_ns = std::min(first_ns, begin_ns);
    }
  }
  std::int64_t kernels = 0;
  std::int64_t lost_ns = 0;
  std::int64_t all_ns = 0;
  for (RowId row = 0; row < rank.activities.size(); ++row) {
    const auto first = first_of_stream.find(rank.activities.track[row]);
    const bool is_before =
        first != first_of_stream.end() && rank.activities.begin_ns[row] < first->second;
    const bool is_lost = rank.activities.launch[row] == kNoRow && !is_before;
    kernels += is_lost ? 1 : 0;
    lost_ns += is_lost ? rank.activities.duration_ns[row] : 0;
    all_ns += rank.activities.duration_ns[row];
  }
  if (lost_ns > 0) {
    prediction.not_modelled.push_back(fmt::format(
        "{} kernels and memcpys without a recorded launch, {:.1f} % of the recorded GPU time, are "
        "left out",
        kernels, 100 * static_cast<double>(lost_ns) / static_cast<double>(all_ns)));
  }
}

// Notes the assumption about parallel streams.
void NoteStreams(const workload::RecordedProgram& recorded, Prediction& prediction) {
  const workload::Program& program = recorded.program;
  const auto num_streams =
      std::count(program.lanes.kind.begin(), program.lanes.kind.end(), workload::LaneKind::kStream);
  if (num_streams < 2 || prediction.is_priced) {
    return;
  }
  if (!program.parts.empty()) {
    prediction.not_modelled.push_back(fmt::format(
        "kernels of {} streams share the multiprocessors in proportion to their blocks; what they "
        "take from each other of memory bandwidth and caches is left out",
        num_streams));
  }
  if (recorded.has_inferred_waits) {
    prediction.not_modelled.emplace_back(
        "the recording does not say for which events streams wait: each waits for all that was "
        "launched before, unless it ran beside it; profile with enable_cuda_sync_events to know");
  }
}

std::string Milliseconds(std::int64_t nanoseconds) {
  return fmt::format("{:.1f} ms", static_cast<double>(nanoseconds) * 1e-6);
}

// The profiler's time for a call of Python is not known, so it is not taken off.
void NoteStacks(const trace::Trace& rank, Prediction& prediction) {
  if (!prediction.is_priced && !rank.python_calls.empty()) {
    prediction.not_modelled.push_back(fmt::format(
        "the recording has Python's calls (with_stack), and the time of recording them is still in "
        "the {} of a step between operators; record without stacks",
        Milliseconds(std::llround(prediction.coverage.program_ns))));
  }
}

}  // namespace

void NoteRecomputation(const workload::HostModel& host, Prediction& prediction) {
  const auto* const cost = host.Find(workload::HostPart::kRecompute, workload::HostModel::kAll);
  if (prediction.coverage.recomputed > 0) {
    prediction.not_modelled.push_back(fmt::format(
        "{} operators are recomputed in the backward pass (activation checkpointing): the hooks "
        "around each are taken as {:.0f} µs of CPU time, as in other programs",
        prediction.coverage.recomputed, cost == nullptr ? 0.0 : cost->typical / 1000));
  }
}

void NoteLoader(const trace::Trace& rank, const workload::RecordedProgram& recorded,
                Prediction& prediction) {
  if (prediction.is_priced && workload::HasDataLoader(rank)) {
    prediction.is_lower_bound = true;
    prediction.not_modelled.emplace_back(
        "the program takes batches from a DataLoader, and how long it waits for one is not in an "
        "execution trace: the step is at least as long as predicted; predict from a recording");
  }
  if (recorded.loader) {
    prediction.loader_batch_s = static_cast<double>(recorded.loader->batch_ns) * 1e-9;
    prediction.loader_error = recorded.loader->relative_error;
    prediction.not_modelled.push_back(fmt::format(
        "the program waits for its DataLoader, as recorded: a batch comes every {}, of which the "
        "program waited {}",
        Milliseconds(recorded.loader->batch_ns), Milliseconds(recorded.loader->waited_ns)));
  }
}

void NoteUnseenLoader(const trace::Trace& rank, const workload::RecordedProgram& recorded,
                      Prediction& prediction) {
  if (prediction.is_priced || recorded.loader) {
    return;
  }
  constexpr double kClearlyLonger = 1.1;
  const std::int64_t batch_ns = workload::RecordedBatchNs(rank);
  const std::int64_t step_ns = prediction.figures.step_ps / 1000;
  if (static_cast<double>(batch_ns) < kClearlyLonger * static_cast<double>(step_ns)) {
    return;
  }
  prediction.most_batch_s = static_cast<double>(batch_ns) * 1e-9;
  prediction.not_modelled.push_back(fmt::format(
      "the program takes batches from a DataLoader that kept up with recorded steps of {}; whether "
      "it makes one every {} is not in the recording, and the interval reaches to that step",
      Milliseconds(batch_ns), Milliseconds(step_ns)));
}

void NoteGaps(const trace::Trace& rank, const workload::RecordedProgram& recorded,
              Prediction& prediction) {
  if (!prediction.is_priced) {
    NoteKernelsWithoutLaunch(rank, prediction);
  }
  NoteStacks(rank, prediction);
  if (prediction.is_priced && !rank.collectives.empty()) {
    prediction.not_modelled.push_back(
        fmt::format("{} collectives take no time", rank.collectives.size()));
  }
  NoteStreams(recorded, prediction);
}

}  // namespace orrery::api
