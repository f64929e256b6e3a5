#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// Elements of the tensors of a unit on one rank, in definition order.
struct UnitTensors {
  std::vector<std::int64_t> dense = {};    // the same on all data-parallel ranks
  std::vector<std::int64_t> experts = {};  // the same on ranks with the same experts
  std::int64_t frozen_bytes = 0;           // of parameters that are not trained, as stored
  bool has_backward = true;                // not before the first trained parameter

  [[nodiscard]] RankParameters parameters() const {
    return {std::accumulate(dense.begin(), dense.end(), std::int64_t{0}),
            std::accumulate(experts.begin(), experts.end(), std::int64_t{0})};
  }
};

/// One unit of a stage.
struct StageUnit {
  std::size_t kind = 0;     // an index of ModelUnits::kinds
  bool recomputes = false;  // the whole unit
};

/// The units of each chunk of a device, in the order of the model.
using StageUnits = std::vector<std::vector<StageUnit>>;

/// The parameters of a stage on one rank.
struct StageParameters {
  RankParameters trained;
  std::int64_t frozen_bytes = 0;
  std::int64_t num_tensors = 0;  // trained ones
};

/// The tensors of a stage.
struct StageTensors {
  const StageUnits* units = nullptr;
  const std::vector<UnitTensors>* of_kind = nullptr;

  [[nodiscard]] const UnitTensors& At(std::size_t chunk, std::size_t unit) const {
    return (*of_kind)[(*units)[chunk][unit].kind];
  }

  [[nodiscard]] StageParameters Parameters() const;
};

/// Memory of a unit for one micro-batch on one rank, in bytes.
struct UnitMemory {
  std::string_view category = "activations";
  std::int64_t whole = 0;   // all that its forward pass saves for its backward pass
  std::int64_t kept = 0;    // the part that stays in between; less with selective recomputation
  std::int64_t input = 0;   // stays if the whole unit is recomputed
  std::int64_t logits = 0;  // stay too, counted separately
  std::int64_t logits_copy = 0;    // a second copy while a pass computes the loss
  std::int64_t working = 0;        // while its backward pass runs
  std::int64_t weight_inputs = 0;  // stays after a backward pass without weight gradients

  bool is_offloadable = false;  // its kept bytes may go to the host

  [[nodiscard]] std::int64_t Kept(bool recomputes) const { return recomputes ? input : kept; }
};

/// Kinds of units of a transformer.
struct TransformerKinds {
  std::size_t embedding = 0;
  std::size_t head = 0;
  std::size_t extra = 0;               // blocks that predict further tokens
  std::vector<std::size_t> of_blocks;  // of encoder and decoder, in order
};

/// The kinds of units of a model and the units of each program: one program for each device of the
/// pipeline, or according to `program_of_rank`.
struct ModelUnits {
  std::vector<UnitOps> kinds;
  std::vector<UnitTensors> tensors;             // by kind
  std::vector<UnitMemory> memory;               // by kind
  std::vector<StageUnits> stages;               // by program
  std::int64_t message_bytes = 0;               // between stages
  std::vector<std::int64_t> tied_bytes = {};    // by program: gradients of a shared embedding
  std::vector<std::int64_t> table_bytes = {};   // by program: shards of embedding tables
  std::vector<ProgramId> program_of_rank = {};  // if ranks of a stage differ
  TransformerKinds transformer = {};
};

/// Splits the model of a job into units and assigns them to the stages of the pipeline.
[[nodiscard]] Result<ModelUnits> UnitsOf(const Job& job, const PipelineShape& shape);

/// Returns true if embedding and head are on different stages: then a tied head has parameters of
/// its own. Those of ZB-V are both on the first one, those of DualPipe both on either end.
[[nodiscard]] bool HasEndsApart(const PipelineShape& shape);

/// Assigns the units of a transformer, which were split already, to the stages of another pipeline
/// with its ends as far apart.
[[nodiscard]] Status AssignUnits(const Job& job, const PipelineShape& shape, ModelUnits& units);

/// A recommendation model whose embedding tables are sharded over all ranks while its MLPs are
/// replicated.
///
/// Forward, a rank looks up its shards for the samples of all ranks and sends each rank the vectors
/// of its samples: an all-to-all of pooled vectors for tables and columns, a reduce-scatter of
/// partial sums for rows. The bottom MLP runs concurrently. Backward, gradients of vectors take the
/// reverse path, concurrent with the backward pass of the bottom MLP. Ranks whose shards differ in
/// size have programs of their own. Communication of the indices is not modelled.
[[nodiscard]] ModelUnits DlrmUnits(const Job& job);

}  // namespace orrery::workload
