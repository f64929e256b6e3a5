#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/gradient_buckets.h"

namespace orrery::workload {

/// A bucket of gradients of a stage, and the units that fill it.
struct StageBucket {
  bool is_of_experts = false;
  std::int64_t elements = 0;
  std::vector<std::size_t> units = {};  // numbered through all chunks, each once
};

/// Adds the communication of data-parallel ranks to a program: gradient buckets and gathers of
/// sharded parameters, according to the plan's sharding and the framework's overlap. `Writer` is a
/// ProgramWriter, or something that only tells when its tasks would end.
template <typename Writer>
class DataParallelCommunication {
 public:
  DataParallelCommunication(const Job& job, const StageTensors& tensors, Writer& writer)
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
      AddBuckets(false);
      AddBuckets(true);
    }
  }

  struct Place {
    std::size_t chunk = 0;
    std::size_t unit = 0;
  };

  /// Before the first pass: gathers parameters while the first micro-batch runs.
  void BeginStep() {
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

  void BeforeForward(const Place& place, bool is_first_pass) {
    if (shards_parameters()) {
      GatherAhead(place, true);
    } else if (is_first_pass) {
      for (const TaskId gather : early_gathers_[NumberOf(place)]) {
        writer_.WaitFor(gather);
      }
    }
  }

  void AfterForward(const Place& place) {
    // The last unit is needed again immediately.
    const bool is_last = place.unit + 1 == (*tensors_.units)[place.chunk].size();
    if (shards_parameters() && job_.plan.sharding == Sharding::kParameters && !is_last) {
      DropUnit(place);
    }
  }

  void BeforeBackward(const Place& place) {
    if (shards_parameters()) {
      GatherAhead(place, false);
    }
  }

  /// `is_last_pass`: no further micro-batch of this step runs through the unit.
  void AfterBackward(const Place& place, bool is_last_pass) {
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

  /// After the last pass: the next computation waits for all gradients.
  void FinishGradients() {
    ReduceReadyBuckets();
    for (const TaskId reduction : reductions_) {
      writer_.WaitFor(reduction);
    }
    reductions_.clear();
  }

  /// After the optimizer: sharded parameters are gathered, unless the next step does it.
  void GatherParameters() {
    if (job_.plan.sharding == Sharding::kReplicated || job_.framework.gathers_in_forward) {
      return;
    }
    const TaskId after = writer_.last_compute();
    for (const StageBucket& bucket : buckets_) {
      writer_.WaitFor(Gather(bucket.elements, bucket.is_of_experts, after));
    }
  }

 private:
  static constexpr std::string_view kGathered = "gathered parameters";
  static constexpr std::string_view kWholeGradients = "whole gradients";

  // The buckets of a stage in the order they are sent; those of experts are separate, since other
  // ranks share them.
  void AddBuckets(bool of_experts) {
    std::vector<Gradient> gradients;
    std::vector<std::size_t> unit_of_gradient;
    std::size_t number = 0;
    for (const std::vector<StageUnit>& chunk : *tensors_.units) {
      for (const StageUnit& unit : chunk) {
        const UnitTensors& own = (*tensors_.of_kind)[unit.kind];
        for (const std::int64_t elements : of_experts ? own.experts : own.dense) {
          gradients.push_back(
              {.elements = elements, .element_bytes = job_.training.precision.gradient_bytes});
          unit_of_gradient.push_back(number);
        }
        ++number;
      }
    }
    const int ranks = of_experts ? ExpertReplicas(job_.plan) : DenseReplicas(job_.plan);
    if (gradients.empty() || ranks == 1) {
      return;
    }
    const bool is_sharded = job_.plan.sharding != Sharding::kReplicated;
    for (const GradientBucket& made : BucketsOf(gradients, job_.framework, ranks, is_sharded)) {
      std::set<std::size_t> units;
      for (const std::size_t gradient : made.gradients) {
        units.insert(unit_of_gradient[gradient]);
      }
      buckets_.push_back({of_experts, made.elements, {units.begin(), units.end()}});
    }
  }

  [[nodiscard]] bool shards_parameters() const {
    return DenseReplicas(job_.plan) > 1 && (job_.plan.sharding == Sharding::kParameters ||
                                            job_.plan.sharding == Sharding::kKeepGathered);
  }

  /// ZeRO-2: no rank can accumulate unsharded gradients over micro-batches, so each micro-batch is
  /// reduced.
  [[nodiscard]] bool shards_gradients() const { return job_.plan.sharding == Sharding::kGradients; }

  [[nodiscard]] std::size_t NumberOf(const Place& place) const {
    return first_of_chunk_[place.chunk] + place.unit;
  }

  TaskId Write(std::string_view name, const Communication& communication, Phase phase,
               TaskId after) {
    const LayerOp op = CommunicationOp(name, communication);
    return writer_.WriteCommunication(writer_.Prepare(std::span(&op, 1), phase, -1).front(), after,
                                      -1);
  }

  // Sums gradients over ranks; a sharded result stays where it belongs.
  TaskId Reduce(std::int64_t elements, bool of_experts) {
    const Plan& plan = job_.plan;
    const int element_bytes = job_.training.precision.gradient_bytes;
    const bool scatters = plan.sharding != Sharding::kReplicated;
    Communication sum = {
        .role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
        .kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
        .bytes = elements * element_bytes,
        .element = element_bytes == 4 ? DataType::kFp32 : DataType::kBf16};
    TaskId last = Write("reduce gradients", sum, Phase::kReduce, writer_.last_compute());
    if (job_.framework.data_overlap == DataOverlap::kAfterBackward) {
      writer_.WaitAsComputation(last);  // for the last message of the pipeline, if it is awaited
    }
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

  TaskId Gather(std::int64_t elements, bool of_experts, TaskId after) {
    return Write("gather parameters",
                 {.role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
                  .kind = CollectiveKind::kAllGather,
                  .bytes = elements * job_.training.precision.gathered_bytes},
                 Phase::kGather, after);
  }

  TaskId GatherUnit(const Place& place) {
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

  // The gathered parameters of a unit are freed after its last computation.
  void DropUnit(const Place& place) {
    TaskId& gather = gather_of_unit_[NumberOf(place)];
    if (gather != kNone) {
      writer_.Free(writer_.last_compute(), kGathered, GatheredBytesOf(place));
    }
    gather = kNone;
  }

  // Unsharded gradients of a unit exist until they are reduced.
  void ReduceUnit(const Place& place) {
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

  // Parameters that stay gathered count as states.
  [[nodiscard]] std::int64_t GatheredBytesOf(const Place& place) const {
    const RankParameters own = tensors_.At(place.chunk, place.unit).parameters();
    const bool has_experts = ExpertReplicas(job_.plan) > 1;
    return job_.plan.sharding == Sharding::kParameters
               ? GatheredBytes(own.dense + (has_experts ? own.experts : 0), job_.training)
               : 0;
  }

  // One unit ahead: the parameters of the next unit are gathered while a unit computes.
  void GatherAhead(const Place& place, bool is_forward) {
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

  // Buckets are sent in order, each when all its gradients are complete.
  void ReduceReadyBuckets() {
    while (!buckets_.empty() &&
           std::ranges::all_of(buckets_[next_bucket_].units,
                               [this](std::size_t unit) { return passes_done_[unit] > rounds_; })) {
      ReduceBucket(buckets_[next_bucket_]);
      next_bucket_ = (next_bucket_ + 1) % buckets_.size();
      rounds_ += next_bucket_ == 0 ? 1 : 0;
    }
  }

  // A gradient that is sharded afterwards is held unsharded until then.
  void ReduceBucket(const StageBucket& bucket) {
    const TaskId reduction = Reduce(bucket.elements, bucket.is_of_experts);
    if (shards_gradients()) {
      const std::int64_t bytes = GatheredBytes(bucket.elements, job_.training);
      writer_.Allocate(writer_.last_compute(), kWholeGradients, bytes);
      writer_.Free(reduction, kWholeGradients, bytes);
    }
  }

  const Job& job_;
  StageTensors tensors_;
  Writer& writer_;
  std::vector<std::size_t> first_of_chunk_;  // number of its first unit
  std::vector<StageBucket> buckets_;
  std::vector<int> passes_done_;                    // by unit: how often gradients were complete
  int rounds_ = 0;                                  // how often all buckets were sent
  std::size_t next_bucket_ = 0;                     // the first one that is not sent yet
  std::vector<TaskId> reductions_;                  // not waited for yet
  std::vector<TaskId> gather_of_unit_;              // the last one that was issued
  std::vector<std::vector<TaskId>> early_gathers_;  // by unit, for the first pass
};

}  // namespace orrery::workload
