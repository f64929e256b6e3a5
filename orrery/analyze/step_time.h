#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

struct RankSteps {
  std::int32_t rank = 0;
  std::vector<double> seconds = {};  // of each selected marker
};

/// How long a step takes: the markers of the selected steps on the host.
struct StepTime {
  std::optional<double> seconds = {};  // mean over markers, then over ranks
  bool is_estimated = false;           // from the length of the recording and the card
  std::vector<RankSteps> ranks = {};
};

[[nodiscard]] StepTime MeasureStepTime(const RunView& run);

/// Returns the time between the first begin and the last end of device activities over all ranks;
/// of host events where nothing ran on a device.
[[nodiscard]] Interval RecordedTime(const RunView& run, bool& is_device_time);

/// What an engine step of an inference server worked on, from the marker's name.
struct EngineStep {
  std::int64_t context_tokens = 0;    // of prompts
  std::int64_t generated_tokens = 0;  // one for each sequence that is being answered
  std::int64_t num_prompts = 0;
};

/// Reads vLLM's marker names: "execute_<tokens>_context_<prompts>(…)_generation_<sequences>(…)" and
/// the older "execute_context_<prompts>(<tokens>)_generation_<sequences>(<tokens>)". Nothing for
/// other names.
[[nodiscard]] std::optional<EngineStep> ParseEngineStep(std::string_view name);

struct TokenRate {
  std::optional<double> tokens_per_second = {};
  std::string_view source = {};
  std::string reason = {};  // when there is none
};

/// Returns tokens per second from the best source: a serving result, engine steps, or the card's
/// batch and the step time.
[[nodiscard]] TokenRate MeasureTokenRate(const RunView& run);

/// Returns the first table of a format, or nothing.
[[nodiscard]] const Table* FindTable(const RunView& run, std::string_view format);

}  // namespace orrery::analyze
