#include "orrery/collective/closed_form.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

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
  const double transfer = parts.Transfer();
  const double larger = std::max(parts.latency, transfer);
  if (larger <= 0) {
    return 0;
  }
  // Of the larger part, so that no power overflows.
  const double smaller = std::min(parts.latency, transfer) / larger;
  return larger * std::pow(1 + std::pow(smaller, parts.sharpness), 1 / parts.sharpness);
}

/// Microseconds that bytes take at bytes per second; none where there is nothing to cross.
double TimeAt(double bytes, double bytes_per_second) {
  return bytes > 0 && bytes_per_second > 0 ? bytes / bytes_per_second / kMicrosecond : 0;
}

/// What a protocol costs on a machine.
struct ProtocolCosts {
  double start = 0;
  double hop = 0;
  double network_hop = 0;
  double link_share = 1;
  double network_share = 1;
  double sharpness = 1;
};

ProtocolCosts CostsOf(Protocol protocol, const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  const double start = constants[kStart];
  const double simple_start = constants[kSimpleStart];
  switch (protocol) {
    case Protocol::kLl:
      return {start,
              constants[kLlHop],
              constants[kLlNetworkHop],
              constants[kLlLinkShare],
              constants[kNetworkShare] * shape.ll_network,
              shape.ll_sharpness};
    case Protocol::kLl128:
      return {start * std::pow(simple_start / start, shape.ll128_start),
              std::sqrt(constants[kLlHop] * constants[kSimpleHop]),
              constants[kLlNetworkHop] * shape.ll128_network_hop,
              constants[kLinkShare] * shape.ll128_link,
              constants[kNetworkShare] * shape.ll128_network,
              shape.ll128_sharpness};
    case Protocol::kSimple:
      break;
  }
  return {simple_start,          constants[kSimpleHop],    constants[kSimpleNetworkHop],
          constants[kLinkShare], constants[kNetworkShare], constants[kSharpness]};
}

/// What the library reaches of a GPU's links is no more than they have.
double LinkRate(const Fabric& fabric, double share) {
  return std::min(fabric.gpu_link.bytes_per_second * share, fabric.physical_link.bytes_per_second);
}

/// NCCL's own measure of how far trees stay behind at middle sizes.
double TreeCorrection(const Request& request, Protocol protocol, const TunerTables& tables) {
  const auto bytes = static_cast<std::uint64_t>(request.size.count);
  const std::vector<double>& table = tables.tree_correction[static_cast<std::size_t>(protocol)];
  const int place = static_cast<int>(std::bit_width(bytes / 64)) - 1;
  return place >= 0 && place < static_cast<int>(table.size())
             ? table[static_cast<std::size_t>(place)]
             : 1;
}

Parts ChannelParts(const Fabric& fabric, const Request& request, const Way& way,
                   const TunerTables& tables, const MachineConstants& constants) {
  const ProtocolCosts costs = CostsOf(way.protocol, constants);
  const Shape shape = ShapeOf(fabric, request.kind, way.algorithm);
  const auto size = static_cast<double>(request.size.count);
  const double rate = LinkRate(fabric, costs.link_share);
  Parts parts;
  parts.sharpness = costs.sharpness;
  parts.latency =
      costs.start + shape.intra_steps * costs.hop + shape.inter_steps * costs.network_hop;
  parts.link = TimeAt(size * shape.intra_traffic, rate);
  parts.network = TimeAt(size * shape.inter_traffic,
                         fabric.node_network().bytes_per_second * costs.network_share);
  if (way.algorithm == Algorithm::kTree) {
    const double correction = TreeCorrection(request, way.protocol, tables);
    parts.link /= correction;
    parts.network /= correction;
  } else if (way.protocol == Protocol::kSimple) {
    parts.link += TimeAt(constants[Constant::kOwnShare] * size / fabric.ranks, rate);
  }
  return parts;
}

Parts SwitchParts(const Fabric& fabric, const Request& request, const Way& way,
                  const MachineConstants& constants) {
  using enum Constant;
  const Shape shape = ShapeOf(fabric, request.kind, way.algorithm);
  const auto size = static_cast<double>(request.size.count);
  Parts parts;
  parts.sharpness = CommonShape().nvls_sharpness;
  parts.latency = (constants[kStart] + constants[kSimpleStart]) * CommonShape().nvls_start +
                  shape.inter_steps * constants[kSimpleNetworkHop];
  parts.link = TimeAt(size * shape.intra_traffic, LinkRate(fabric, constants[kNvlsShare]));
  parts.network = TimeAt(size * shape.inter_traffic,
                         fabric.node_network().bytes_per_second * constants[kNetworkShare]);
  return parts;
}

Parts DirectParts(const Fabric& fabric, const Request& request, const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& common = CommonShape();
  const Shape shape = ShapeOf(fabric, request.kind, Algorithm::kDirect);
  const auto size = static_cast<double>(request.size.count);
  const double rate = LinkRate(fabric, constants[kLinkShare] * constants[kDirectShare]);
  const double reached = std::min(1.0, std::sqrt(size / common.direct_start_bytes));
  Parts parts;
  parts.sharpness = common.direct_sharpness;
  parts.latency = constants[kStart] + common.direct_start * constants[kSimpleStart] * reached +
                  (fabric.nodes > 1 ? shape.inter_steps * constants[kLlNetworkHop] : 0);
  parts.link = TimeAt(size * shape.intra_traffic, rate);
  if (request.kind == CollectiveKind::kAllToAll) {
    const double own = constants[kOwnShare] * common.direct_own * size / fabric.ranks;
    parts.link += TimeAt(own, LinkRate(fabric, constants[kLinkShare]));
  }
  parts.network = TimeAt(size * shape.inter_traffic,
                         fabric.node_network().bytes_per_second * constants[kNetworkShare]);
  return parts;
}

Parts PartsOf(const Fabric& fabric, const Request& request, const Way& way,
              const TunerTables& tables, const MachineConstants& constants) {
  if (fabric.ranks == 1) {
    return {.latency = constants[Constant::kStart]};
  }
  switch (way.algorithm) {
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
    case Algorithm::kCollnetDirect:
      return SwitchParts(fabric, request, way, constants);
    case Algorithm::kDirect:
      return DirectParts(fabric, request, constants);
    default:
      return ChannelParts(fabric, request, way, tables, constants);
  }
}

Bottleneck BottleneckOf(const Parts& parts) {
  if (parts.latency >= parts.Transfer()) {
    return Bottleneck::kLatency;
  }
  return parts.link >= parts.network ? Bottleneck::kLink : Bottleneck::kNetwork;
}

}  // namespace

double ClosedFormSeconds(const Fabric& fabric, const Request& request, const Way& way,
                         const TunerTables& tables, const MachineConstants& constants) {
  return Join(PartsOf(fabric, request, way, tables, constants)) * kMicrosecond;
}

Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                           const NcclSettings& settings, const TunerTables& tables,
                           const MachineConstants& constants) {
  ORRERY_TRY(const Tuning tuning, Tune(fabric, request, settings, tables));
  const Way way{tuning.choice().algorithm, tuning.choice().protocol};
  const Parts parts = PartsOf(fabric, request, way, tables, constants);
  Prediction prediction;
  prediction.algorithm = way.algorithm;
  prediction.protocol = way.protocol;
  prediction.channels =
      ChannelsFor(fabric, request, way.algorithm, way.protocol, settings).channels;
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
