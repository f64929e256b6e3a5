#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/gradient_buckets.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/sharding.h"

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
  DataParallelCommunication(const Job& job, const StageTensors& tensors, const PipelineShape& shape,
                            int stage, Writer& writer)
      : job_(job),
        tensors_(tensors),
        writer_(writer),
        chunks_(ChunksInOrder(shape, stage)),
        ends_(tensors.units->size()) {
    std::size_t count = 0;
    for (std::size_t chunk = 0; chunk < tensors_.units->size(); ++chunk) {
      first_of_chunk_.push_back(count);
      count += (*tensors_.units)[chunk].size();
      ends_[chunk] = !ChunkAfter(shape, {stage, static_cast<int>(chunk)});
    }
    is_complete_.assign(count, false);
    gathers_of_unit_.resize(count);
    early_gathers_.resize(count);
    if (!ShardsParameters(job_.plan)) {
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
      if (ShardsOf(bucket.is_of_experts) == 1) {
        continue;
      }
      const TaskId gather =
          Gather(GatheredBytes(bucket.elements, job_.training), bucket.is_of_experts, kNone);
      for (const std::size_t unit : bucket.units) {
        early_gathers_[unit].push_back(gather);
      }
    }
  }

  void BeforeForward(const Place& place, bool is_first_pass) {
    if (ShardsParameters(job_.plan)) {
      GatherAhead(place, true);
    } else if (is_first_pass) {
      for (const TaskId gather : early_gathers_[NumberOf(place)]) {
        writer_.WaitFor(gather);
      }
    }
  }

  void AfterForward(const Place& place) {
    // The last unit of the model is needed again immediately.
    const bool is_last = place.unit + 1 == (*tensors_.units)[place.chunk].size();
    if (ReshardsAfterForward(job_.plan) && !(is_last && ends_[place.chunk])) {
      DropUnit(place);
    }
  }

  void BeforeBackward(const Place& place) {
    if (ShardsParameters(job_.plan)) {
      GatherAhead(place, false);
    }
  }

  /// After the gradients of activations: those of weights need no parameters.
  void AfterBackward(const Place& place) {
    if (ShardsParameters(job_.plan) && !StaysGathered(job_.plan)) {
      DropUnit(place);
    }
  }

  /// After the gradients of weights. `is_last_pass`: no further micro-batch of this step runs
  /// through the unit.
  void AfterWeights(const Place& place, bool is_last_pass) {
    if (ReducesEachPass(job_.plan) || (is_last_pass && StaysGathered(job_.plan))) {
      ReduceUnit(place);
    } else if (is_last_pass) {
      is_complete_[NumberOf(place)] = true;
      if (job_.framework.data_overlap == DataOverlap::kBuckets) {
        ReduceReadyBuckets();
      }
    }
  }

  /// After the last pass: the next computation waits for all gradients.
  void FinishGradients() {
    ReduceReadyBuckets();
    AwaitReductions();
  }

  /// After the optimizer: sharded parameters are gathered, unless the next step does it.
  void GatherParameters() {
    if (job_.plan.sharding == Sharding::kReplicated || job_.framework.gathers_in_forward) {
      return;
    }
    const TaskId after = writer_.last_compute();
    for (const StageBucket& bucket : buckets_) {
      if (ShardsOf(bucket.is_of_experts) > 1) {
        writer_.WaitFor(
            Gather(GatheredBytes(bucket.elements, job_.training), bucket.is_of_experts, after));
      }
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
    for (const std::size_t chunk : chunks_) {
      std::size_t number = first_of_chunk_[chunk];
      for (const StageUnit& unit : (*tensors_.units)[chunk]) {
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

  [[nodiscard]] std::size_t NumberOf(const Place& place) const {
    return first_of_chunk_[place.chunk] + place.unit;
  }

  TaskId Write(std::string_view name, const Communication& communication, Phase phase,
               TaskId after) {
    const LayerOp op = CommunicationOp(name, communication);
    return writer_.WriteCommunication(writer_.Prepare(std::span(&op, 1), phase, -1).front(), after,
                                      -1);
  }

  // Sums gradients over ranks; a sharded result stays where it belongs, and is summed over the
  // ranks that have the same shard.
  TaskId Reduce(std::int64_t elements, bool of_experts) {
    const Plan& plan = job_.plan;
    const int element_bytes = job_.training.precision.gradient_bytes;
    const bool scatters = plan.sharding != Sharding::kReplicated;
    const int replicas = of_experts ? ExpertReplicas(plan) : DenseReplicas(plan);
    const int shards = ShardsOf(of_experts);
    Communication sum = {
        .role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
        .kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
        .bytes = elements * element_bytes,
        .element = element_bytes == 4 ? DataType::kFp32 : DataType::kBf16};
    TaskId last = writer_.last_compute();
    if (shards > 1) {
      last = WriteReduction("reduce gradients", sum, last);
    }
    if (shards < replicas) {
      sum.role = of_experts ? GroupRole::kExpertReplicas : GroupRole::kReplicas;
      sum.kind = CollectiveKind::kAllReduce;
      sum.bytes /= shards;
      last = WriteReduction("reduce shards", sum, last);
    }
    reductions_.push_back(last);
    return last;
  }

  TaskId WriteReduction(std::string_view name, const Communication& sum, TaskId after) {
    const TaskId task = Write(name, sum, Phase::kReduce, after);
    if (job_.framework.data_overlap == DataOverlap::kAfterBackward) {
      writer_.WaitAsComputation(task);  // for the last message of the pipeline, if it is awaited
    }
    return task;
  }

  [[nodiscard]] int ShardsOf(bool of_experts) const {
    return of_experts ? ExpertShards(job_.plan) : DenseShards(job_.plan);
  }

  TaskId Gather(std::int64_t bytes, bool of_experts, TaskId after) {
    return Write("gather parameters",
                 {.role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
                  .kind = CollectiveKind::kAllGather,
                  .bytes = bytes},
                 Phase::kGather, after);
  }

  // Dense parameters and experts are gathered by streams of their own.
  void GatherUnit(const Place& place) {
    const TaskId after = writer_.last_compute();
    std::vector<TaskId>& gathers = gathers_of_unit_[NumberOf(place)].emplace();
    for (const UnitShare& share : SharesOf(place)) {
      if (share.shards > 1) {
        gathers.push_back(Gather(BytesOf(share), share.is_of_experts, after));
        writer_.Allocate(gathers.back(), kGathered, GatheredBytesOf(share));
      }
    }
  }

  // The gathered parameters of a unit are freed after its last computation.
  void DropUnit(const Place& place) {
    std::optional<std::vector<TaskId>>& gathers = gathers_of_unit_[NumberOf(place)];
    for (const UnitShare& share : SharesOf(place)) {
      if (gathers && share.shards > 1) {
        writer_.Free(writer_.last_compute(), kGathered, GatheredBytesOf(share));
      }
    }
    gathers.reset();
  }

  // Whole gradients of a unit exist until they are reduced. Before those of the next unit are sent,
  // the GPU waits for these: no more than two units have whole ones (FSDP2, Megatron-FSDP). Those
  // that accumulated through the step count as states.
  void ReduceUnit(const Place& place) {
    AwaitReductions();
    for (const UnitShare& share : SharesOf(place)) {
      if (share.replicas > 1 && share.elements > 0) {
        const TaskId reduction = Reduce(share.elements, share.is_of_experts);
        const std::int64_t bytes =
            StaysGathered(job_.plan) ? 0 : share.elements * job_.training.precision.gradient_bytes;
        writer_.Allocate(writer_.last_compute(), kWholeGradients, bytes);
        writer_.Free(reduction, kWholeGradients, bytes);
      }
    }
    if (job_.framework.data_overlap == DataOverlap::kAfterBackward) {
      AwaitReductions();
    }
  }

  void AwaitReductions() {
    for (const TaskId reduction : reductions_) {
      writer_.WaitFor(reduction);
    }
    reductions_.clear();
  }

  // The dense parameters of a unit, or its experts, and the ranks that have the same.
  struct UnitShare {
    std::int64_t elements = 0;
    bool is_of_experts = false;
    int replicas = 1;
    int shards = 1;
    std::int64_t frozen_bytes = 0;
  };

  [[nodiscard]] std::vector<UnitShare> SharesOf(const Place& place) const {
    const UnitTensors& tensors = tensors_.At(place.chunk, place.unit);
    const RankParameters own = tensors.parameters();
    std::vector<UnitShare> shares;
    if (own.dense > 0 || tensors.frozen_bytes > 0) {
      shares.push_back(
          {own.dense, false, DenseReplicas(job_.plan), ShardsOf(false), tensors.frozen_bytes});
    }
    if (own.experts > 0) {
      shares.push_back({own.experts, true, ExpertReplicas(job_.plan), ShardsOf(true)});
    }
    return shares;
  }

  // Parameters that stay gathered count as states.
  [[nodiscard]] std::int64_t GatheredBytesOf(const UnitShare& share) const {
    return ReshardsAfterForward(job_.plan) ? BytesOf(share) : 0;
  }

  [[nodiscard]] std::int64_t BytesOf(const UnitShare& share) const {
    return GatheredBytes(share.elements, job_.training) + share.frozen_bytes;
  }

  // One unit ahead: the parameters of the next unit are gathered while a unit computes.
  void GatherAhead(const Place& place, bool is_forward) {
    const std::optional<std::vector<TaskId>>& own = gathers_of_unit_[NumberOf(place)];
    if (!own) {
      GatherUnit(place);
    }
    const bool has_next =
        is_forward ? place.unit + 1 < (*tensors_.units)[place.chunk].size() : place.unit > 0;
    if (has_next) {
      const Place next = {place.chunk, is_forward ? place.unit + 1 : place.unit - 1};
      const bool is_needed = is_forward || tensors_.At(next.chunk, next.unit).has_backward;
      if (is_needed && !gathers_of_unit_[NumberOf(next)]) {
        GatherUnit(next);
      }
    }
    for (const TaskId gather : *own) {
      writer_.WaitFor(gather);
    }
  }

  // Buckets are sent in order, each when all its gradients are complete.
  void ReduceReadyBuckets() {
    while (next_bucket_ < buckets_.size() &&
           std::ranges::all_of(buckets_[next_bucket_].units,
                               [this](std::size_t unit) { return is_complete_[unit]; })) {
      Reduce(buckets_[next_bucket_].elements, buckets_[next_bucket_].is_of_experts);
      ++next_bucket_;
    }
  }

  const Job& job_;
  StageTensors tensors_;
  Writer& writer_;
  std::vector<std::size_t> chunks_;          // in the order of the model
  std::vector<bool> ends_;                   // by chunk: with the last layer of the model
  std::vector<std::size_t> first_of_chunk_;  // number of its first unit
  std::vector<StageBucket> buckets_;
  std::vector<bool> is_complete_;   // by unit: its gradients of the step
  std::size_t next_bucket_ = 0;     // the first one that is not sent yet
  std::vector<TaskId> reductions_;  // not waited for yet
  // By unit, while it has parameters; nothing to gather where it has none.
  std::vector<std::optional<std::vector<TaskId>>> gathers_of_unit_;
  std::vector<std::vector<TaskId>> early_gathers_;  // by unit, for the first pass
};

}  // namespace orrery::workload
