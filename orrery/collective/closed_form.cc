#include "orrery/collective/closed_form.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/embedded_closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"

namespace orrery::collective {
namespace {

/// In the order of `Constant`.
constexpr std::array<ConstantInfo, kNumConstants> kInfos = {{
    {"start_us", 0.5, 100},
    {"simple_start_us", 0.5, 300},
    {"ll_hop_us", 0.05, 30},
    {"simple_hop_us", 0.05, 60},
    {"link_share", 0.05, 1.25},
    {"ll_link_share", 0.005, 0.6},
    {"sharpness", 0.5, 3},
    {"own_share", 0, 1},
    {"network_share", 0.05, 1},
    {"ll_network_hop_us", 0.2, 100},
    {"simple_network_hop_us", 0.2, 200},
    {"nvls_share", 0.05, 1.25},
    {"direct_share", 0.1, 1.3},
    {"pcie_crowding", 0.01, 4},
}};

struct ClosedFormFile {
  ClosedFormShape shape;
  MachineConstants defaults;
};

// The file is embedded: an error in it is a bug.
ClosedFormFile ReadEmbedded() {
  const YAML::Node file = YAML::Load(kEmbeddedClosedForm);
  const YAML::Node shape = file["shape"];
  const auto get = [&](const char* name) { return shape[name].as<double>(); };
  ClosedFormFile read;
  read.shape = {.ll_sharpness = get("ll_sharpness"),
                .ll128_sharpness = get("ll128_sharpness"),
                .nvls_sharpness = get("nvls_sharpness"),
                .direct_sharpness = get("direct_sharpness"),
                .ll128_link = get("ll128_link"),
                .ll128_network = get("ll128_network"),
                .ll_network = get("ll_network"),
                .ll128_start = get("ll128_start"),
                .ll128_network_hop = get("ll128_network_hop"),
                .ring_network_hop = get("ring_network_hop"),
                .nvls_start = get("nvls_start"),
                .direct_start = get("direct_start"),
                .direct_start_bytes = get("direct_start_bytes"),
                .direct_own = get("direct_own")};
  for (std::size_t i = 0; i < kNumConstants; ++i) {
    const double value = file["defaults"][std::string(kInfos[i].name)].as<double>();
    ORRERY_CHECK(value >= kInfos[i].least && value <= kInfos[i].most, "a default out of bounds");
    read.defaults.Set(static_cast<Constant>(i), value);
  }
  return read;
}

const ClosedFormFile& Embedded() {
  static const ClosedFormFile file = ReadEmbedded();
  return file;
}

AlgorithmCosts ProtocolCosts(Protocol protocol, const MachineConstants& constants) {
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

AlgorithmCosts SwitchCosts(const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  return {.start = (constants[kStart] + constants[kSimpleStart]) * shape.nvls_start,
          .network_hop = constants[kSimpleNetworkHop],
          .link_share = constants[kNvlsShare],
          .network_share = constants[kNetworkShare],
          .sharpness = shape.nvls_sharpness};
}

AlgorithmCosts DirectCosts(Bytes size, const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  const auto bytes = static_cast<double>(size.count);
  const double reached = std::min(1.0, std::sqrt(bytes / shape.direct_start_bytes));
  return {.start = constants[kStart] + shape.direct_start * constants[kSimpleStart] * reached,
          .network_hop = constants[kLlNetworkHop],
          .link_share = constants[kLinkShare] * constants[kDirectShare],
          .network_share = constants[kNetworkShare],
          .sharpness = shape.direct_sharpness};
}

constexpr double kMicrosecond = 1e-6;

struct Parts {
  double latency = 0;
  double link = 0;
  double network = 0;
  double sharpness = 1;

  double Transfer() const { return std::max(link, network); }
};

double Join(const Parts& parts) {
  return JoinTimes(parts.latency, parts.Transfer(), parts.sharpness);
}

/// Microseconds for bytes at bytes per second; 0 without a link.
double TimeAt(double bytes, double bytes_per_second) {
  return bytes > 0 && bytes_per_second > 0 ? bytes / bytes_per_second / kMicrosecond : 0;
}

/// NCCL's own correction for the lower efficiency of trees at medium sizes, a step at each power of
/// two; between them we interpolate, since with the step the time would fall where a size passes
/// it.
/// RCCL's only rank its choices.
double TreeCorrection(const Request& request, Protocol protocol, const TunerTables& tables) {
  const std::vector<double>& table = tables.tree_correction[static_cast<std::size_t>(protocol)];
  const auto at = [&](int place) {
    return place < 0 || place >= static_cast<int>(table.size())
               ? 1
               : table[static_cast<std::size_t>(place)];
  };
  const auto lines = static_cast<std::uint64_t>(request.size.count) / 64;
  if (lines == 0) {
    return 1;
  }
  const int place = static_cast<int>(std::bit_width(lines)) - 1;
  const double whole = std::ldexp(64, place);
  const double part = static_cast<double>(request.size.count) / whole - 1;  // of the way to twice
  return at(place) + part * (at(place + 1) - at(place));
}

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

/// The part of what a rank sends to other nodes in an all-to-all that crosses links inside its own:
/// it goes to the GPU beside the right NIC first (PXN).
double CrossingShare(const Fabric& fabric) {
  return 1 - 1.0 / fabric.ranks_per_node;
}

/// Over the links of one GPU, as a multiple of the size.
double LinkTraffic(const Fabric& fabric, const Request& request, const Shape& shape) {
  if (request.kind != CollectiveKind::kAllToAll || fabric.nodes == 1) {
    return shape.intra_traffic;
  }
  const double elsewhere = 1 - static_cast<double>(fabric.ranks_per_node) / fabric.ranks;
  return shape.intra_traffic + elsewhere * CrossingShare(fabric);
}

/// Costs beyond latency and transfer: the lower efficiency of trees, and the copy of the own part
/// of the buffer, of which a collective with a root has none. In an all-to-all over nodes, a GPU
/// also copies what it passes on.
void AddExtras(const Fabric& fabric, const Request& request, const AlgorithmAndProtocol& candidate,
               const TunerTables& tables, const MachineConstants& constants, Parts& parts) {
  const double own = constants[Constant::kOwnShare] * static_cast<double>(request.size.count);
  const double rate = LinkRate(fabric, constants[Constant::kLinkShare], constants);
  if (candidate.algorithm == Algorithm::kDirect) {
    if (request.kind == CollectiveKind::kAllToAll) {
      parts.link += TimeAt(own / fabric.ranks_per_node * CommonShape().direct_own, rate);
    }
  } else if (candidate.algorithm == Algorithm::kTree) {
    const double correction =
        fabric.has_rccl ? 1 : TreeCorrection(request, candidate.protocol, tables);
    parts.link /= correction;
    parts.network /= correction;
  } else if (candidate.protocol == Protocol::kSimple && !ReducesInSwitch(candidate.algorithm) &&
             !HasRoot(request.kind)) {
    parts.link += TimeAt(own / fabric.ranks, rate);
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
  parts.link = TimeAt(size * LinkTraffic(fabric, request, shape),
                      LinkRate(fabric, costs.link_share, constants));
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

struct RankLoads {
  double intra_out = 0;
  double intra_in = 0;
  double inter_out = 0;
  double inter_in = 0;
};

RankLoads LoadsOfRank(const SendMatrix& matrix, int rank, int ranks_per_node) {
  RankLoads loads;
  for (int other = 0; other < matrix.ranks; ++other) {
    if (other == rank) {
      continue;
    }
    const bool is_near = other / ranks_per_node == rank / ranks_per_node;
    (is_near ? loads.intra_out : loads.inter_out) += matrix.Sent(rank, other);
    (is_near ? loads.intra_in : loads.inter_in) += matrix.Sent(other, rank);
  }
  return loads;
}

Status Check(const Fabric& fabric, const SendMatrix& matrix) {
  const auto ranks = static_cast<std::size_t>(std::max(matrix.ranks, 0));
  if (matrix.ranks != fabric.ranks || matrix.bytes.size() != ranks * ranks) {
    return Invalid("the matrix of sizes is of {} ranks, the group of {}", matrix.ranks,
                   fabric.ranks);
  }
  const auto negative =
      std::ranges::find_if(matrix.bytes, [](double bytes) { return !(bytes >= 0); });
  if (negative != matrix.bytes.end()) {
    const auto place = static_cast<std::size_t>(negative - matrix.bytes.begin());
    return Invalid("rank {} sends {} bytes to rank {}; a size is not negative", place / ranks,
                   *negative, place % ranks);
  }
  return {};
}

}  // namespace

const ConstantInfo& InfoOf(Constant constant) {
  return kInfos[static_cast<std::size_t>(constant)];
}

const ClosedFormShape& CommonShape() {
  return Embedded().shape;
}

const MachineConstants& DefaultConstants() {
  return Embedded().defaults;
}

AlgorithmCosts CostsOf(const AlgorithmAndProtocol& candidate, Bytes size,
                       const MachineConstants& constants) {
  if (ReducesInSwitch(candidate.algorithm)) {
    return SwitchCosts(constants);
  }
  if (candidate.algorithm == Algorithm::kDirect) {
    return DirectCosts(size, constants);
  }
  AlgorithmCosts costs = ProtocolCosts(candidate.protocol, constants);
  if (candidate.algorithm == Algorithm::kRing && candidate.protocol != Protocol::kSimple) {
    costs.network_hop *= CommonShape().ring_network_hop;
  }
  return costs;
}

bool ReducesInSwitch(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree ||
         algorithm == Algorithm::kCollnetDirect;
}

double LinkRate(const Fabric& fabric, double share, const MachineConstants& constants) {
  const double rate =
      std::min(fabric.gpu_link.bytes_per_second * share, fabric.physical_link.bytes_per_second);
  const bool is_crowded = fabric.intra == IntraLink::kPcie && fabric.ranks_per_node > 2;
  return is_crowded ? rate / std::pow(fabric.ranks_per_node / 2.0, constants[Constant::kCrowding])
                    : rate;
}

double JoinTimes(double latency, double transfer, double sharpness) {
  const double larger = std::max(latency, transfer);
  if (larger <= 0) {
    return 0;
  }
  // Of the larger part, so that no power overflows.
  const double smaller = std::min(latency, transfer) / larger;
  return larger * std::pow(1 + std::pow(smaller, sharpness), 1 / sharpness);
}

double ClosedFormSeconds(const Fabric& fabric, const Request& request,
                         const AlgorithmAndProtocol& candidate, const TunerTables& tables,
                         const MachineConstants& constants) {
  return Join(PartsOf(fabric, request, candidate, tables, constants)) * kMicrosecond;
}

Result<Prediction> PredictChoice(const Fabric& fabric, const Request& request,
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
  constexpr std::array<std::string_view, 3> kNames = {"latency", "links of a GPU",
                                                      "NICs of a node"};
  return kNames.at(static_cast<std::size_t>(bottleneck));
}

UnevenLoads LoadsOf(const SendMatrix& matrix, int ranks_per_node) {
  UnevenLoads most;
  for (int rank = 0; rank < matrix.ranks; ++rank) {
    const RankLoads loads = LoadsOfRank(matrix, rank, ranks_per_node);
    const double own = matrix.Sent(rank, rank);
    most.intra_bytes = std::max({most.intra_bytes, loads.intra_out, loads.intra_in});
    most.inter_bytes = std::max({most.inter_bytes, loads.inter_out, loads.inter_in});
    most.own_bytes = std::max(most.own_bytes, own);
    most.sent_bytes = std::max(most.sent_bytes, loads.intra_out + loads.inter_out + own);
  }
  return most;
}

Result<double> UnevenAllToAllSeconds(const Fabric& fabric, const SendMatrix& matrix,
                                     const MachineConstants& constants) {
  ORRERY_TRY_STATUS(Check(fabric, matrix));
  if (fabric.ranks == 1) {
    return constants[Constant::kStart] * kMicrosecond;
  }
  const UnevenLoads loads = LoadsOf(matrix, fabric.ranks_per_node);
  const AlgorithmCosts costs =
      CostsOf({Algorithm::kDirect, Protocol::kSimple},
              Bytes{static_cast<std::int64_t>(loads.sent_bytes)}, constants);
  const Shape shape = ShapeOf(fabric, CollectiveKind::kAllToAll, Algorithm::kDirect);
  const double latency =
      (costs.start + shape.intra_steps * costs.hop + shape.inter_steps * costs.network_hop) *
      kMicrosecond;
  const double own_bytes =
      constants[Constant::kOwnShare] * CommonShape().direct_own * loads.own_bytes * fabric.nodes;
  const double crossing = loads.intra_bytes + CrossingShare(fabric) * loads.inter_bytes;
  const double link = crossing / LinkRate(fabric, costs.link_share, constants) +
                      own_bytes / LinkRate(fabric, constants[Constant::kLinkShare], constants);
  const double nic_of_rank =
      fabric.node_network().bytes_per_second * costs.network_share / fabric.ranks_per_node;
  const double network = nic_of_rank > 0 ? loads.inter_bytes / nic_of_rank : 0;
  return JoinTimes(latency, std::max(link, network), costs.sharpness);
}

}  // namespace orrery::collective
