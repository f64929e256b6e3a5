#include "orrery/simulate/communication_times.h"

#include <vector>

#include "orrery/base/mix_bits.h"

namespace orrery::simulate {

std::size_t TransferTimes::Hash::operator()(const Key& key) const {
  const std::uint64_t what =
      static_cast<std::uint64_t>(key.kind) * 64 + static_cast<std::uint64_t>(key.element);
  return MixBits(MixBits(key.link_class + what) + static_cast<std::uint64_t>(key.bytes));
}

Result<TransferCost> TransferTimes::CostOf(GroupClassId group,
                                           const workload::Communications::Row& row) {
  const Key key{rank_classes_.groups[group].link_class, row.bytes, row.kind, row.element};
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  const std::vector<network::GpuId> gpus = rank_classes_.GpusOf(group);
  TransferCost cost;
  ORRERY_TRY(cost.duration_ps, times_.DurationPs(row, gpus));
  if (wants_sides_ && cost.duration_ps > 0) {
    ORRERY_TRY(const CommunicationTask task, times_.KernelOf(row, gpus));
    cost.side = CodeOf(task);
  }
  known_.emplace(key, cost);
  return cost;
}

}  // namespace orrery::simulate
