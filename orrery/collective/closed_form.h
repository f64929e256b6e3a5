#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/collective/tuner_tables.h"
#include "orrery/collective/algorithm_costs.h"

namespace orrery::collective {

/// What a collective waits for most.
enum class Bottleneck {
  kLatency,
  kLink,     // of a GPU, inside its node
  kNetwork,  // the NICs of a node
};

/// How a collective is done and how long it takes.
struct Prediction {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  int channels = 1;
  Bottleneck bottleneck = Bottleneck::kLatency;
  double seconds = 0;
  double algorithm_bandwidth = 0;  // bytes per second
  double bus_bandwidth = 0;        // bytes per second
};

/// The time of a collective that is done in a given candidate, without other traffic: latency and
/// transfer of the candidate's structure (shape.h) with the constants of the machine, joined by a power
/// mean. More bandwidth or less latency never makes it longer.
[[nodiscard]] double ClosedFormSeconds(const Fabric& fabric, const Request& request, const AlgorithmAndProtocol& candidate,
                                       const TunerTables& tables,
                                       const MachineConstants& constants);

/// Chooses as NCCL does and predicts. Fails when the settings leave no candidate.
[[nodiscard]] Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                                         const NcclSettings& settings, const TunerTables& tables,
                                         const MachineConstants& constants);

/// "latency", "NVLink", "network".
[[nodiscard]] std::string_view Name(Bottleneck bottleneck);

}  // namespace orrery::collective
