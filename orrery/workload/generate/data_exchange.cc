#include "orrery/workload/generate/data_exchange.h"

#include <algorithm>
#include <array>

namespace orrery::workload {
namespace {

using collective::CollectiveKind;

std::int64_t BucketBytes(const Job& job) {
  const Framework& framework = job.framework;
  if (framework.data_overlap == DataOverlap::kAfterBackward) {
    return 0;
  }
  if (framework.least_bucket_elements > 0) {
    const std::int64_t scaled =
        framework.scales_bucket_with_ranks ? std::int64_t{1'000'000} * job.plan.dp : 0;
    return std::max(framework.least_bucket_elements, scaled) *
           job.training.precision.gradient_bytes;
  }
  return framework.bucket_bytes;
}

}  // namespace

DataExchange::DataExchange(const Job& job, const StageUnits& units, ProgramWriter& writer)
    : job_(job), units_(units), writer_(writer), bucket_bytes_(BucketBytes(job)) {
  for (const std::vector<StageUnit>& chunk : units) {
    gather_of_.emplace_back(chunk.size(), kNone);
    early_gather_.emplace_back(chunk.size(), kNone);
  }
}

bool DataExchange::shards_parameters() const {
  return job_.plan.dp * job_.plan.cp > 1 && (job_.plan.sharding == Sharding::kParameters ||
                                             job_.plan.sharding == Sharding::kKeepGathered);
}

bool DataExchange::reduces_buckets() const {
  return job_.plan.dp * job_.plan.cp > 1 && !shards_parameters();
}

TaskId DataExchange::Exchange(std::string_view name, Slot slot, CollectiveKind kind,
                              std::int64_t bytes, Phase phase, TaskId after) {
  PricedStep step;
  step.name = name;
  step.exchange = workload::Exchange{slot, kind, bytes,
                                     job_.training.precision.gradient_bytes == 4 &&
                                             phase == Phase::kReduce
                                         ? collective::Element::kFloat
                                         : collective::Element::kBfloat16,
                                     0};
  const PreparedSteps prepared = writer_.Prepare(std::span(&step, 1), phase, -1);
  return writer_.WriteExchange(prepared.front(), after, -1);
}

TaskId DataExchange::Reduce(const LocalParameters& parameters, TaskId after) {
  const Plan& plan = job_.plan;
  const int bytes = job_.training.precision.gradient_bytes;
  const bool scatters = plan.sharding != Sharding::kReplicated;
  const CollectiveKind kind =
      scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  TaskId last = kNone;
  if (parameters.dense > 0) {
    last = Exchange("reduce gradients", Slot::kData, kind, parameters.dense * bytes,
                    Phase::kReduce, after);
    const int shard = plan.shard_ranks > 0 ? plan.shard_ranks : plan.dp * plan.cp;
    if (scatters && shard < plan.dp * plan.cp) {
      last = Exchange("reduce shards", Slot::kReplicas, CollectiveKind::kAllReduce,
                      parameters.dense * bytes / shard, Phase::kReduce, last);
    }
    reductions_.push_back(last);
  }
  const int expert_copies = plan.dp * plan.cp * plan.tp / (plan.ep * plan.expert_tp);
  if (parameters.experts > 0 && expert_copies > 1) {
    last = Exchange("reduce expert gradients", Slot::kExpertData, kind, parameters.experts * bytes,
                    Phase::kReduce, after);
    reductions_.push_back(last);
  }
  return last;
}

TaskId DataExchange::Gather(const LocalParameters& parameters, TaskId after) {
  const Plan& plan = job_.plan;
  const int bytes = job_.training.precision.gathered_bytes;
  TaskId last = after;
  if (parameters.dense > 0) {
    last = Exchange("gather parameters", Slot::kData, CollectiveKind::kAllGather,
                    parameters.dense * bytes, Phase::kGather, after);
  }
  const int expert_copies = plan.dp * plan.cp * plan.tp / (plan.ep * plan.expert_tp);
  if (parameters.experts > 0 && expert_copies > 1) {
    last = Exchange("gather experts", Slot::kExpertData, CollectiveKind::kAllGather,
                    parameters.experts * bytes, Phase::kGather, last);
  }
  return last;
}

void DataExchange::BeginStep() {
  if (!reduces_buckets() || job_.plan.sharding == Sharding::kReplicated ||
      !job_.framework.gathers_in_forward) {
    return;
  }
  for (std::size_t chunk = 0; chunk < units_.size(); ++chunk) {
    for (std::size_t unit = 0; unit < units_[chunk].size(); ++unit) {
      early_gather_[chunk][unit] = Gather(units_[chunk][unit].parameters, kNone);
    }
  }
}

// One unit ahead: while a unit computes, the parameters of the next travel; two are held at most.
void DataExchange::GatherAhead(const Place& place, bool is_forward) {
  TaskId& own = gather_of_[place.chunk][place.unit];
  if (own == kNone) {
    own = Gather(At(place).parameters, writer_.last_compute());
  }
  const std::size_t count = units_[place.chunk].size();
  const bool has_next = is_forward ? place.unit + 1 < count : place.unit > 0;
  if (has_next) {
    const std::size_t next = is_forward ? place.unit + 1 : place.unit - 1;
    if (gather_of_[place.chunk][next] == kNone) {
      gather_of_[place.chunk][next] =
          Gather(units_[place.chunk][next].parameters, writer_.last_compute());
    }
  }
  if (own != kNone) {
    writer_.WaitFor(own);
  }
}

void DataExchange::BeforeForward(const Place& place, bool is_first_pass) {
  if (shards_parameters()) {
    GatherAhead(place, true);
    const bool is_last = place.unit + 1 == units_[place.chunk].size();
    // The last unit is needed again at once.
    if (job_.plan.sharding == Sharding::kParameters && !is_last) {
      gather_of_[place.chunk][place.unit] = kNone;
    }
  } else if (is_first_pass && early_gather_[place.chunk][place.unit] != kNone) {
    writer_.WaitFor(early_gather_[place.chunk][place.unit]);
  }
}

void DataExchange::BeforeBackward(const Place& place) {
  if (shards_parameters()) {
    GatherAhead(place, false);
  }
}

void DataExchange::FlushBucket() {
  if (open_.dense > 0 || open_.experts > 0) {
    Reduce(open_, writer_.last_compute());
    open_ = {};
    is_first_bucket_ = false;
  }
}

void DataExchange::AfterBackward(const Place& place, bool is_last_pass) {
  if (shards_parameters()) {
    gather_of_[place.chunk][place.unit] = kNone;
    Reduce(At(place).parameters, writer_.last_compute());
    return;
  }
  if (!reduces_buckets() || !is_last_pass) {
    return;
  }
  open_ += At(place).parameters;
  const std::int64_t limit = is_first_bucket_ && job_.framework.first_bucket_bytes > 0
                                 ? std::min(job_.framework.first_bucket_bytes, bucket_bytes_)
                                 : bucket_bytes_;
  const std::int64_t bytes =
      (open_.dense + open_.experts) * job_.training.precision.gradient_bytes;
  if (bucket_bytes_ > 0 && bytes >= limit) {
    FlushBucket();
  }
}

void DataExchange::FinishGradients() {
  FlushBucket();
  for (const TaskId reduction : reductions_) {
    writer_.WaitFor(reduction);
  }
  reductions_.clear();
}

void DataExchange::GatherParameters() {
  if (!reduces_buckets() || job_.plan.sharding == Sharding::kReplicated ||
      job_.framework.gathers_in_forward) {
    return;
  }
  LocalParameters all;
  for (const std::vector<StageUnit>& chunk : units_) {
    for (const StageUnit& unit : chunk) {
      all += unit.parameters;
    }
  }
  writer_.WaitFor(Gather(all, writer_.last_compute()));
}

}  // namespace orrery::workload
