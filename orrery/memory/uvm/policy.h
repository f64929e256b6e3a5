#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// Who brings pages to the GPU before they are missed.
struct Policy {
  enum class Kind : std::uint8_t {
    kNone,    // nobody
    kDriver,  // the driver's tree, when pages of a block fault
    kObject,  // when an operator begins: the segments that it will touch
    kTensor,  // … the tensors
  };

  Kind kind = Kind::kNone;
  int lookahead = 0;  // kTensor: also what the operator so many places later will touch

  bool operator==(const Policy&) const = default;
};

/// Returns "none", "driver", "object", "tensor" or "tensor+3".
[[nodiscard]] std::string PolicyName(const Policy& policy);

/// Returns what is prefetched for each operator: objects in order, each once. Empty lists for
/// policies that prefetch nothing.
[[nodiscard]] std::vector<std::vector<std::size_t>> ScheduleOf(const Workload& workload,
                                                               const Policy& policy);

}  // namespace orrery::memory::uvm
