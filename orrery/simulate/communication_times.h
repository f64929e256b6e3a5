#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/kernel_code.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// The duration of communication once all members of a group have arrived.
class CommunicationTimes {
 public:
  virtual ~CommunicationTimes() = default;

  /// Returns picoseconds for a group whose members, in order, have these GPUs. Asked once for each
  /// kind, size, element and link class of a simulation.
  [[nodiscard]] virtual Result<std::int64_t> DurationPs(
      const workload::Communications::Row& communication, std::span<const network::GpuId> gpus) = 0;

  /// Returns what its kernel takes of each of these GPUs while it runs, when that is known. Asked
  /// as often, when somebody wants to know.
  [[nodiscard]] virtual Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) {
    return CommunicationTask{};
  }
};

/// The cost of communication once all members have arrived.
struct TransferCost {
  std::int64_t duration_ps = 0;
  KernelCode side = 0;  // of its kernel; 0 when not requested
};

/// Memoizes communication costs, so that equal groups are computed once.
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
