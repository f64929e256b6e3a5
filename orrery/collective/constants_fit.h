#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/tuner_tables.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

/// A measured collective and what NCCL chooses for it.
struct TunedRow {
  const Measurement* row = nullptr;
  AlgorithmAndProtocol choice;
};

/// The constants of a machine before anything was measured: the defaults, and hops between nodes
/// that take as much longer as the network's own latency exceeds that of InfiniBand. Simple waits
/// for the network twice in a hop.
[[nodiscard]] MachineConstants PriorOf(const hardware::Cluster& cluster);

/// The constants that rows identify, at most ten. A start or hop needs rows below 64 MB that spend
/// a tenth of their time on it, a hop between nodes rows over three or more of them: on two, it
/// cannot be told from the start. All others need rows that they change.
[[nodiscard]] std::vector<Constant> IdentifiedBy(std::span<const TunedRow> rows,
                                                 const TunerTables& tables,
                                                 const MachineConstants& prior);

struct ConstantsFit {
  MachineConstants constants;
  std::vector<Constant> fitted;
  std::vector<Constant> at_bounds;  // which rows drove there: they have their priors instead
  double loss = 0;
};

/// Fits the constants that the rows identify by robust least squares of ln time, drawn towards the
/// prior; the others keep it. LL never starts or hops slower than Simple.
[[nodiscard]] ConstantsFit FitConstants(std::span<const TunedRow> rows, const TunerTables& tables,
                                        const MachineConstants& prior);

}  // namespace orrery::collective
