#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/nccl/tuner_tables.h"

namespace orrery::calibrate {

/// A measured collective and what NCCL chooses for it.
struct TunedRow {
  const collective::Measurement* row = nullptr;
  collective::AlgorithmAndProtocol choice;
};

/// The constants that rows identify, at most ten. A start or hop needs rows below 64 MB that spend
/// a tenth of their time on it, a hop between nodes rows over three or more of them: on two, it
/// cannot be told from the start. All others need rows that they change.
[[nodiscard]] std::vector<collective::Constant> IdentifiedBy(
    std::span<const TunedRow> rows, const collective::TunerTables& tables,
    const collective::MachineConstants& prior);

struct ConstantsFit {
  collective::MachineConstants constants;
  std::vector<collective::Constant> fitted;
  std::vector<collective::Constant> at_bounds;  // driven there by rows: they have their priors
  double loss = 0;
};

/// Fits the constants that the rows identify by robust least squares of ln time, drawn towards the
/// prior; the others keep it. LL never starts or hops slower than Simple.
[[nodiscard]] ConstantsFit FitConstants(std::span<const TunedRow> rows,
                                        const collective::TunerTables& tables,
                                        const collective::MachineConstants& prior);

}  // namespace orrery::calibrate
