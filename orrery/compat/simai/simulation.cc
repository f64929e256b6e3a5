#include "orrery/compat/simai/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace orrery::compat::simai {
namespace {

using collective::CollectiveKind;
using compat::simai::Group;
using compat::simai::Kind;
using compat::simai::Plan;

constexpr std::int64_t kLeastForwardBytes = 4096;
constexpr double kGibibyte = 1024.0 * 1024 * 1024;

std::optional<Kind> KindOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return Kind::kAllReduce;
    case CollectiveKind::kAllGather:
      return Kind::kAllGather;
    case CollectiveKind::kReduceScatter:
      return Kind::kReduceScatter;
    case CollectiveKind::kAllToAll:
      return Kind::kAllToAll;
    default:
      return std::nullopt;
  }
}

Plan PlanOf(const SimaiWorkload& workload) {
  const int least = workload.tensor * workload.pipeline * workload.expert;
  return {.gpus = workload.gpus == 0 ? least : workload.gpus,
          .tensor = workload.tensor,
          .expert = workload.expert,
          .pipeline = workload.pipeline};
}

double OverlapOf(Group group, const SimaiOverlap& overlap) {
  switch (group) {
    case Group::kTensor:
      return overlap.tensor;
    case Group::kExpert:
      return overlap.expert;
    case Group::kData:
      return overlap.data;
    case Group::kExpertData:
      return overlap.expert_data;
  }
  return 0;
}

double& PartOf(Group group, SimaiStep& step) {
  switch (group) {
    case Group::kExpert:
      return step.expert_ns;
    case Group::kData:
      return step.data_ns;
    case Group::kExpertData:
      return step.expert_data_ns;
    case Group::kTensor:
      break;
  }
  return step.tensor_ns;
}

double BusFactorOf(Kind kind, int ranks) {
  const double passes = kind == Kind::kAllReduce ? 2 : 1;
  return passes * (ranks - 1) / ranks;
}

/// Layers repeat, and so do their calls.
class CallPrices {
 public:
  CallPrices(const Plan& plan, const SimaiSetting& setting) : plan_(plan), setting_(setting) {}

  Result<SimaiCallTime> Price(Kind kind, const SimaiCollective& call) {
    const Key key{kind, call.group, call.size.count};
    const auto known = times_.find(key);
    if (known != times_.end()) {
      return known->second;
    }
    ORRERY_TRY(const SimaiCallTime time, TimeOf(kind, call));
    times_.emplace(key, time);
    return time;
  }

 private:
  using Key = std::tuple<Kind, Group, std::int64_t>;

  [[nodiscard]] Result<SimaiCallTime> TimeOf(Kind kind, const SimaiCollective& call) const {
    ORRERY_TRY(const Duration time,
               compat::simai::CallTime({kind, call.group, call.size}, plan_, setting_.machine));
    ORRERY_TRY(const compat::simai::Spread spread,
               compat::simai::SpreadOf(call.group, plan_, setting_.machine));
    const auto total_ns = static_cast<double>(time.nanoseconds);
    const double bandwidth = static_cast<double>(call.size.count) / kGibibyte / (total_ns / 1e9);
    return SimaiCallTime{.is_called = true,
                         .total_ns = time.nanoseconds,
                         .exposed_ns = total_ns * (1 - OverlapOf(call.group, setting_.overlap)),
                         .algorithm_gib_per_second = bandwidth,
                         .bus_gib_per_second = bandwidth * BusFactorOf(kind, spread.ranks)};
  }

  Plan plan_;
  const SimaiSetting& setting_;
  std::map<Key, SimaiCallTime> times_;
};

Result<SimaiCallTime> AddCall(const SimaiPass& pass, CallPrices& prices, SimaiStep& step) {
  if (!pass.collective) {
    return SimaiCallTime{};
  }
  const std::optional<Kind> kind = KindOf(pass.collective->kind);
  if (!kind) {
    ++step.num_free_calls;
    return SimaiCallTime{};
  }
  ORRERY_TRY(const SimaiCallTime time, prices.Price(*kind, *pass.collective));
  PartOf(pass.collective->group, step) += time.exposed_ns;
  return time;
}

/// SimAI raises what the forward pass moves to a page, and only that.
SimaiPass WithWholePage(SimaiPass pass) {
  if (pass.collective && pass.collective->size.count > 0) {
    pass.collective->size.count = std::max(pass.collective->size.count, kLeastForwardBytes);
  }
  return pass;
}

double ComputeOf(const SimaiLayer& layer) {
  return static_cast<double>(layer.forward.compute_ns + layer.input_gradient.compute_ns +
                             layer.weight_gradient.compute_ns);
}

/// What a pipeline passes through, layer by layer; the embedding is only on its first stage.
double PipelinedOf(const SimaiLayer& layer, const SimaiLayerTime& time) {
  return layer.name == "embedding_layer"
             ? 0
             : static_cast<double>(time.forward.total_ns + time.input_gradient.total_ns) +
                   ComputeOf(layer);
}

}  // namespace

Result<SimaiStep> SimulateSimai(const SimaiWorkload& workload, const SimaiSetting& setting) {
  SimaiStep step;
  CallPrices prices(PlanOf(workload), setting);
  double pipelined_ns = 0;
  for (const SimaiLayer& layer : workload.layers) {
    SimaiLayerTime time;
    ORRERY_TRY(time.forward, AddCall(WithWholePage(layer.forward), prices, step));
    ORRERY_TRY(time.input_gradient, AddCall(layer.input_gradient, prices, step));
    ORRERY_TRY(time.weight_gradient, AddCall(layer.weight_gradient, prices, step));
    step.compute_ns += ComputeOf(layer);
    pipelined_ns += PipelinedOf(layer, time);
    step.layers.push_back(time);
  }
  step.bubble_ns = pipelined_ns * (workload.pipeline - 1) / workload.accumulation / workload.chunks;
  return step;
}

std::string SimaiStepText(const SimaiStep& step) {
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
