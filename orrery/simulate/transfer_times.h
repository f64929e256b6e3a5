#pragma once

#include <cstddef>
#include <cstdint>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/simulate/cast.h"
#include "orrery/simulate/communication_times.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Remembers what communication costs, so that equal groups are asked for once.
class TransferTimes {
 public:
  TransferTimes(const Cast& cast, CommunicationTimes& times) : cast_(cast), times_(times) {}

  [[nodiscard]] Result<std::int64_t> DurationPs(CastGroupId group,
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

  const Cast& cast_;
  CommunicationTimes& times_;
  tsl::robin_map<Key, std::int64_t, Hash> known_;
};

}  // namespace orrery::simulate
