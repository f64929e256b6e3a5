#pragma once

#include <cstdint>

#include "orrery/workload/job/job.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Parameters of one rank before data parallelism shards them.
struct RankParameters {
  std::int64_t dense = 0;
  std::int64_t experts = 0;  // reduced and sharded among fewer ranks

  bool operator==(const RankParameters&) const = default;
};

/// What tensor and expert parallelism leave of a part's parameters on one rank.
[[nodiscard]] RankParameters OnRank(const PartParameters& part, const Plan& plan);

/// Ranks that hold the same dense parameters: dp · cp.
[[nodiscard]] int DenseReplicas(const Plan& plan);

/// Ranks that hold the same experts: dp · cp · tp / (ep · expert_tp).
[[nodiscard]] int ExpertReplicas(const Plan& plan);

/// Ranks that share one copy of what is sharded: all replicas, or `shard_ranks` of them (HSDP).
[[nodiscard]] int ShardRanks(const Plan& plan, int replicas);

/// Memory that a rank keeps between steps.
struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;  // on the GPU
  std::int64_t offloaded = 0;  // in the memory of the host

  [[nodiscard]] std::int64_t on_gpu() const { return parameters + gradients + optimizer; }

  bool operator==(const StateBytes&) const = default;
};

/// A parameter as passes read it.
[[nodiscard]] int ParameterBytes(const Training& training);

/// Master copy and moments of one parameter: 12 with Adam in mixed precision.
[[nodiscard]] int OptimizerBytes(const Training& training);

/// The states of `parameters` that `shards` ranks share as `sharding` says. Shards round up.
[[nodiscard]] StateBytes StatesOf(std::int64_t parameters, Sharding sharding, int shards,
                                  const Training& training);

/// The states of a rank: dense parameters and experts among their own ranks, offloaded or not.
[[nodiscard]] StateBytes StatesOf(const RankParameters& parameters, const Plan& plan,
                                  const Training& training);

/// What a gathered unit of `parameters` holds while it is used (ZeRO-3, FSDP).
[[nodiscard]] std::int64_t GatheredBytes(std::int64_t parameters, const Training& training);

/// Memory use that does not follow from the model (data/workload/memory.yaml).
struct MemoryConstants {
  std::int64_t context_bytes = 0;       // CUDA's context, loaded kernels, workspaces
  std::int64_t communicator_bytes = 0;  // buffers of one communicator
  double fragmentation = 0;             // reserved beyond use, of memory that comes and goes
  double host_bytes_per_second = 0;     // of the host's memory, for each GPU
  double usable = 1;                    // of the size of the memory in data sheets
};

/// Those that are part of the program.
[[nodiscard]] const MemoryConstants& DefaultMemoryConstants();

}  // namespace orrery::workload
