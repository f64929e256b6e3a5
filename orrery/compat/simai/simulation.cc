#include "orrery/compat/simai/simulation.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace orrery::compat::simai {
namespace {

using collective::CollectiveKind;

constexpr std::int64_t kLeastForwardBytes = 4096;

// Fields by Group, in the order of its enumerators.
constexpr std::array kHiddenShareOf = {&HiddenShares::tensor, &HiddenShares::expert,
                                       &HiddenShares::data, &HiddenShares::expert_data};
constexpr std::array kPartOf = {&StepTimes::tensor_ns, &StepTimes::expert_ns, &StepTimes::data_ns,
                                &StepTimes::expert_data_ns};

Plan PlanOf(const Workload& workload) {
  const int least = workload.tensor * workload.pipeline * workload.expert;
  return {.gpus = workload.gpus == 0 ? least : workload.gpus,
          .tensor = workload.tensor,
          .expert = workload.expert,
          .pipeline = workload.pipeline};
}

/// Adds the collectives of a step; layers repeat, so their times are cached.
class CollectiveTimes {
 public:
  CollectiveTimes(const Plan& plan, const Settings& settings) : plan_(plan), settings_(settings) {}

  /// Adds the exposed time to its part of the step and returns the whole time.
  Result<std::int64_t> Add(const Pass& pass, StepTimes& step) {
    if (!pass.collective) {
      return 0;
    }
    const Collective& collective = *pass.collective;
    if (!IsModelled(collective.kind)) {
      ++step.num_free_calls;
      return 0;
    }
    ORRERY_TRY(const std::int64_t total_ns, TimeOf(collective));
    const auto group = static_cast<std::size_t>(collective.group);
    step.*kPartOf[group] +=
        static_cast<double>(total_ns) * (1 - settings_.overlap.*kHiddenShareOf[group]);
    return total_ns;
  }

 private:
  Result<std::int64_t> TimeOf(const Collective& collective) {
    const auto [found, is_new] =
        times_ns_.try_emplace({collective.kind, collective.group, collective.size.count});
    if (is_new) {
      ORRERY_TRY(const Duration time, CollectiveTime(collective, plan_, settings_.machine));
      found->second = time.nanoseconds;
    }
    return found->second;
  }

  Plan plan_;
  const Settings& settings_;
  std::map<std::tuple<CollectiveKind, Group, std::int64_t>, std::int64_t> times_ns_;
};

/// SimAI rounds the size of the forward pass up to a page, and only that.
Pass WithWholePage(Pass pass) {
  if (pass.collective && pass.collective->size.count > 0) {
    pass.collective->size.count = std::max(pass.collective->size.count, kLeastForwardBytes);
  }
  return pass;
}

}  // namespace

Result<StepTimes> SimulateStep(const Workload& workload, const Settings& settings) {
  StepTimes step;
  CollectiveTimes times(PlanOf(workload), settings);
  double pipelined_ns = 0;
  for (const Layer& layer : workload.layers) {
    ORRERY_TRY(const std::int64_t forward_ns, times.Add(WithWholePage(layer.forward), step));
    ORRERY_TRY(const std::int64_t backward_ns, times.Add(layer.input_gradient, step));
    ORRERY_TRY_STATUS(times.Add(layer.weight_gradient, step));
    const auto compute_ns =
        static_cast<double>(layer.forward.compute_ns + layer.input_gradient.compute_ns +
                            layer.weight_gradient.compute_ns);
    step.compute_ns += compute_ns;
    if (layer.name != "embedding_layer") {  // only on the first stage
      pipelined_ns += static_cast<double>(forward_ns + backward_ns) + compute_ns;
    }
  }
  step.bubble_ns = pipelined_ns * (workload.pipeline - 1) / workload.accumulation / workload.chunks;
  return step;
}

std::string StepText(const StepTimes& step) {
  const std::array<std::pair<std::string_view, double>, 8> parts = {
      {{"exposed DP", step.data_ns},
       {"exposed DP_EP", step.expert_data_ns},
       {"exposed TP", step.tensor_ns},
       {"exposed EP", step.expert_ns},
       {"exposed PP", step.pipeline_ns},
       {"bubble", step.bubble_ns},
       {"compute", step.compute_ns},
       {"total", step.total_ns()}}};
  std::string text;
  for (const auto& [name, part_ns] : parts) {
    const double share = step.total_ns() > 0 ? part_ns / step.total_ns() : 0;
    text += fmt::format("{:<13} {:>12.0f} us {:>6.2f}%\n", name, part_ns / 1e3, 100 * share);
  }
  return text;
}

}  // namespace orrery::compat::simai
