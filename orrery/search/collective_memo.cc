#include "orrery/search/collective_memo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/process_groups.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::search {

Result<std::unique_ptr<CollectiveMemo>> CollectiveMemo::Of(const workload::Job& machine) {
  ORRERY_TRY(std::unique_ptr<simulate::ClusterTimes> times, simulate::ClusterTimes::Of(machine));
  return std::make_unique<CollectiveMemo>(machine, std::move(times));
}

CollectiveMemo::CollectiveMemo(const workload::Job& machine,
                               std::unique_ptr<simulate::ClusterTimes> times)
    : link_class_(static_cast<std::uint32_t>(std::max(machine.cluster.island.gpus, 1))),
      times_(std::move(times)) {}

std::size_t CollectiveMemo::Hash::operator()(const Key& key) const {
  return MixBits(key.link_class + MixBits(static_cast<std::uint64_t>(key.bytes) + key.kind));
}

PlacedGroup CollectiveMemo::Place(std::span<const workload::Rank> ranks) const {
  PlacedGroup group;
  group.gpus.assign(ranks.begin(), ranks.end());  // rank r is on GPU r
  group.link_class = link_class_.Of(group.gpus);
  return group;
}

std::size_t CollectiveMemo::GroupHash::operator()(const GroupKey& key) const {
  std::uint64_t hash = 0;
  for (const std::int32_t number : key) {
    hash = MixBits(hash + static_cast<std::uint32_t>(number));
  }
  return hash;
}

const PlacedGroup& CollectiveMemo::GroupOf(const workload::Plan& plan, workload::GroupRole role,
                                           int stage) {
  const GroupKey key{static_cast<std::int32_t>(role),
                     stage,
                     plan.tp,
                     plan.pp,
                     plan.cp,
                     plan.dp,
                     plan.ep,
                     plan.expert_tp,
                     workload::DenseShards(plan),
                     static_cast<std::int32_t>(plan.context) * 65536 + plan.ulysses_ranks,
                     workload::LayerCopies(plan) * 2 + (plan.pipeline_is_innermost ? 1 : 0)};
  const auto [known, is_new] = group_of_key_.try_emplace(key);
  if (is_new && workload::HasGroups(plan, role)) {
    std::vector<workload::Rank> ranks;
    workload::MembersOf(plan, role, {.pp = stage}, ranks);
    known->second = Place(ranks);
  }
  return known->second;
}

void CollectiveMemo::ForgetGroups() {
  constexpr std::size_t kMostGroups = 100'000;
  if (group_of_key_.size() > kMostGroups) {
    group_of_key_.clear();
  }
}

std::int64_t CollectiveMemo::DurationPs(const workload::Communication& communication,
                                        const PlacedGroup& group) {
  if (group.gpus.size() < 2 || communication.bytes == 0) {
    return 0;
  }
  const Key key{.link_class = group.link_class,
                .bytes = communication.bytes,
                .kind = static_cast<std::uint32_t>(communication.kind) * 256 +
                        static_cast<std::uint32_t>(communication.element) * 2 +
                        (communication.in_pieces ? 1 : 0)};
  if (const auto known = duration_of_key_.find(key); known != duration_of_key_.end()) {
    return known->second;
  }
  const Result<std::int64_t> duration =
      times_->DurationPs({.role = static_cast<std::uint32_t>(communication.role),
                          .kind = communication.kind,
                          .bytes = communication.bytes,
                          .element = communication.element,
                          .in_pieces = communication.in_pieces},
                         group.gpus);
  // A collective without an estimate makes a simulation fail later; until then it is free.
  return duration_of_key_.emplace(key, duration.value_or(0)).first->second;
}

}  // namespace orrery::search
