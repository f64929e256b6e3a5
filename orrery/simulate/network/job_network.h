#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/simulate/network/port_usage.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The network of a job under one of the network models.
class JobNetwork {
 public:
  /// All must outlive it. Fails for faults that cannot be and for a topology that is too small.
  [[nodiscard]] static Result<std::unique_ptr<JobNetwork>> Of(const workload::Job& machine,
                                                              const workload::Ensemble& ensemble,
                                                              const SimulationOptions& options,
                                                              NetworkModel model,
                                                              const JobsOnGpus* jobs = nullptr);

  /// The ranks to simulate; with flows every one, for routes differ.
  [[nodiscard]] RankClasses Classes(bool folds) const;

  /// The links that transfers share; none where each has the network to itself. Refers to the
  /// classes and to this.
  [[nodiscard]] Result<std::unique_ptr<LinkUsage>> Links(const RankClasses& rank_classes);

  /// The checkpoint that ranks write, by rank class; nothing where they write none.
  [[nodiscard]] Result<std::vector<LinkTraffic>> CheckpointTraffic(const RankClasses& rank_classes,
                                                                   LinkUsage& links) const;

  [[nodiscard]] CommunicationTimes& times() { return *times_; }

  /// Of flows.
  [[nodiscard]] const network::Topology& topology() const { return *topology_; }

  JobNetwork(const workload::Job& machine, const workload::Ensemble& ensemble,
             const SimulationOptions& options, NetworkModel model, const JobsOnGpus* jobs)
      : machine_(machine), ensemble_(ensemble), options_(options), model_(model), jobs_(jobs) {}

 private:
  [[nodiscard]] Status Prepare();
  [[nodiscard]] Status PrepareTopology();
  [[nodiscard]] FlowNetworkState StateOf() const;

  const workload::Job& machine_;
  const workload::Ensemble& ensemble_;
  const SimulationOptions& options_;
  NetworkModel model_;
  const JobsOnGpus* jobs_;
  GroupLimits limits_;
  std::unique_ptr<CommunicationTimes> times_;
  PortMap ports_;
  std::optional<network::Topology> own_topology_;
  const network::Topology* topology_ = nullptr;
};

}  // namespace orrery::simulate
