#pragma once

#include <cstddef>
#include <cstdint>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/communication_times.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// What communication costs once all are there.
struct TransferCost {
  std::int64_t duration_ps = 0;
  KernelCode side = 0;  // of its kernel; 0 when nobody wants to know
};

/// Remembers what communication costs, so that equal groups are asked for once.
class TransferTimes {
 public:
  TransferTimes(const RankClasses& rank_classes, CommunicationTimes& times, bool wants_sides)
      : rank_classes_(rank_classes), times_(times), wants_sides_(wants_sides) {}

  [[nodiscard]] Result<TransferCost> CostOf(GroupClassId group,
                                            const workload::Communications::Row& row);

 private:
  struct Key {
    std::uint64_t link_class = 0;
    std::int64_t bytes = 0;
    collective::CollectiveKind kind{};
    collective::Element element{};

    bool operator==(const Key&) const = default;
  };

  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  const RankClasses& rank_classes_;
  CommunicationTimes& times_;
  bool wants_sides_;
  tsl::robin_map<Key, TransferCost, Hash> known_;
};

}  // namespace orrery::simulate
