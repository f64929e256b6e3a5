#include "orrery/search/step_bound.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/search/collective_memo.h"
#include "orrery/search/stage_costs.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/process_groups.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/gradient_buckets.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::search {
namespace {

using workload::ChunkPlace;
using workload::GroupRole;
using workload::Job;
using workload::PipelineSchedule;
using workload::Sharding;
using workload::StageUnit;

// Returns true if gradients of weights come later than those of activations.
bool DefersWeights(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::kZeroBubbleH1 ||
         schedule == PipelineSchedule::kZeroBubble2p || schedule == PipelineSchedule::kZeroBubbleV;
}

/// Data-parallel communication of one stage.
struct DataTimes {
  std::int64_t after_pass_ps = 0;  // each micro-batch but the last waits for it
  std::int64_t tail_ps = 0;        // reductions after the last pass
  std::int64_t gather_ps = 0;      // of parameters after the update
  std::int64_t stream_ps = 0;      // on the stream of dense parameters
  // From the begin of the step until the parameters of a unit are there, by unit of all chunks.
  std::vector<std::int64_t> gathered_ps = {};
};

/// Data-parallel communication of the first rank of a stage.
class DataBound {
 public:
  DataBound(const StagedPlan& plan, int stage)
      : plan_(plan),
        job_(*plan.job),
        units_(plan.units->stages[static_cast<std::size_t>(stage)]),
        dense_(plan.GroupOf(GroupRole::kData, stage)),
        experts_(plan.GroupOf(GroupRole::kExpertData, stage)),
        replicas_(plan.GroupOf(GroupRole::kReplicas, stage)),
        expert_replicas_(plan.GroupOf(GroupRole::kExpertReplicas, stage)),
        chunks_(workload::ChunksInOrder(plan.shape, stage)) {}

  [[nodiscard]] bool shards_parameters() const { return workload::ShardsParameters(job_.plan); }

  [[nodiscard]] DataTimes Times() const {
    if (workload::DenseReplicas(job_.plan) == 1 && workload::ExpertReplicas(job_.plan) == 1) {
      return {};
    }
    return shards_parameters() ? ShardedTimes() : BucketTimes();
  }

  /// Passes of a chunk whose parameters are gathered one unit ahead, and whose gradients are
  /// reduced behind it, as DataParallelCommunication orders them.
  [[nodiscard]] PassTimes ShardedPasses(std::size_t chunk,
                                        const std::vector<PassTimes>& units) const {
    PassTimes passes;
    std::int64_t stream_ps = 0;
    std::vector<std::int64_t> there_ps(units.size(), 0);
    for (std::size_t i = 0; i < units.size(); ++i) {
      for (std::size_t next = i == 0 ? 0 : i + 1; next <= i + 1 && next < units.size(); ++next) {
        stream_ps = std::max(stream_ps, passes.forward_ps) + GatherUnitPs(chunk, next);
        there_ps[next] = stream_ps;
      }
      passes.forward_ps = std::max(passes.forward_ps, there_ps[i]) + units[i].forward_ps;
    }
    // The last unit is still there.
    const bool gathers_again = workload::ReshardsAfterForward(job_.plan);
    stream_ps = 0;
    std::ranges::fill(there_ps, 0);
    for (std::size_t i = units.size(); i-- > 0;) {
      if (gathers_again && i > 0) {
        stream_ps = std::max(stream_ps, passes.backward_ps) + GatherUnitPs(chunk, i - 1);
        there_ps[i - 1] = stream_ps;
      }
      passes.backward_ps =
          std::max(passes.backward_ps, there_ps[i]) + units[i].again_ps + units[i].backward_ps;
      stream_ps = std::max(stream_ps, passes.backward_ps) + ReduceUnitPs(chunk, i);
    }
    return passes;
  }

 private:
  [[nodiscard]] std::int64_t ElementsOf(std::size_t chunk, std::size_t unit,
                                        bool of_experts = false) const {
    const workload::RankParameters own =
        plan_.units->tensors[units_[chunk][unit].kind].parameters();
    return of_experts ? own.experts : own.dense;
  }

  [[nodiscard]] std::int64_t GatherUnitPs(std::size_t chunk, std::size_t unit) const {
    return GatherPs(ElementsOf(chunk, unit), false);
  }

  [[nodiscard]] std::int64_t ReduceUnitPs(std::size_t chunk, std::size_t unit) const {
    return ReduceOnStreamPs(ElementsOf(chunk, unit));
  }

  [[nodiscard]] std::int64_t ReducePs(std::int64_t elements, bool of_experts) const {
    const int element_bytes = job_.training.precision.gradient_bytes;
    const bool scatters = job_.plan.sharding != Sharding::kReplicated;
    workload::Communication sum{
        .role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
        .kind = scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
        .bytes = elements * element_bytes,
        .element = element_bytes == 4 ? DataType::kFp32 : DataType::kBf16};
    std::int64_t ps = plan_.collectives->DurationPs(sum, of_experts ? experts_ : dense_);
    const PlacedGroup& replicas = of_experts ? expert_replicas_ : replicas_;
    if (scatters && replicas.gpus.size() > 1) {
      sum.role = of_experts ? GroupRole::kExpertReplicas : GroupRole::kReplicas;
      sum.kind = CollectiveKind::kAllReduce;
      sum.bytes /=
          of_experts ? workload::ExpertShards(job_.plan) : workload::DenseShards(job_.plan);
      ps += plan_.collectives->DurationPs(sum, replicas);
    }
    return ps;
  }

  [[nodiscard]] std::int64_t GatherPs(std::int64_t elements, bool of_experts) const {
    return plan_.collectives->DurationPs(
        {.role = of_experts ? GroupRole::kExpertData : GroupRole::kData,
         .kind = CollectiveKind::kAllGather,
         .bytes = elements * job_.training.precision.gathered_bytes},
        of_experts ? experts_ : dense_);
  }

  // Parameters of all units but the last of a chunk are gathered for both passes (ZeRO-3), and
  // gradients of all are reduced after the backward pass.
  [[nodiscard]] DataTimes ShardedTimes() const {
    DataTimes times;
    std::int64_t pass_ps = 0;
    for (std::size_t chunk = 0; chunk < units_.size(); ++chunk) {
      for (std::size_t i = 0; i < units_[chunk].size(); ++i) {
        const bool is_gathered =
            workload::ReshardsAfterForward(job_.plan) && i + 1 < units_[chunk].size();
        pass_ps += ReduceUnitPs(chunk, i) + (is_gathered ? 2 * GatherUnitPs(chunk, i) : 0);
      }
    }
    times.stream_ps = pass_ps * NumReductions();
    return times;
  }

  // Of a unit in a step.
  [[nodiscard]] std::int64_t NumReductions() const {
    const bool has_copies = plan_.shape.schedule == PipelineSchedule::kDualPipe;
    return workload::ReducesEachPass(job_.plan) ? plan_.shape.microbatches / (has_copies ? 2 : 1)
                                                : 1;
  }

  // Without the sum over copies of shards, which has a stream of its own.
  [[nodiscard]] std::int64_t ReduceOnStreamPs(std::int64_t elements) const {
    const int element_bytes = job_.training.precision.gradient_bytes;
    return plan_.collectives->DurationPs(
        {.role = GroupRole::kData,
         .kind = CollectiveKind::kReduceScatter,
         .bytes = elements * element_bytes,
         .element = element_bytes == 4 ? DataType::kFp32 : DataType::kBf16},
        dense_);
  }

  /// Buckets of gradients, and the units of all chunks that these are of.
  struct StageBuckets {
    std::vector<workload::GradientBucket> buckets;
    std::vector<std::size_t> unit_of_gradient;
  };

  [[nodiscard]] StageBuckets Buckets(bool of_experts) const {
    std::vector<workload::Gradient> gradients;
    StageBuckets stage;
    for (const std::size_t chunk : chunks_) {
      std::size_t number = 0;
      for (std::size_t before = 0; before < chunk; ++before) {
        number += units_[before].size();
      }
      for (const StageUnit& unit : units_[chunk]) {
        const workload::UnitTensors& own = plan_.units->tensors[unit.kind];
        for (const std::int64_t elements : of_experts ? own.experts : own.dense) {
          stage.unit_of_gradient.push_back(number);
          gradients.push_back(
              {.elements = elements, .element_bytes = job_.training.precision.gradient_bytes});
        }
        ++number;
      }
    }
    const int ranks =
        of_experts ? workload::ExpertReplicas(job_.plan) : workload::DenseReplicas(job_.plan);
    if (!gradients.empty() && ranks > 1) {
      stage.buckets = workload::BucketsOf(gradients, job_.framework, ranks,
                                          job_.plan.sharding != Sharding::kReplicated);
    }
    return stage;
  }

  [[nodiscard]] DataTimes BucketTimes() const {
    DataTimes longest;
    for (const bool of_experts : {false, true}) {
      const StageBuckets stage = Buckets(of_experts);
      const DataTimes times = TimesOf(stage.buckets, of_experts);
      longest.after_pass_ps = std::max(longest.after_pass_ps, times.after_pass_ps);
      longest.tail_ps = std::max(longest.tail_ps, times.tail_ps);
      longest.gather_ps = std::max(longest.gather_ps, times.gather_ps);
      longest.stream_ps = std::max(longest.stream_ps, times.stream_ps);
      if (job_.framework.gathers_in_forward && job_.plan.sharding != Sharding::kReplicated) {
        AddGathers(stage, of_experts, longest.gathered_ps);
      }
    }
    return longest;
  }

  // At the begin of a step, in the order in which the forward pass needs them.
  void AddGathers(const StageBuckets& stage, bool of_experts,
                  std::vector<std::int64_t>& gathered_ps) const {
    std::int64_t stream_ps = 0;
    for (const workload::GradientBucket& bucket : std::views::reverse(stage.buckets)) {
      stream_ps += GatherPs(bucket.elements, of_experts);
      for (const std::size_t gradient : bucket.gradients) {
        const std::size_t unit = stage.unit_of_gradient[gradient];
        gathered_ps.resize(std::max(gathered_ps.size(), unit + 1), 0);
        gathered_ps[unit] = std::max(gathered_ps[unit], stream_ps);
      }
    }
  }

  [[nodiscard]] DataTimes TimesOf(const std::vector<workload::GradientBucket>& buckets,
                                  bool of_experts) const {
    const bool reduces_each = workload::ReducesEachPass(job_.plan);
    std::int64_t reduce_ps = 0;
    std::int64_t gather_ps = 0;
    std::int64_t last_ps = 0;
    for (const workload::GradientBucket& bucket : buckets) {
      last_ps = ReducePs(bucket.elements, of_experts);
      reduce_ps += last_ps;
      gather_ps +=
          job_.plan.sharding != Sharding::kReplicated ? GatherPs(bucket.elements, of_experts) : 0;
    }
    if (reduces_each) {  // unit by unit
      reduce_ps = UnitReductionsPs(of_experts);
      last_ps = ReducePs(ElementsOf(0, 0, of_experts), of_experts);
    }
    const bool has_chunks = units_.size() > 1;
    const bool is_after = job_.framework.data_overlap == workload::DataOverlap::kAfterBackward;
    // The last bucket is of the first chunk, whose pass is the last one of other schedules.
    const bool ends_with_first =
        !has_chunks || plan_.shape.schedule == PipelineSchedule::kInterleaved;
    DataTimes times;
    times.tail_ps = is_after && !(reduces_each && has_chunks) ? reduce_ps
                    : ends_with_first                         ? last_ps
                                                              : 0;
    times.gather_ps = job_.framework.gathers_in_forward ? 0 : gather_ps;
    times.after_pass_ps = is_after && reduces_each && !has_chunks ? reduce_ps : 0;
    // Sums over copies of shards have another stream.
    times.stream_ps = replicas_.gpus.size() > 1 ? 0 : reduce_ps * NumReductions();
    return times;
  }

  // Of one backward pass through all units.
  [[nodiscard]] std::int64_t UnitReductionsPs(bool of_experts) const {
    std::int64_t sum_ps = 0;
    for (std::size_t chunk = 0; chunk < units_.size(); ++chunk) {
      for (std::size_t unit = 0; unit < units_[chunk].size(); ++unit) {
        sum_ps += ReducePs(ElementsOf(chunk, unit, of_experts), of_experts);
      }
    }
    return sum_ps;
  }

  const StagedPlan& plan_;
  const Job& job_;
  const workload::StageUnits& units_;
  const PlacedGroup& dense_;
  const PlacedGroup& experts_;
  const PlacedGroup& replicas_;
  const PlacedGroup& expert_replicas_;
  std::vector<std::size_t> chunks_;
};

class StepBound {
 public:
  explicit StepBound(const StagedPlan& plan)
      : plan_(plan),
        job_(*plan.job),
        shape_(plan.shape),
        waits_(!RunsPairs(job_)),
        defers_(DefersWeights(plan.shape.schedule)) {
    for (int stage = 0; stage < shape_.stages; ++stage) {
      AddStage(stage);
    }
    ways_.resize(passes_.size(), std::vector<std::optional<Ways>>(Index(shape_.chunks)));
  }

  [[nodiscard]] std::int64_t Ps() {
    std::int64_t bound_ps = 0;
    for (int stage = 0; stage < shape_.stages; ++stage) {
      bound_ps = std::max({bound_ps, StagePs(stage), host_ps_[Index(stage)]});
    }
    return bound_ps;
  }

 private:
  /// From the entry of a micro-batch to a chunk and from there back, through all chunks before it;
  /// back where no gradients of weights are deferred.
  struct Ways {
    std::int64_t there_ps = 0;
    std::int64_t back_ps = 0;
  };

  static std::size_t Index(int number) { return static_cast<std::size_t>(number); }

  void AddStage(int stage) {
    const std::vector<UnitTimes>& times = *plan_.unit_times[Index(stage)];
    const DataBound data(plan_, stage);
    const bool shards_parameters =
        data.shards_parameters() && waits_ && !defers_ && !workload::StaysGathered(job_.plan);
    std::vector<PassTimes>& chunks = passes_.emplace_back();
    std::int64_t host_ps = 0;
    for (const std::vector<StageUnit>& chunk : plan_.units->stages[Index(stage)]) {
      std::vector<PassTimes> units;
      PassTimes sum;
      for (const StageUnit& unit : chunk) {
        const UnitTimes& of_unit = times[unit.kind];
        units.push_back(of_unit.Of(unit.recomputes, waits_));
        sum += units.back();
        host_ps += of_unit.host_ps +
                   (unit.recomputes ? of_unit.host_whole_again_ps : of_unit.host_again_ps);
      }
      chunks.push_back(shards_parameters ? data.ShardedPasses(chunks.size(), units) : sum);
    }
    host_ps_.push_back(host_ps * Passes());
  }

  // Of a chunk in a step. The chunks of DualPipe are copies that share the micro-batches.
  [[nodiscard]] std::int64_t Passes() const {
    return shape_.schedule == PipelineSchedule::kDualPipe ? shape_.microbatches / 2
                                                          : shape_.microbatches;
  }

  [[nodiscard]] std::int64_t WorkPs(int stage) const {
    std::int64_t sum_ps = 0;
    for (const PassTimes& pass : passes_[Index(stage)]) {
      // Schedules that defer gradients of weights need not do so for all micro-batches.
      const std::int64_t split_ps = pass.input_ps + pass.weights_ps;
      sum_ps += pass.forward_ps + pass.again_ps +
                (defers_ ? std::min(split_ps, pass.backward_ps) : pass.backward_ps);
    }
    return sum_ps * Passes();
  }

  [[nodiscard]] const Ways& WaysOf(ChunkPlace place) {
    std::optional<Ways>& known = ways_[Index(place.stage)][Index(place.chunk)];
    if (known) {
      return *known;
    }
    known.emplace();
    if (const std::optional<ChunkPlace> before = workload::ChunkBefore(shape_, place)) {
      const PassTimes& pass = passes_[Index(before->stage)][Index(before->chunk)];
      const std::int64_t message_ps = MessagePs(before->stage, place.stage);
      const Ways ways = WaysOf(*before);
      known->there_ps = ways.there_ps + pass.forward_ps + message_ps;
      known->back_ps =
          ways.back_ps + message_ps + pass.again_ps + (defers_ ? pass.input_ps : pass.backward_ps);
    }
    return *known;
  }

  // The shortest of all chunks of a stage: nothing is said about which is first or last.
  [[nodiscard]] Ways ShortestWays(int stage) {
    Ways shortest = WaysOf({stage, 0});
    for (int chunk = 1; chunk < shape_.chunks; ++chunk) {
      const Ways& ways = WaysOf({stage, chunk});
      shortest.there_ps = std::min(shortest.there_ps, ways.there_ps);
      shortest.back_ps = std::min(shortest.back_ps, ways.back_ps);
    }
    return shortest;
  }

  [[nodiscard]] std::int64_t MessagePs(int from, int to) const {
    if (from == to) {
      return 0;
    }
    const std::array<workload::Rank, 2> ranks{workload::RankAt(job_.plan, {.pp = from}),
                                              workload::RankAt(job_.plan, {.pp = to})};
    return plan_.collectives->DurationPs({.role = GroupRole::kNextForwardOut,
                                          .kind = CollectiveKind::kSendRecv,
                                          .bytes = plan_.units->message_bytes},
                                         plan_.collectives->Place(ranks));
  }

  [[nodiscard]] std::int64_t StagePs(int stage) {
    const Ways ways = ShortestWays(stage);
    // Other stages than the ends have about what the first one has; looking at all takes long.
    const bool is_end = stage == 0 || stage + 1 == shape_.stages;
    const DataTimes data = is_end ? DataBound(plan_, stage).Times() : DataTimes{};
    const std::int64_t work_ps = ways.there_ps + GatheringPs(stage, ways.there_ps, data) +
                                 WorkPs(stage) + data.after_pass_ps * (shape_.microbatches - 1);
    // A deferred pass may be the last one of a stage.
    const std::int64_t back_ps = defers_ || !waits_ ? 0 : ways.back_ps;
    const std::int64_t end_ps = data.tail_ps + std::max(data.gather_ps, OffloadedPs(stage));
    return std::max({work_ps + end_ps, work_ps + back_ps, data.stream_ps});
  }

  // The time that the first forward pass waits for parameters that are gathered at the begin of the
  // step.
  [[nodiscard]] std::int64_t GatheringPs(int stage, std::int64_t begin_ps,
                                         const DataTimes& data) const {
    if (data.gathered_ps.empty() || !waits_) {
      return 0;
    }
    const std::vector<StageUnit>& units = plan_.units->stages[Index(stage)].front();
    std::int64_t end_ps = begin_ps;
    std::int64_t alone_ps = begin_ps;
    for (std::size_t i = 0; i < units.size() && i < data.gathered_ps.size(); ++i) {
      const std::int64_t forward_ps =
          (*plan_.unit_times[Index(stage)])[units[i].kind].waiting.forward_ps;
      end_ps = std::max(end_ps, data.gathered_ps[i]) + forward_ps;
      alone_ps += forward_ps;
    }
    return end_ps - alone_ps;
  }

  // The update in the memory of the host.
  [[nodiscard]] std::int64_t OffloadedPs(int stage) const {
    if (!job_.plan.offload_optimizer ||
        job_.training.optimizer == workload::OptimizerKind::kSkipped) {
      return 0;
    }
    const workload::StageParameters parameters =
        workload::StageTensors{&plan_.units->stages[Index(stage)], &plan_.units->tensors}
            .Parameters();
    return workload::OffloadedUpdatePs(job_,
                                       workload::OwnedParameters(job_.plan, parameters.trained));
  }

  const StagedPlan& plan_;
  const Job& job_;
  const workload::PipelineShape& shape_;
  bool waits_;
  bool defers_;
  std::vector<std::vector<PassTimes>> passes_;          // by stage and chunk
  std::vector<std::vector<std::optional<Ways>>> ways_;  // the same
  std::vector<std::int64_t> host_ps_;                   // by stage
};

}  // namespace

bool RunsPairs(const Job& job) {
  return job.plan.schedule == PipelineSchedule::kDualPipe ||
         (job.framework.overlaps_experts && job.plan.ep > 1 && job.plan.pp == 1) ||
         workload::PipelineShapeOf(job).pairs_passes;
}

std::int64_t StepBoundPs(const StagedPlan& plan) {
  return StepBound(plan).Ps();
}

}  // namespace orrery::search
