#include "orrery/simulate/transfer_times.h"

#include "orrery/base/mix_bits.h"

namespace orrery::simulate {

std::size_t TransferTimes::Hash::operator()(const Key& key) const {
  const std::uint64_t what =
      static_cast<std::uint64_t>(key.kind) * 64 + static_cast<std::uint64_t>(key.element);
  return MixBits(MixBits(key.link_class + what) + static_cast<std::uint64_t>(key.bytes));
}

Result<std::int64_t> TransferTimes::DurationPs(CastGroupId group,
                                               const workload::Communications::Row& row) {
  const Key key{cast_.groups[group].link_class, row.bytes, row.kind, row.element};
  if (const auto known = known_.find(key); known != known_.end()) {
    return known->second;
  }
  ORRERY_TRY(const std::int64_t duration_ps, times_.DurationPs(row, cast_.GpusOf(group)));
  known_.emplace(key, duration_ps);
  return duration_ps;
}

}  // namespace orrery::simulate
