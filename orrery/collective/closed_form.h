#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/algorithm_costs.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/collective/tuner_tables.h"

namespace orrery::collective {

/// The largest part of a collective's time.
enum class Bottleneck {
  kLatency,
  kLink,     // of a GPU, inside its node
  kNetwork,  // the NICs of a node
};

/// The algorithm and time of a collective.
struct Prediction {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
  Bottleneck bottleneck = Bottleneck::kLatency;
  double seconds = 0;
  double algorithm_bandwidth = 0;  // bytes per second
  double bus_bandwidth = 0;        // bytes per second
};

/// The time of a collective with a given algorithm and protocol, without other traffic: latency and
/// transfer of its structure (shape.h) with the constants of the machine, combined by a power mean.
/// More bandwidth or less latency never makes it longer.
[[nodiscard]] double ClosedFormSeconds(const Fabric& fabric, const Request& request,
                                       const AlgorithmAndProtocol& candidate,
                                       const TunerTables& tables,
                                       const MachineConstants& constants);

/// Chooses like NCCL and predicts. Fails if the settings leave no candidate.
[[nodiscard]] Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                                         const NcclSettings& settings, const TunerTables& tables,
                                         const MachineConstants& constants);

/// "latency", "NVLink", "network".
[[nodiscard]] std::string_view Name(Bottleneck bottleneck);

}  // namespace orrery::collective
