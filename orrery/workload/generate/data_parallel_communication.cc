#include "orrery/workload/generate/data_parallel_communication.h"

#include <algorithm>
#include <ranges>
#include <span>

namespace orrery::workload {
namespace {

using collective::CollectiveKind;

constexpr std::string_view kGathered = "gathered parameters";
constexpr std::string_view kWholeGradients = "whole gradients";

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

TaskId DataParallelCommunication::Communication(std::string_view name, GroupRole role,
                                                CollectiveKind kind, std::int64_t bytes,
                                                Phase phase, TaskId after) {
  const bool is_fp32 = phase == Phase::kReduce && job_.training.precision.gradient_bytes == 4;
  PricedOp step;
  step.name = name;
  step.communication = workload::Communication{
      role, kind, bytes, is_fp32 ? collective::Element::kFloat : collective::Element::kBfloat16, 0};
  return writer_.WriteCommunication(writer_.Prepare(std::span(&step, 1), phase, -1).front(), after,
                                    -1);
}

// Sums gradients over ranks; a sharded result stays where it belongs.
TaskId DataParallelCommunication::Reduce(std::int64_t elements, bool of_experts) {
  const Plan& plan = job_.plan;
  const std::int64_t bytes = elements * job_.training.precision.gradient_bytes;
  const bool scatters = plan.sharding != Sharding::kReplicated;
  const CollectiveKind kind =
      scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const GroupRole role = of_experts ? GroupRole::kExpertData : GroupRole::kData;
  TaskId last =
      Communication("reduce gradients", role, kind, bytes, Phase::kReduce, writer_.last_compute());
  const int replicas = DenseReplicas(plan);
  const int shards = ShardRanks(plan, replicas);
  if (scatters && !of_experts && shards < replicas) {
    last = Communication("reduce shards", GroupRole::kReplicas, CollectiveKind::kAllReduce,
                         bytes / shards, Phase::kReduce, last);
  }
  reductions_.push_back(last);
  return last;
}

TaskId DataParallelCommunication::Gather(std::int64_t elements, bool of_experts, TaskId after) {
  return Communication("gather parameters", of_experts ? GroupRole::kExpertData : GroupRole::kData,
                       CollectiveKind::kAllGather,
                       elements * job_.training.precision.gathered_bytes, Phase::kGather, after);
}

// Parameters that are needed first come first.
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
    writer_.Take(last, kGathered, GatheredBytesOf(place));
  }
  return last;
}

// Parameters that stay gathered are counted among the states.
std::int64_t DataParallelCommunication::GatheredBytesOf(const Place& place) const {
  const RankParameters own = tensors_.At(place.chunk, place.unit).parameters();
  const bool has_experts = ExpertReplicas(job_.plan) > 1;
  return job_.plan.sharding == Sharding::kParameters
             ? GatheredBytes(own.dense + (has_experts ? own.experts : 0), job_.training)
             : 0;
}

// The whole parameters of a unit are given back after its last computation.
void DataParallelCommunication::DropUnit(const Place& place) {
  TaskId& gather = gather_of_unit_[NumberOf(place)];
  if (gather != kNone) {
    writer_.GiveBack(writer_.last_compute(), kGathered, GatheredBytesOf(place));
  }
  gather = kNone;
}

// Gradients of a unit are whole until they are reduced.
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
    writer_.Take(writer_.last_compute(), kWholeGradients, bytes);
    writer_.GiveBack(last, kWholeGradients, bytes);
  }
}

// One unit ahead: while a unit computes, the parameters of the next travel; two are held at most.
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
  // The last unit is needed again at once.
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

// A gradient that is sharded afterwards is whole until then.
void DataParallelCommunication::ReduceBucket(const StageBucket& bucket) {
  const TaskId reduction = Reduce(bucket.elements, bucket.is_of_experts);
  if (shards_gradients()) {
    const std::int64_t bytes = GatheredBytes(bucket.elements, job_.training);
    writer_.Take(writer_.last_compute(), kWholeGradients, bytes);
    writer_.GiveBack(reduction, kWholeGradients, bytes);
  }
}

// Buckets go out in order, each when all its gradients are complete.
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
