#include "orrery/workload/plan/gradient_buckets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/math/round_up.h"
#include "orrery/workload/job/framework.h"

namespace orrery::workload {
namespace {

// Megatron's alignment of a tensor's start and of a bucket's end, in elements.
constexpr std::int64_t kStartAlignment = 64;
constexpr std::int64_t kEndAlignment = 128;
constexpr std::int64_t kBandwidthAlignment = 1 << 16;

/// The open bucket of one type.
struct OpenBucket {
  GradientBucket bucket;
  std::int64_t size_bytes = 0;
  bool is_first = true;
};

std::vector<GradientBucket> FillByBytes(std::span<const Gradient> gradients,
                                        const DdpLimits& limits) {
  std::vector<GradientBucket> buckets;
  std::map<int, OpenBucket> open_of_type;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::size_t index = limits.order == DdpOrder::kReady ? gradients.size() - 1 - i : i;
    const Gradient& gradient = gradients[index];
    if (gradient.goes_alone) {
      buckets.push_back({.gradients = {index}, .elements = gradient.elements});
      continue;
    }
    OpenBucket& open = open_of_type[gradient.type];
    open.bucket.gradients.push_back(index);
    open.bucket.elements += gradient.elements;
    open.size_bytes += gradient.elements * gradient.element_bytes;
    if (open.size_bytes >= (open.is_first ? limits.first_bytes : limits.cap_bytes)) {
      buckets.push_back(std::move(open.bucket));
      open = {.bucket = {}, .size_bytes = 0, .is_first = false};
    }
  }
  for (auto& [type, open] : open_of_type) {
    if (!open.bucket.gradients.empty()) {
      buckets.push_back(std::move(open.bucket));
    }
  }
  return buckets;
}

/// Lays tensors out in one buffer and cuts it into buckets.
class BufferLayout {
 public:
  explicit BufferLayout(const MegatronBuffer& buffer) : buffer_(buffer) {}

  void Add(std::size_t index, const Gradient& gradient) {
    const bool is_alone = gradient.goes_alone && buffer_.is_sharded;
    if (is_alone) {
      Close();
    }
    if (buffer_.is_sharded) {
      end_ = RoundUp(end_, kStartAlignment);
    }
    end_ += gradient.elements;
    open_.gradients.push_back(index);
    const bool is_full = buffer_.bucket_elements > 0 && end_ - begin_ >= buffer_.bucket_elements;
    if (is_alone || is_full) {
      Close();
    }
  }

  [[nodiscard]] std::vector<GradientBucket> Take() {
    Close();
    return std::move(buckets_);
  }

 private:
  void Close() {
    if (open_.gradients.empty()) {
      return;
    }
    if (buffer_.is_sharded) {
      end_ = RoundUp(end_, EndMultiple());
    }
    open_.elements = end_ - begin_;
    buckets_.push_back(std::move(open_));
    open_ = {};
    begin_ = end_;
  }

  [[nodiscard]] std::int64_t EndMultiple() const {
    const std::int64_t multiple = std::lcm(std::int64_t{buffer_.ranks}, kEndAlignment);
    return buffer_.pads_for_bandwidth ? std::lcm(multiple, kBandwidthAlignment) : multiple;
  }

  MegatronBuffer buffer_;
  std::vector<GradientBucket> buckets_;
  GradientBucket open_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

std::int64_t BucketElementsOf(const Framework& framework, int ranks) {
  if (framework.data_overlap == DataOverlap::kAfterBackward) {
    return 0;
  }
  return framework.scales_bucket_with_ranks
             ? MegatronBucketElements(ranks, framework.least_bucket_elements)
             : framework.least_bucket_elements;
}

DdpLimits LimitsOf(const Framework& framework) {
  if (framework.data_overlap == DataOverlap::kAfterBackward || framework.bucket_bytes == 0) {
    constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
    return {.first_bytes = kNoLimit, .cap_bytes = kNoLimit};
  }
  const std::int64_t cap = framework.bucket_bytes;
  const std::int64_t first = framework.first_bucket_bytes;
  return {.first_bytes = first > 0 ? first : cap, .cap_bytes = cap};
}

}  // namespace

std::vector<GradientBucket> DdpBuckets(std::span<const Gradient> gradients,
                                       const DdpLimits& limits) {
  std::vector<GradientBucket> buckets = FillByBytes(gradients, limits);
  if (limits.order == DdpOrder::kDefinition) {
    std::ranges::stable_sort(buckets, {},
                             [](const GradientBucket& bucket) { return bucket.gradients.front(); });
    std::ranges::reverse(buckets);
  }
  return buckets;
}

std::int64_t MegatronBucketElements(int ranks, std::int64_t least) {
  return std::max(least, std::int64_t{1'000'000} * ranks);
}

std::vector<GradientBucket> MegatronBuckets(std::span<const Gradient> gradients,
                                            const MegatronBuffer& buffer) {
  BufferLayout layout(buffer);
  for (std::size_t i = gradients.size(); i-- > 0;) {
    layout.Add(i, gradients[i]);
  }
  return layout.Take();
}

std::vector<GradientBucket> BucketsOf(std::span<const Gradient> gradients,
                                      const Framework& framework, int ranks, bool is_sharded) {
  if (framework.scales_bucket_with_ranks || framework.least_bucket_elements > 0) {  // Megatron
    return MegatronBuckets(gradients, {.bucket_elements = BucketElementsOf(framework, ranks),
                                       .ranks = ranks,
                                       .is_sharded = is_sharded});
  }
  return DdpBuckets(gradients, LimitsOf(framework));
}

}  // namespace orrery::workload
