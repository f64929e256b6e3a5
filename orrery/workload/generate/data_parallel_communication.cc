#include "orrery/workload/generate/data_parallel_communication.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/plan/gradient_buckets.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;

// Gradients of one buffer, and the unit of each.
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

constexpr std::string_view kGathered = "gathered parameters";
constexpr std::string_view kWholeGradients = "whole gradients";

// The buckets of a stage in the order they are sent; those of experts are separate, since other
// ranks share them.
std::vector<StageBucket> StageBuckets(const Job& job, const StageTensors& tensors) {
  std::vector<StageBucket> buckets;
  AddBuckets(job, BufferOf(job, tensors, false), false, buckets);
  AddBuckets(job, BufferOf(job, tensors, true), true, buckets);
  return buckets;
}

}  // namespace

DataParallelCommunication::DataParallelCommunication(const Job& job, const StageTensors& tensors,
                                                     ProgramWriter& writer)
    : job_(job), tensors_(tensors), writer_(writer) {
  std::size_t count = 0;
  for (const std::vector<StageUnit>& chunk : *tensors.units) {
    first_of_chunk_.push_back(count);
    count += chunk.size();
  }
  passes_done_.assign(count, 0);
  gather_of_unit_.assign(count, kNone);
  early_gathers_.resize(count);
  if (!shards_parameters()) {
    buckets_ = StageBuckets(job, tensors);
  }
}

bool DataParallelCommunication::shards_parameters() const {
  return DenseReplicas(job_.plan) > 1 && (job_.plan.sharding == Sharding::kParameters ||
                                          job_.plan.sharding == Sharding::kKeepGathered);
}

TaskId DataParallelCommunication::Write(std::string_view name, const Communication& communication,
                                        Phase phase, TaskId after) {
  const LayerOp op = CommunicationOp(name, communication);
  return writer_.WriteCommunication(writer_.Prepare(std::span(&op, 1), phase, -1).front(), after,
                                    -1);
}

// Sums gradients over ranks; a sharded result stays where it belongs.
TaskId DataParallelCommunication::Reduce(std::int64_t elements, bool of_experts) {
  const Plan& plan = job_.plan;
  const int element_bytes = job_.training.precision.gradient_bytes;
  const bool scatters = plan.sharding != Sharding::kReplicated;
  Communication sum = {
      .role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
      .kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
      .bytes = elements * element_bytes,
      .element = element_bytes == 4 ? collective::Element::kFloat : collective::Element::kBfloat16};
  TaskId last = Write("reduce gradients", sum, Phase::kReduce, writer_.last_compute());
  const int replicas = DenseReplicas(plan);
  const int shards = ShardRanks(plan, replicas);
  if (scatters && !of_experts && shards < replicas) {
    sum.role = GroupRole::kReplicas;
    sum.kind = CollectiveKind::kAllReduce;
    sum.bytes /= shards;
    last = Write("reduce shards", sum, Phase::kReduce, last);
  }
  reductions_.push_back(last);
  return last;
}

TaskId DataParallelCommunication::Gather(std::int64_t elements, bool of_experts, TaskId after) {
  return Write("gather parameters",
               {.role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
                .kind = CollectiveKind::kAllGather,
                .bytes = elements * job_.training.precision.gathered_bytes},
               Phase::kGather, after);
}

// Parameters that are needed first are gathered first.
void DataParallelCommunication::BeginStep() {
  if (job_.plan.sharding == Sharding::kReplicated || !job_.framework.gathers_in_forward) {
    return;
  }
  for (const StageBucket& bucket : std::views::reverse(buckets_)) {
    const TaskId gather = Gather(bucket.elements, bucket.is_of_experts, kNone);
    for (const std::size_t unit : bucket.units) {
      early_gathers_[unit].push_back(gather);
    }
  }
}

TaskId DataParallelCommunication::GatherUnit(const Place& place) {
  const RankParameters own = tensors_.At(place.chunk, place.unit).parameters();
  const TaskId after = writer_.last_compute();
  TaskId last = after;
  if (own.dense > 0) {
    last = Gather(own.dense, false, after);
  }
  if (own.experts > 0 && ExpertReplicas(job_.plan) > 1) {
    last = Gather(own.experts, true, after);
  }
  if (last != after) {
    writer_.Allocate(last, kGathered, GatheredBytesOf(place));
  }
  return last;
}

// Parameters that stay gathered count as states.
std::int64_t DataParallelCommunication::GatheredBytesOf(const Place& place) const {
  const RankParameters own = tensors_.At(place.chunk, place.unit).parameters();
  const bool has_experts = ExpertReplicas(job_.plan) > 1;
  return job_.plan.sharding == Sharding::kParameters
             ? GatheredBytes(own.dense + (has_experts ? own.experts : 0), job_.training)
             : 0;
}

// The gathered parameters of a unit are freed after its last computation.
void DataParallelCommunication::DropUnit(const Place& place) {
  TaskId& gather = gather_of_unit_[NumberOf(place)];
  if (gather != kNone) {
    writer_.Free(writer_.last_compute(), kGathered, GatheredBytesOf(place));
  }
  gather = kNone;
}

// Unsharded gradients of a unit exist until they are reduced.
void DataParallelCommunication::ReduceUnit(const Place& place) {
  const RankParameters own = tensors_.At(place.chunk, place.unit).parameters();
  const std::int64_t bytes = GatheredBytesOf(place);
  TaskId last = kNone;
  if (own.dense > 0) {
    last = Reduce(own.dense, false);
  }
  if (own.experts > 0 && ExpertReplicas(job_.plan) > 1) {
    last = Reduce(own.experts, true);
  }
  if (last != kNone) {
    writer_.Allocate(writer_.last_compute(), kWholeGradients, bytes);
    writer_.Free(last, kWholeGradients, bytes);
  }
}

// One unit ahead: the parameters of the next unit are gathered while a unit computes.
void DataParallelCommunication::GatherAhead(const Place& place, bool is_forward) {
  TaskId& own = gather_of_unit_[NumberOf(place)];
  if (own == kNone) {
    own = GatherUnit(place);
  }
  const bool has_next =
      is_forward ? place.unit + 1 < (*tensors_.units)[place.chunk].size() : place.unit > 0;
  if (has_next) {
    const Place next = {place.chunk, is_forward ? place.unit + 1 : place.unit - 1};
    TaskId& ahead = gather_of_unit_[NumberOf(next)];
    if (ahead == kNone) {
      ahead = GatherUnit(next);
    }
  }
  if (own != kNone) {
    writer_.WaitFor(own);
  }
}

void DataParallelCommunication::BeforeForward(const Place& place, bool is_first_pass) {
  if (shards_parameters()) {
    GatherAhead(place, true);
  } else if (is_first_pass) {
    for (const TaskId gather : early_gathers_[NumberOf(place)]) {
      writer_.WaitFor(gather);
    }
  }
}

void DataParallelCommunication::AfterForward(const Place& place) {
  // The last unit is needed again immediately.
  const bool is_last = place.unit + 1 == (*tensors_.units)[place.chunk].size();
  if (shards_parameters() && job_.plan.sharding == Sharding::kParameters && !is_last) {
    DropUnit(place);
  }
}

void DataParallelCommunication::BeforeBackward(const Place& place) {
  if (shards_parameters()) {
    GatherAhead(place, false);
  }
}

// A gradient that is sharded afterwards is held unsharded until then.
void DataParallelCommunication::ReduceBucket(const StageBucket& bucket) {
  const TaskId reduction = Reduce(bucket.elements, bucket.is_of_experts);
  if (shards_gradients()) {
    const std::int64_t bytes = GatheredBytes(bucket.elements, job_.training);
    writer_.Allocate(writer_.last_compute(), kWholeGradients, bytes);
    writer_.Free(reduction, kWholeGradients, bytes);
  }
}

// Buckets are sent in order, each when all its gradients are complete.
void DataParallelCommunication::ReduceReadyBuckets() {
  while (!buckets_.empty() &&
         std::ranges::all_of(buckets_[next_bucket_].units,
                             [this](std::size_t unit) { return passes_done_[unit] > rounds_; })) {
    ReduceBucket(buckets_[next_bucket_]);
    next_bucket_ = (next_bucket_ + 1) % buckets_.size();
    rounds_ += next_bucket_ == 0 ? 1 : 0;
  }
}

void DataParallelCommunication::AfterBackward(const Place& place, bool is_last_pass) {
  if (shards_parameters()) {
    DropUnit(place);
    ReduceUnit(place);
  } else if (is_last_pass || shards_gradients()) {
    ++passes_done_[NumberOf(place)];
    if (job_.framework.data_overlap == DataOverlap::kBuckets) {
      ReduceReadyBuckets();
    } else if (shards_gradients() && place.unit == 0) {
      FinishGradients();
    }
  }
}

void DataParallelCommunication::FinishGradients() {
  ReduceReadyBuckets();
  for (const TaskId reduction : reductions_) {
    writer_.WaitFor(reduction);
  }
  reductions_.clear();
}

void DataParallelCommunication::GatherParameters() {
  if (job_.plan.sharding == Sharding::kReplicated || job_.framework.gathers_in_forward) {
    return;
  }
  const TaskId after = writer_.last_compute();
  for (const StageBucket& bucket : buckets_) {
    writer_.WaitFor(Gather(bucket.elements, bucket.is_of_experts, after));
  }
}

}  // namespace orrery::workload
