#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/workload/job/framework.h"

namespace orrery::workload {

/// The gradient of one parameter tensor.
struct Gradient {
  std::int64_t elements = 0;
  int element_bytes = 4;
  int type = 0;             // those of one type (and device) share buckets
  bool goes_alone = false;  // sparse ones; Megatron: an embedding that two stages share

  bool operator==(const Gradient&) const = default;
};

/// Gradients that are reduced by one collective.
struct GradientBucket {
  std::vector<std::size_t> gradients = {};  // indices, in the order they were put in
  std::int64_t elements = 0;                // with padding

  bool operator==(const GradientBucket&) const = default;
};

/// In which order DDP walks the gradients.
enum class DdpOrder : std::uint8_t {
  kReady,       // as gradients became ready in the first step: the reverse of definition
  kDefinition,  // find_unused_parameters: as defined, then the buckets are sent in reverse
};

struct DdpLimits {
  std::int64_t first_bytes = std::int64_t{1} << 20;
  std::int64_t cap_bytes = std::int64_t{25} << 20;
  DdpOrder order = DdpOrder::kReady;
};

/// PyTorch's buckets in the order they are sent. `gradients` come in definition order. A bucket of
/// a type closes when it has reached its limit: the first one's, then the cap.
[[nodiscard]] std::vector<GradientBucket> DdpBuckets(std::span<const Gradient> gradients,
                                                     const DdpLimits& limits);

struct MegatronBuffer {
  std::int64_t bucket_elements = 0;  // 0: one bucket
  int ranks = 1;                     // that reduce together
  bool is_sharded = false;           // distributed optimizer: starts and ends are aligned
  bool pads_for_bandwidth = false;   // ends to 2¹⁶ elements as well
};

/// Megatron's choice where gradients are reduced beside the backward pass: max(least, 1,000,000 ·
/// ranks) elements.
[[nodiscard]] std::int64_t MegatronBucketElements(int ranks, std::int64_t least = 40'000'000);

/// Megatron's buckets of one buffer (one type, dense or expert parameters) in the order they are
/// sent: tensors in reverse, a bucket closes when it has reached its elements.
[[nodiscard]] std::vector<GradientBucket> MegatronBuckets(std::span<const Gradient> gradients,
                                                          const MegatronBuffer& buffer);

/// The buckets of a framework in the order they are sent; `ranks` reduce together. One for all
/// where it reduces after the backward pass or names no size.
[[nodiscard]] std::vector<GradientBucket> BucketsOf(std::span<const Gradient> gradients,
                                                    const Framework& framework, int ranks,
                                                    bool is_sharded);

}  // namespace orrery::workload
