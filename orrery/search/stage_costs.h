#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/search/collective_memo.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/unit_pricing.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::search {

/// The least that passes of one micro-batch take. Nothing that runs beside them slows them down,
/// and the host is never late.
struct PassTimes {
  std::int64_t forward_ps = 0;
  std::int64_t again_ps = 0;     // recomputation before the backward pass
  std::int64_t backward_ps = 0;  // all of it
  std::int64_t input_ps = 0;     // without gradients of weights
  std::int64_t weights_ps = 0;   // these

  PassTimes& operator+=(const PassTimes& other);
};

/// Times of a unit.
struct UnitTimes {
  PassTimes computing;                   // kernels one after the other
  PassTimes waiting;                     // with the communication that they wait for
  PassTimes until_last_kernel;           // of `waiting`: what follows it is communication
  std::int64_t host_ps = 0;              // launches of a micro-batch, without what runs again
  std::int64_t host_again_ps = 0;        // of what runs again
  std::int64_t host_whole_again_ps = 0;  // if the whole unit does
  std::uint32_t num_groups = 0;          // that communicate

  /// Of a unit that may be recomputed as a whole.
  [[nodiscard]] PassTimes Of(bool recomputes, bool waits) const;
};

/// Units of a model with their costs.
struct PricedModel {
  workload::Job job;  // with these operators: plans with the same layers share it
  std::unique_ptr<workload::UnitPricing> pricing;
  workload::StepPower power;  // of one micro-batch that passes through all stages
  std::map<std::vector<std::uint64_t>, std::vector<UnitTimes>> times_of_links;
};

/// The costs of the stages of one plan.
struct StagedPlan {
  const workload::Job* job = nullptr;
  workload::PipelineShape shape = {};
  workload::ModelUnits* units = nullptr;  // assigned to the stages
  PricedModel* priced = nullptr;
  std::vector<const std::vector<UnitTimes>*> unit_times;  // by stage, then by kind
  CollectiveMemo* collectives = nullptr;

  /// The group of a stage's first rank on a role.
  [[nodiscard]] const PlacedGroup& GroupOf(workload::GroupRole role, int stage) const;
};

/// Costs of stages. Layers, collectives and clocks that plans share are computed once. Not
/// thread-safe.
class StageCosts {
 public:
  /// `costs` must outlive it, and be thread-safe where several of these ask it.
  explicit StageCosts(const kernel::CostModel& costs) : costs_(costs) {}

  /// Of a transformer on GPUs of one kind that has passed CheckJob; valid until the next call. Jobs
  /// with the same `base` differ in their plan and micro-batch only.
  [[nodiscard]] Result<const StagedPlan*> Of(const workload::Job& job, std::size_t base);

 private:
  using LayerKey = std::array<std::int64_t, 14>;

  [[nodiscard]] Result<CollectiveMemo*> CollectivesOf(const workload::Job& job, std::size_t base);
  [[nodiscard]] Result<workload::ModelUnits*> UnitsOf(const workload::Job& job,
                                                      const workload::PipelineShape& shape,
                                                      const LayerKey& key);
  [[nodiscard]] PricedModel& PricedOf(const workload::Job& job, const workload::ModelUnits& units,
                                      const LayerKey& key);
  void AddTimes(StagedPlan& plan) const;

  const kernel::CostModel& costs_;
  std::map<std::size_t, std::pair<workload::Job, std::unique_ptr<CollectiveMemo>>> collectives_;
  std::map<LayerKey, workload::ModelUnits> units_of_key_;
  std::map<std::pair<LayerKey, std::vector<std::int64_t>>, PricedModel> priced_of_key_;
  StagedPlan plan_;
};

/// A lower bound of the time of operations that a stream runs one after the other, with the
/// communication that they wait for. `groups` are by role.
class OperationChain {
 public:
  enum class Part : std::uint8_t { kAll, kWithoutWeights, kWeightsOnly };

  OperationChain(std::span<const PlacedGroup> groups, CollectiveMemo& collectives,
                 double least_load)
      : groups_(groups), collectives_(collectives), least_load_(least_load) {}

  /// Until all is done, and until the last kernel that computes is.
  struct Ends {
    std::int64_t all_ps = 0;
    std::int64_t last_kernel_ps = 0;
  };

  [[nodiscard]] Ends Waiting(std::span<const workload::LayerOp> ops, Part part) const;
  [[nodiscard]] std::int64_t ComputingPs(std::span<const workload::LayerOp> ops, Part part) const;

 private:
  [[nodiscard]] std::int64_t DurationPs(const workload::LayerOp& op) const;

  std::span<const PlacedGroup> groups_;
  CollectiveMemo& collectives_;
  double least_load_;  // of layers with experts, relative to the estimated load
};

}  // namespace orrery::search
