#include "orrery/simulate/stage_balance.h"

#include <map>
#include <string_view>

namespace orrery::simulate {
namespace {

constexpr std::string_view kPipeline = "pp";

bool IsOwnWork(const TimeShare& share) {
  return share.kind == TimeKind::kCompute || share.kind == TimeKind::kOptimizer ||
         (share.kind == TimeKind::kTransfer && share.what != kPipeline);
}

}  // namespace

std::int64_t BusyPs(const Breakdown& breakdown) {
  std::int64_t busy_ps = 0;
  for (const TimeShare& share : breakdown.shares) {
    busy_ps += IsOwnWork(share) ? share.ps : 0;
  }
  return busy_ps;
}

std::optional<BindingStage> BindingStageOf(const StepSummary& summary) {
  std::map<std::uint32_t, const StageSummary*> slowest_of_stage;
  for (const StageSummary& stage : summary.stages) {
    if (!stage.stage) {
      return std::nullopt;
    }
    const StageSummary*& slowest = slowest_of_stage[*stage.stage];
    if (slowest == nullptr || stage.busy_ps > slowest->busy_ps) {
      slowest = &stage;
    }
  }
  if (slowest_of_stage.size() < 2) {
    return std::nullopt;
  }
  const StageSummary* binding = slowest_of_stage.begin()->second;
  std::int64_t all_ps = 0;
  for (const auto& [number, stage] : slowest_of_stage) {
    all_ps += stage->busy_ps;
    binding = stage->busy_ps > binding->busy_ps ? stage : binding;
  }
  const auto stages = static_cast<std::int64_t>(slowest_of_stage.size());
  return BindingStage{.label = binding->Label(),
                      .busy_ps = binding->busy_ps,
                      .others_ps = (all_ps - binding->busy_ps) / (stages - 1),
                      .excess_ps = binding->busy_ps - all_ps / stages};
}

}  // namespace orrery::simulate
