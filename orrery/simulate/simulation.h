#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/kernel/estimate.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::collective {
class MachineModels;
}

namespace orrery::simulate {

class PairMemo;

/// One rank that is slower than the others: its kernels take `factor` times as long.
struct SlowRank {
  workload::Rank rank = 0;
  double factor = 1;
};

/// The slowdown of kernels that run together.
enum class OverlapKind : std::uint8_t {
  kNone,      // not at all
  kAnalytic,  // by the shares they take of a GPU
  kModel,     // by a model of pairs of kernels, which also says who waits for room
};

/// Sharing of the network by transfers of different groups.
enum class NetworkModel : std::uint8_t {
  kDefault,  // kShared for jobs over several nodes, else kAlone
  kAlone,    // each has it to itself
  kShared,   // NICs, links of GPUs and first switches, over which traffic is spread evenly
  kFlows,    // every link of a topology, with routes
};

/// An asynchronous checkpoint that is written from the begin of the step on. All ranks send equal
/// parts over their NICs.
struct CheckpointWrite {
  Bandwidth storage = {};          // all of it
  std::optional<Bytes> size = {};  // none: CheckpointBytes of the job
};

struct NetworkOptions {
  NetworkModel model = NetworkModel::kDefault;
  /// Of kFlows, must outlive the simulation; none: that of the cluster.
  const network::Topology* topology = nullptr;
  Routing routing = Routing::kAdaptive;
  std::uint64_t seed = 0;       // of hashed routes
  double oversubscription = 0;  // at the first switches; 0: that of the cluster
  double background = 0;        // share of NICs and switches that other traffic takes
  std::vector<BackgroundFlow> background_flows = {};     // of kFlows
  std::optional<CheckpointWrite> checkpoint = {};        // of kShared and kFlows
  const network::CongestionModel* congestion = nullptr;  // of kFlows; must outlive it, too
  /// Constants of measured machines, must outlive it; none: the shipped ones.
  const collective::MachineModels* collectives = nullptr;
};

/// The job of each GPU of a cluster with several jobs. Their frameworks lose different parts of the
/// network.
struct JobsOnGpus {
  std::vector<const workload::Job*> jobs = {};
  std::vector<std::uint32_t> job_of_gpu = {};
};

struct SimulationOptions {
  bool folds = true;
  OverlapKind overlap = OverlapKind::kAnalytic;
  /// Of kModel, must outlive the simulation; several threads ask it. None: arithmetic answers.
  const overlap::Model* overlap_model = nullptr;
  /// Of kModel, where many jobs with the same GPU and framework are simulated.
  PairMemo* overlap_memo = nullptr;
  double jitter = 0;
  /// Runs of the programs before the step that counts, so that hosts are as far ahead of their GPUs
  /// as ever; see LastStep.
  int steps_before = 0;
  std::vector<SlowRank> slow_ranks = {};
  NetworkFaults faults = {};
  NetworkOptions network = {};
  /// A job whose step has more tasks, by estimate, is refused before it takes all memory. 0: 20
  /// million, with flows 60, because ranks share the programs of which tasks are.
  std::int64_t max_tasks = 0;
};

/// The result of a CheckpointWrite.
struct WrittenCheckpoint {
  Bytes size = {};
  Bandwidth of_gpu = {};    // the rate at which a rank sends with its links to itself
  std::int64_t end_ps = 0;  // the last rank has sent its part, if no further step follows
};

/// A simulated training step.
struct Simulation {
  std::unique_ptr<workload::GeneratedJob> generated;  // none where programs were given
  RankClasses rank_classes;                           // points into the ensemble
  Timeline timeline;
  NetworkModel network = NetworkModel::kAlone;  // never kDefault
  std::optional<WrittenCheckpoint> checkpoint = {};

  [[nodiscard]] std::int64_t step_ps() const { return timeline.EndPs(); }
};

/// "alone", "shared" or "flows".
[[nodiscard]] std::string_view Name(NetworkModel model);

/// The model that a job is simulated with.
[[nodiscard]] NetworkModel NetworkModelOf(const workload::Job& machine,
                                          const SimulationOptions& options);

/// Simulates the programs of all ranks on the machine of a job: its cluster, its GPUs and what its
/// framework loses of the network. Slow ranks are noted in the ensemble, which must outlive the
/// result. `jobs` says which of several jobs GPUs belong to, none: all to the machine's.
[[nodiscard]] Result<Simulation> SimulateEnsemble(const workload::Job& machine,
                                                  workload::Ensemble& ensemble,
                                                  const SimulationOptions& options = {},
                                                  const JobsOnGpus* jobs = nullptr);

/// Simulates one training step of a job that has passed CheckJob.
[[nodiscard]] Result<Simulation> Simulate(const workload::Job& job, const kernel::CostModel& costs,
                                          const SimulationOptions& options = {});

/// Returns what a simulation of this job does not model or is uncertain about, a sentence each, the
/// most important first. `machine` is that of all jobs that are simulated together, none: there are
/// no others.
[[nodiscard]] std::vector<std::string> NotModelled(const workload::Job& job,
                                                   const workload::GeneratedJob& generated,
                                                   const SimulationOptions& options,
                                                   const workload::Job* machine = nullptr);

/// The same of the network alone, whatever is simulated on the machine.
[[nodiscard]] std::vector<std::string> NotModelledOfNetwork(const workload::Job& machine,
                                                            const SimulationOptions& options);

/// The differences to a job of equal ranks on a network without faults, one phrase each: "rank 7
/// takes 1.3 times as long", "node 3 has 7 of 8 NICs".
[[nodiscard]] std::vector<std::string> WhatIfs(const workload::Job& machine,
                                               const SimulationOptions& options);

}  // namespace orrery::simulate
