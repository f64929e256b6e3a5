#include "orrery/collective/closed_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "orrery/collective/algorithm_costs.h"
#include "orrery/collective/channels_used.h"
#include "orrery/collective/shape.h"
#include "orrery/collective/tuner.h"

namespace orrery::collective {

namespace {

constexpr double kMicrosecond = 1e-6;

/// The parts of a time, in microseconds.
struct Parts {
  double latency = 0;
  double link = 0;
  double network = 0;
  double sharpness = 1;

  [[nodiscard]] double Transfer() const { return std::max(link, network); }
};

double Join(const Parts& parts) {
  return JoinTimes(parts.latency, parts.Transfer(), parts.sharpness);
}

/// Microseconds for bytes at bytes per second; 0 without a link.
double TimeAt(double bytes, double bytes_per_second) {
  return bytes > 0 && bytes_per_second > 0 ? bytes / bytes_per_second / kMicrosecond : 0;
}

/// NCCL's own correction for the lower efficiency of trees at medium sizes.
double TreeCorrection(const Request& request, Protocol protocol, const TunerTables& tables) {
  const auto bytes = static_cast<std::uint64_t>(request.size.count);
  const std::vector<double>& table = tables.tree_correction[static_cast<std::size_t>(protocol)];
  const int place = static_cast<int>(std::bit_width(bytes / 64)) - 1;
  return place >= 0 && place < static_cast<int>(table.size())
             ? table[static_cast<std::size_t>(place)]
             : 1;
}

/// Costs beyond latency and transfer: the lower efficiency of trees, and the copy of the own part
/// of the buffer.
void AddExtras(const Fabric& fabric, const Request& request, const AlgorithmAndProtocol& candidate,
               const TunerTables& tables, const MachineConstants& constants, Parts& parts) {
  const auto own =
      constants[Constant::kOwnShare] * static_cast<double>(request.size.count) / fabric.ranks;
  const double rate = LinkRate(fabric, constants[Constant::kLinkShare], constants);
  if (candidate.algorithm == Algorithm::kDirect) {
    if (request.kind == CollectiveKind::kAllToAll) {
      parts.link += TimeAt(own * CommonShape().direct_own, rate);
    }
  } else if (candidate.algorithm == Algorithm::kTree) {
    const double correction = TreeCorrection(request, candidate.protocol, tables);
    parts.link /= correction;
    parts.network /= correction;
  } else if (candidate.protocol == Protocol::kSimple && !ReducesInSwitch(candidate.algorithm)) {
    parts.link += TimeAt(own, rate);
  }
}

Parts PartsOf(const Fabric& fabric, const Request& request, const AlgorithmAndProtocol& candidate,
              const TunerTables& tables, const MachineConstants& constants) {
  if (fabric.ranks == 1) {
    return {.latency = constants[Constant::kStart]};
  }
  const AlgorithmCosts costs = CostsOf(candidate, request.size, constants);
  const Shape shape = ShapeOf(fabric, request.kind, candidate.algorithm);
  const auto size = static_cast<double>(request.size.count);
  Parts parts;
  parts.sharpness = costs.sharpness;
  parts.latency =
      costs.start + shape.intra_steps * costs.hop + shape.inter_steps * costs.network_hop;
  parts.link = TimeAt(size * shape.intra_traffic, LinkRate(fabric, costs.link_share, constants));
  parts.network = TimeAt(size * shape.inter_traffic,
                         fabric.node_network().bytes_per_second * costs.network_share);
  AddExtras(fabric, request, candidate, tables, constants, parts);
  return parts;
}

Bottleneck BottleneckOf(const Parts& parts) {
  if (parts.latency >= parts.Transfer()) {
    return Bottleneck::kLatency;
  }
  return parts.link >= parts.network ? Bottleneck::kLink : Bottleneck::kNetwork;
}

}  // namespace

double ClosedFormSeconds(const Fabric& fabric, const Request& request,
                         const AlgorithmAndProtocol& candidate, const TunerTables& tables,
                         const MachineConstants& constants) {
  return Join(PartsOf(fabric, request, candidate, tables, constants)) * kMicrosecond;
}

Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                           const NcclSettings& settings, const TunerTables& tables,
                           const MachineConstants& constants) {
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings, tables));
  const AlgorithmAndProtocol candidate{tuning.choice().algorithm, tuning.choice().protocol};
  const Parts parts = PartsOf(fabric, request, candidate, tables, constants);
  Prediction prediction;
  prediction.algorithm = candidate.algorithm;
  prediction.protocol = candidate.protocol;
  prediction.channels =
      ChannelsFor(fabric, request, candidate.algorithm, candidate.protocol, settings).channels;
  prediction.bottleneck = BottleneckOf(parts);
  prediction.seconds = Join(parts) * kMicrosecond;
  prediction.algorithm_bandwidth = static_cast<double>(request.size.count) / prediction.seconds;
  prediction.bus_bandwidth = prediction.algorithm_bandwidth * BusFactor(request.kind, fabric.ranks);
  return prediction;
}

std::string_view Name(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::kLatency:
      return "latency";
    case Bottleneck::kLink:
      return "links of a GPU";
    case Bottleneck::kNetwork:
      return "NICs of a node";
  }
  return "";
}

}  // namespace orrery::collective
