#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::workload {

/// What a unit of a stage takes of memory for one micro-batch, on one rank.
struct UnitMemory {
  std::string_view category = "activations";
  std::int64_t whole = 0;          // all that its forward pass makes for its backward pass
  std::int64_t kept = 0;           // of it what stays in between; less with selective recomputation
  std::int64_t input = 0;          // what stays where the whole unit is recomputed
  std::int64_t logits = 0;         // stay as well, and are counted apart
  std::int64_t logits_copy = 0;    // beside them while a pass computes the loss
  std::int64_t working = 0;        // while its backward pass runs
  std::int64_t weight_inputs = 0;  // stays after a backward pass without gradients of weights

  [[nodiscard]] std::int64_t Kept(bool recomputes) const { return recomputes ? input : kept; }

  bool operator==(const UnitMemory&) const = default;
};

}  // namespace orrery::workload
