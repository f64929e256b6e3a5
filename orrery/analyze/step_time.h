#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

struct RankSteps {
  std::int32_t rank = 0;
  std::vector<double> seconds = {};  // of each selected marker
};

struct StepTime {
  std::optional<double> seconds = {};  // mean over markers, then over ranks
  bool is_estimated = false;           // from the recorded span and the card
  std::vector<RankSteps> ranks = {};
};

/// Returns the step time of a run: what every screen, metric and comparison calls so.
[[nodiscard]] StepTime MeasureStepTime(const RunView& run);

/// The time by which a run is known: its step time, or its span where it has no steps.
struct RunTime {
  std::string_view name;        // "step time", "recorded span"
  std::string_view definition;  // a phrase
  double seconds = 0;           // above 0
  bool is_step = false;
};

/// Returns it; nothing where nothing has a time.
[[nodiscard]] std::optional<RunTime> MeasureRunTime(const RunView& run);

/// The definition of exposed communication that every view shows; its seconds are the metric
/// `exposed_comm_time`.
inline constexpr std::string_view kExposedCommunication =
    "communication runs, waiting for other ranks included, and no compute kernel does; mean over "
    "GPUs";

/// Returns the recorded span: the time between the first begin and the last end of device
/// activities over all ranks; of host events where nothing ran on a device.
[[nodiscard]] Interval RecordedTime(const RunView& run, bool& is_device_time);

/// The work of an inference server's engine step, from the marker's name.
struct EngineStep {
  std::int64_t context_tokens = 0;    // of prompts
  std::int64_t generated_tokens = 0;  // one for each sequence that is being answered
  std::int64_t num_prompts = 0;
};

/// Reads vLLM's marker names: "execute_<tokens>_context_<prompts>(…)_generation_<sequences>(…)" and
/// the older "execute_context_<prompts>(<tokens>)_generation_<sequences>(<tokens>)". Nothing for
/// other names.
[[nodiscard]] std::optional<EngineStep> ParseEngineStep(std::string_view name);

[[nodiscard]] const Table* FindTable(const RunView& run, std::string_view format);

/// The division of the group's window of one step on one stage of a pipeline.
struct StageTime {
  std::int32_t rank = 0;
  std::int64_t window_ns = 0;    // of the whole pipeline group, at most that of the step's marker
  std::int64_t useful_ns = 0;    // compute, memory, other communication, pipeline transfers
  std::int64_t edge_ns = 0;      // before its first and after its last work
  std::int64_t p2p_wait_ns = 0;  // waiting for a neighbour
  std::int64_t drain_ns = 0;     // waiting for the passes of others in a group of several stages
  std::int64_t host_ns = 0;      // the host launched late: not the schedule's fault
  std::int64_t other_ns = 0;

  [[nodiscard]] std::int64_t bubble_ns() const { return edge_ns + p2p_wait_ns + drain_ns; }
};

/// One pipeline in one step: the ranks joined by sends and receives, one a stage.
struct PipelineStep {
  std::int64_t step = -1;  // its number
  std::vector<StageTime> stages;
};

/// Returns every pipeline group in every selected step; groups in order of their lowest rank.
[[nodiscard]] std::vector<PipelineStep> MeasurePipelines(const RunView& run);

}  // namespace orrery::analyze
