#include "orrery/workload/generate/stage_buckets.h"

#include <algorithm>
#include <utility>

#include "orrery/workload/plan/gradient_buckets.h"

namespace orrery::workload {
namespace {

// Gradients of one buffer, and the unit that each comes from.
struct Buffer {
  std::vector<Gradient> gradients;
  std::vector<std::size_t> unit_of_gradient;
};

Buffer BufferOf(const Job& job, const StageTensors& tensors, bool of_experts) {
  Buffer buffer;
  std::size_t number = 0;
  for (const std::vector<StageUnit>& chunk : *tensors.units) {
    for (const StageUnit& unit : chunk) {
      const UnitTensors& own = (*tensors.of_kind)[unit.kind];
      for (const std::int64_t elements : of_experts ? own.experts : own.dense) {
        buffer.gradients.push_back(
            {.elements = elements, .element_bytes = job.training.precision.gradient_bytes});
        buffer.unit_of_gradient.push_back(number);
      }
      ++number;
    }
  }
  return buffer;
}

void AddBuckets(const Job& job, const Buffer& buffer, bool of_experts,
                std::vector<StageBucket>& buckets) {
  const int ranks = of_experts ? ExpertReplicas(job.plan) : DenseReplicas(job.plan);
  if (buffer.gradients.empty() || ranks == 1) {
    return;
  }
  const bool is_sharded = job.plan.sharding != Sharding::kReplicated;
  for (const GradientBucket& made : BucketsOf(buffer.gradients, job.framework, ranks, is_sharded)) {
    StageBucket bucket = {of_experts, made.elements, {}};
    for (const std::size_t gradient : made.gradients) {
      bucket.units.push_back(buffer.unit_of_gradient[gradient]);
    }
    std::ranges::sort(bucket.units);
    const auto repeated = std::ranges::unique(bucket.units);
    bucket.units.erase(repeated.begin(), repeated.end());
    buckets.push_back(std::move(bucket));
  }
}

}  // namespace

std::vector<StageBucket> StageBuckets(const Job& job, const StageTensors& tensors) {
  std::vector<StageBucket> buckets;
  AddBuckets(job, BufferOf(job, tensors, false), false, buckets);
  AddBuckets(job, BufferOf(job, tensors, true), true, buckets);
  return buckets;
}

}  // namespace orrery::workload
