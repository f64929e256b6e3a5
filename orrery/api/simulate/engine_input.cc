#include "orrery/api/simulate/engine_input.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/overlap_option.h"
#include "orrery/base/error.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"

namespace orrery::api {
namespace {

template <typename Number>
bool ReadNumber(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && !text.empty();
}

/// The texts before and after the first ':' of "rank=7:1.3", without the key.
struct Place {
  std::string_view number;
  std::string_view value;
};

std::optional<Place> PlaceOf(std::string_view text, std::string_view key) {
  const std::size_t colon = text.find(':');
  if (!text.starts_with(key) || colon == std::string_view::npos) {
    return std::nullopt;
  }
  return Place{text.substr(key.size(), colon - key.size()), text.substr(colon + 1)};
}

Result<simulate::SimulationOptions> EngineOptions(const SimulateRequest& request) {
  simulate::SimulationOptions options;
  options.folds = !request.no_fold;
  ORRERY_TRY(options.overlap, OverlapNamed(request.overlap));
  options.max_tasks = request.max_tasks;
  return options;
}

Result<trace::Speedup> ParseWhatIf(const std::string& text) {
  std::optional<trace::Speedup> speedup = trace::ParseSpeedup(text);
  if (!speedup || !simulate::IsOfSimulatedStep(speedup->part)) {
    return InvalidInput(
        "--what-if {}: must be network=K, nics=K, links=K, flops=K, memory=K, compute=K, gemm=K, "
        "attention=K, optimizer=K or other=K (K times as fast)",
        text);
  }
  return *std::move(speedup);
}

Result<simulate::Scenario> ScenarioOf(const SimulateRequest& request) {
  simulate::Scenario scenario{.jitter = request.jitter};
  for (const std::string& text : request.what_if) {
    ORRERY_TRY(scenario.speedups.emplace_back(), ParseWhatIf(text));
  }
  for (const std::string& text : request.slow) {
    ORRERY_TRY(scenario.slow_ranks.emplace_back(), ParseSlowRank(text));
  }
  for (const std::string& text : request.fail) {
    ORRERY_TRY(scenario.faults.failed_nics.emplace_back(), ParseFailedNic(text));
  }
  for (const std::string& text : request.degrade) {
    ORRERY_TRY(scenario.faults.slow_nodes.emplace_back(), ParseSlowNode(text));
  }
  return scenario;
}

}  // namespace

Result<simulate::SlowRank> ParseSlowRank(const std::string& text) {
  simulate::SlowRank slow;
  const std::optional<Place> place = PlaceOf(text, "rank=");
  const bool is_read =
      place && ReadNumber(place->number, slow.rank) && ReadNumber(place->value, slow.factor);
  if (!is_read || !(slow.factor > 0) || slow.factor > 1e6) {
    return InvalidInput(
        "--slow {}: write it as rank=7:1.3, which makes rank 7 take 1.3 times as long", text);
  }
  return slow;
}

Result<std::string> GpuOfSetting(const std::string& text) {
  std::optional<Place> place = PlaceOf(text, "ranks=");
  if (!place) {
    place = PlaceOf(text, "rank=");
  }
  const bool is_read = place && !place->number.empty() && !place->value.empty() &&
                       place->number.find_first_not_of("0123456789-") == std::string_view::npos;
  if (!is_read) {
    return InvalidInput(
        "--gpu-of {}: write it as ranks=8-15:A100-80GB, which gives ranks 8 to 15 that GPU", text);
  }
  return fmt::format("gpu_of.{}={}", place->number, place->value);
}

Result<simulate::FailedNic> ParseFailedNic(const std::string& text) {
  constexpr std::string_view kNicKey = "nic=";
  simulate::FailedNic failed;
  const std::optional<Place> place = PlaceOf(text, "node=");
  const bool is_read = place && ReadNumber(place->number, failed.node) &&
                       place->value.starts_with(kNicKey) &&
                       ReadNumber(place->value.substr(kNicKey.size()), failed.nic);
  if (!is_read) {
    return InvalidInput("--fail {}: write it as node=3:nic=2, which takes NIC 2 from node 3", text);
  }
  return failed;
}

Result<simulate::SlowNode> ParseSlowNode(const std::string& text) {
  simulate::SlowNode slow;
  const std::optional<Place> place = PlaceOf(text, "node=");
  const bool is_read =
      place && ReadNumber(place->number, slow.node) && ReadNumber(place->value, slow.share);
  if (!is_read || !(slow.share > 0) || slow.share > 1) {
    return InvalidInput(
        "--degrade {}: write it as node=3:0.5, which leaves node 3 half of its network", text);
  }
  return slow;
}

Result<JobInput> JobInputOf(const SimulateRequest& request) {
  std::vector<std::string> of_ranks;
  for (const std::string& text : request.gpu_of) {
    ORRERY_TRY(of_ranks.emplace_back(), GpuOfSetting(text));
  }
  JobInput job = request.job;
  job.settings.insert(job.settings.begin(), of_ranks.begin(), of_ranks.end());
  return job;
}

Result<EngineInput> ReadEngineInput(const Session& session, const SimulateRequest& request) {
  EngineInput input;
  ORRERY_TRY(input.options, EngineOptions(request));
  ORRERY_TRY(input.scenario, ScenarioOf(request));
  input.scenario.ApplyTo(input.options);
  ORRERY_TRY(input.network, ReadNetwork(request));
  input.options.network = input.network.options;
  ORRERY_TRY_STATUS(session.state().SetOverlapModel(input.options));
  return input;
}

}  // namespace orrery::api
