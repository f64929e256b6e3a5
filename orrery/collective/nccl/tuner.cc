#include "orrery/collective/nccl/tuner.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

// The factor for candidates that the tuner uses only as a last resort.
constexpr double kLastResort = 1024;
constexpr int kMostRanksOfFp8Ring = 8;
constexpr int kMostCollnetDirectRanks = 8;

double RingSteps(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier:
      return 2.0 * (ranks - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return ranks - 1;
    default:
      return ranks;
  }
}

double Limit(const ByGeneration<ByNodes>& limits, std::size_t row, int nodes) {
  const double limit = limits[row][static_cast<std::size_t>(std::min(nodes, 3) - 1)];
  return limit > 0 ? limit : std::numeric_limits<double>::infinity();
}

double Entry(const ByAlgorithm& table, Algorithm algorithm, Protocol protocol) {
  return table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
}

bool IsGatherOrScatter(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

/// The tuner's formulas for one algorithm and protocol. Barriers are all-reduces here.
struct TunedAlgorithm {
  const Fabric& fabric;
  const TunerTables& tables;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  double ChannelLimit(const ByGeneration<ByNodes>& limits) const {
    return Limit(limits, RowOf(fabric.generation), fabric.nodes);
  }

  // Across nodes the CPU determines the limit, not the GPU.
  double LlLimit() const {
    const bool amd = fabric.cpu == hardware::CpuVendor::kAmd;
    const GpuGeneration by_cpu = amd ? GpuGeneration::kAmpere : GpuGeneration::kVolta;
    return Limit(tables.limits.ll, RowOf(fabric.nodes == 1 ? fabric.generation : by_cpu),
                 fabric.nodes);
  }

  double GraphBus(bool collnet) const {
    const ChannelGraph& rings = fabric.rings;
    return rings.channels * (fabric.nodes <= 2 || collnet ? rings.intra_speed : rings.inter_speed);
  }

  double RingLlShare() const {
    const bool adds_up = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce;
    return fabric.nodes > 1 || adds_up ? tables.ring_ll_share : tables.ring_ll_share_one_way;
  }

  // The share of the bus that RCCL takes.
  double RcclBus() const {
    return GraphBus(false) *
           Entry(tables.bus_share[fabric.nodes <= 2 ? 0 : 1], algorithm, protocol);
  }

  double RingBus() const {
    if (tables.is_rccl) {
      return RcclBus();
    }
    const double bus = GraphBus(false);
    switch (protocol) {
      case Protocol::kLl:
        return std::min(LlLimit(), bus * RingLlShare());
      case Protocol::kLl128:
        return std::min(0.92 * bus,
                        fabric.rings.channels * ChannelLimit(tables.limits.ring_ll128_channel));
      case Protocol::kSimple:
        return bus;
    }
    return bus;
  }

  double TreeBusOfProtocol(double bus) const {
    switch (protocol) {
      case Protocol::kLl:
        return std::min(bus / 3.8, LlLimit());
      case Protocol::kLl128:
        return std::min(bus * (fabric.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                        fabric.rings.channels * ChannelLimit(tables.limits.tree_ll128_channel));
      case Protocol::kSimple:
        return bus;
    }
    return bus;
  }

  // Without a network, or with one rank per node, only NCCL's pattern "tree", a plain chain,
  // remains.
  double TreeBus() const {
    if (tables.is_rccl) {
      return RcclBus();
    }
    const double bus = std::min(0.92 * GraphBus(false),
                                fabric.rings.channels * ChannelLimit(tables.limits.tree_channel));
    const bool plain = fabric.nodes == 1 || fabric.ranks_per_node == 1;
    return TreeBusOfProtocol(bus) * (plain ? 0.85 : 1);
  }

  double Efficiency() const { return tables.nvls_efficiency[RowOf(fabric.generation)]; }

  // One deviation from NCCL: all-reduce in the switch on one node is limited by n / (n + 1) of the
  // links' bandwidth times the efficiency, and by nvls_head_share of its channels. Both are needed
  // to match the choices of measured H200 and B200 nodes for 4 to 8 GPUs.
  double NvlsOneNodeGbps() const {
    const double ranks = fabric.ranks;
    const double links = fabric.rings.intra_total() * ranks / (ranks + 1);
    return std::min(links * Efficiency(), fabric.nvls.intra_total() * tables.nvls_head_share);
  }

  double NvlsBus() const {
    const ChannelGraph& nvls = fabric.nvls;
    const double channels = nvls.channels;
    const double local = fabric.ranks_per_node;
    const double passes = kind == CollectiveKind::kAllReduce ? 2 : (local - 1) / local;
    const bool tree = algorithm == Algorithm::kNvlsTree;
    const double inside = nvls.intra_speed * Efficiency() * (channels - 1) / channels * passes;
    const double between = nvls.inter_speed * (tree && fabric.nodes <= 2 ? 2 : 1);
    const double limit = tree ? ChannelLimit(tables.limits.nvls_tree_channel)
                              : std::numeric_limits<double>::infinity();
    const bool one_node = fabric.nodes == 1;
    return channels * std::min({inside, one_node ? inside : between, limit});
  }

  double CollnetGbps() const {
    const double local = fabric.ranks_per_node;
    const ChannelGraph& rings = fabric.rings;
    if (kind != CollectiveKind::kAllReduce) {
      return local * std::min(rings.intra_speed, 0.9 * rings.inter_speed);
    }
    double bus = GraphBus(true);
    if (algorithm == Algorithm::kCollnetDirect) {
      const double ranks_of_nic = local / rings.channels;
      bus /= ranks_of_nic - (ranks_of_nic - 1) / 2;
      const bool newer = RowOf(fabric.generation) >= RowOf(GpuGeneration::kHopper);
      bus *= newer ? 0.85 : 1;
    }
    return 0.5 * bus;
  }

  double NvlsGbps() const {
    const bool all_reduce = kind == CollectiveKind::kAllReduce;
    if (all_reduce && fabric.nodes == 1) {
      return NvlsOneNodeGbps();
    }
    const double bus = NvlsBus();
    return all_reduce ? bus * fabric.ranks / RingSteps(kind, fabric.ranks) : bus;
  }

  const ByAlgorithm& IntraTable() const {
    return fabric.intra == IntraLink::kNvlink ? tables.latencies.nvlink : tables.latencies.pci;
  }

  double IntraHop() const { return Entry(IntraTable(), algorithm, protocol); }

  // Simple waits for the NIC a second time, for completion of the write.
  double InterHop() const {
    const Algorithm hop = fabric.ranks_per_node == 1 ? Algorithm::kTree : algorithm;
    const double waits = protocol == Protocol::kSimple ? 2 : 1;
    return Entry(tables.latencies.network, hop, protocol) + waits * fabric.nic_latency_us;
  }

  // A ring over several nodes posts to the network in each of its steps.
  double NetworkOverhead() const {
    if (fabric.nodes == 1) {
      return 0;
    }
    const double post = fabric.cpu == hardware::CpuVendor::kAmd ? 2 : 1;
    return protocol == Protocol::kSimple ? 3 * post : post;
  }

  double RingLatency() const {
    if (kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce) {
      // As if all channels were equal, which the search tries first.
      return fabric.nodes == 1 ? IntraHop() : Entry(tables.latencies.network, algorithm, protocol);
    }
    const double rounds = kind == CollectiveKind::kAllReduce ? 2 : 1;
    const double inter_steps = rounds * (fabric.nodes - 1);
    return (RingSteps(kind, fabric.ranks) - inter_steps) * std::max(IntraHop(), NetworkOverhead()) +
           inter_steps * InterHop();
  }

  double LatencyAboveBase() const {
    const double others = fabric.ranks_per_node - 1;
    const double levels = std::bit_width(static_cast<unsigned>(fabric.nodes)) - 1;
    switch (algorithm) {
      case Algorithm::kRing:
        return RingLatency();
      case Algorithm::kTree:
        return 2 * (others * IntraHop() + levels * InterHop());
      case Algorithm::kCollnetDirect:
        return 2 * (std::min(1.0, others) * IntraHop() + 0.4 * others) + InterHop();
      case Algorithm::kCollnetChain:
        return 2 * others * IntraHop() + InterHop();
      case Algorithm::kNvls:
        return IntraHop() + (fabric.nodes > 1 ? InterHop() : 0);
      case Algorithm::kNvlsTree:
        return IntraHop() + 2 * levels * InterHop();
      case Algorithm::kPat:
        return levels * InterHop() / 3.5 + 2.8 * fabric.ranks;
      case Algorithm::kHierarchical:
      case Algorithm::kDirect:
        return 0;
    }
    return 0;
  }

  double AlgorithmGbps() const {
    switch (algorithm) {
      case Algorithm::kRing:
        return RingBus() * fabric.ranks / RingSteps(kind, fabric.ranks);
      case Algorithm::kTree:
        return 0.5 * TreeBus();
      case Algorithm::kCollnetDirect:
      case Algorithm::kCollnetChain:
        return CollnetGbps();
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return NvlsGbps();
      case Algorithm::kPat:
        return 0.75 * GraphBus(false);
      case Algorithm::kHierarchical:
      case Algorithm::kDirect:
        return 0;
    }
    return 0;
  }

  double LatencyUs() const {
    return Entry(tables.latencies.base, algorithm, protocol) + LatencyAboveBase();
  }

  double Correction(std::int64_t bytes) const {
    const bool tree = algorithm == Algorithm::kTree && kind == CollectiveKind::kAllReduce;
    const bool ring = algorithm == Algorithm::kRing && tables.is_rccl && fabric.nodes > 1;
    const auto& row = (ring ? tables.ring_correction
                            : tables.tree_correction)[static_cast<std::size_t>(protocol)];
    const std::uint64_t lines = static_cast<std::uint64_t>(bytes) / 64;
    const auto index = static_cast<std::size_t>(std::bit_width(lines));
    return !(tree || ring) || lines == 0 || index > row.size() ? 1 : row[index - 1];
  }

  // From some size on, multi-node rings with Simple have higher latency than their hops.
  double LatencyFactor(std::int64_t bytes) const {
    const bool plateau = algorithm == Algorithm::kRing && protocol == Protocol::kSimple &&
                         kind == CollectiveKind::kAllReduce && fabric.nodes > 1;
    const std::int64_t channels = DoubledChannels(fabric.rings, fabric.generation, fabric.nodes);
    if (!plateau || bytes < 64 * channels * fabric.ranks) {
      return 1;
    }
    return fabric.generation == GpuGeneration::kVolta ? 1.9 : 1.4;
  }

  double TimeFactor(DataType element) const {
    const bool inexact = algorithm == Algorithm::kRing && IsFp8(element) && IsReduction(kind) &&
                         fabric.ranks > kMostRanksOfFp8Ring;
    return inexact ? kLastResort : 1;
  }

  Candidate Evaluate(const Request& request) const {
    const double gbps = AlgorithmGbps();
    const double latency = LatencyUs();
    const std::int64_t bytes = request.size.count;
    const double time = latency * LatencyFactor(bytes) +
                        static_cast<double>(bytes) / (1000 * gbps * Correction(bytes));
    return {.algorithm = algorithm,
            .protocol = protocol,
            .latency_us = latency,
            .algorithm_gbps = gbps,
            .time_us = time * TimeFactor(request.element)};
  }
};

bool IsOffered(CollectiveKind kind, Algorithm algorithm) {
  if (algorithm == Algorithm::kRing) {
    return true;
  }
  if (kind == CollectiveKind::kAllReduce) {
    return algorithm != Algorithm::kPat;
  }
  return IsGatherOrScatter(kind) &&
         (algorithm == Algorithm::kNvls || algorithm == Algorithm::kCollnetDirect ||
          algorithm == Algorithm::kPat);
}

bool SwitchCanHelp(const Fabric& fabric, const Request& request, const NcclSettings& settings) {
  return fabric.has_nvls && fabric.ranks_per_node > 2 && fabric.nvls.channels > 1 &&
         settings.nvls && (!IsReduction(request.kind) || SwitchReduces(request.element));
}

// All-gather and reduce-scatter in the switch need registered buffers, which applications must
// request.
bool NvlsIsEnabled(const Fabric& fabric, const Request& request, const NcclSettings& settings) {
  return (fabric.nodes == 1 || fabric.network_reduces) &&
         (!IsGatherOrScatter(request.kind) || settings.Asks(request.kind, Algorithm::kNvls));
}

bool AlgorithmIsEnabled(const Fabric& fabric, const Request& request, const NcclSettings& settings,
                        const TunerTables& tables, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kNvls:
      return tables.has_nvls && SwitchCanHelp(fabric, request, settings) &&
             NvlsIsEnabled(fabric, request, settings);
    case Algorithm::kNvlsTree:
      return tables.has_nvls && SwitchCanHelp(fabric, request, settings) && fabric.nodes > 1;
    case Algorithm::kCollnetDirect:
      return fabric.network_reduces && fabric.nodes > 1 && fabric.intra == IntraLink::kNvlink &&
             fabric.ranks_per_node <= kMostCollnetDirectRanks;
    case Algorithm::kCollnetChain:
      return fabric.network_reduces && fabric.nodes > 1;
    case Algorithm::kPat:
      return tables.has_pat && fabric.ranks_per_node == 1 && fabric.nodes > 1;
    default:
      return true;
  }
}

// LL128 needs stores of 128 bytes to arrive whole, which NVLink promises.
bool ProtocolIsEnabled(const Fabric& fabric, const NcclSettings& settings, CollectiveKind kind,
                       Algorithm algorithm, Protocol protocol) {
  const bool has_all = algorithm == Algorithm::kRing || algorithm == Algorithm::kTree;
  if (!has_all) {
    return protocol == Protocol::kSimple;
  }
  return protocol != Protocol::kLl128 || settings.Asks(kind, protocol) ||
         (fabric.intra == IntraLink::kNvlink && fabric.generation != GpuGeneration::kOther);
}

// On one node of CDNA 3 and later RCCL has no tree with Simple, and its LL128 needs a build option.
bool RcclHas(const Fabric& fabric, Algorithm algorithm, Protocol protocol) {
  return protocol != Protocol::kLl128 &&
         (algorithm != Algorithm::kTree || protocol != Protocol::kSimple || fabric.nodes > 1);
}

// Over several nodes small parts go by LL, whatever is estimated.
bool IsForcedToLl(const Fabric& fabric, const Request& request, const TunerTables& tables) {
  const std::size_t place = request.kind == CollectiveKind::kAllGather       ? 1
                            : request.kind == CollectiveKind::kReduceScatter ? 2
                                                                             : 0;
  const double part = static_cast<double>(request.size.count) / fabric.ranks;
  return tables.is_rccl && fabric.nodes > 1 &&
         (request.kind == CollectiveKind::kAllReduce || place > 0) &&
         part <= tables.ll_bytes_of_rank[place];
}

double DirectLatency(const Fabric& fabric, const Shape& shape, Protocol protocol,
                     const TunerTables::Latencies& latencies) {
  const auto row = static_cast<std::size_t>(Algorithm::kRing);
  const auto column = static_cast<std::size_t>(protocol);
  const ByAlgorithm& intra = fabric.intra == IntraLink::kNvlink ? latencies.nvlink : latencies.pci;
  return latencies.base[row][column] + shape.intra_steps * intra[row][column] +
         shape.inter_steps * latencies.network[row][column];
}

double SecondsPerByte(double traffic, Bandwidth bandwidth) {
  return traffic > 0 ? traffic / bandwidth.bytes_per_second : 0;
}

// NCCL has no model of send and receive, it only chooses the protocol. The estimates are those of a
// ring's hops and of the links.
Candidate EvaluateDirect(const Fabric& fabric, const Request& request, const TunerTables& tables) {
  const Protocol protocol = DirectProtocol(fabric, request);
  const Shape shape = ShapeOf(fabric, request.kind, Algorithm::kDirect);
  const double latency = DirectLatency(fabric, shape, protocol, tables.latencies);
  const double seconds_per_byte =
      std::max(SecondsPerByte(shape.intra_traffic, fabric.gpu_link),
               SecondsPerByte(shape.inter_traffic, fabric.node_network()));
  return {.algorithm = Algorithm::kDirect,
          .protocol = protocol,
          .latency_us = latency,
          .algorithm_gbps = 1e-9 / seconds_per_byte,
          .time_us = latency + 1e6 * static_cast<double>(request.size.count) * seconds_per_byte};
}

}  // namespace

void Tuning::Add(const Candidate& candidate) {
  ORRERY_CHECK(count_ < candidates_.size(), "more candidates than algorithms times protocols");
  candidates_[count_] = candidate;
  if (candidate.time_us < candidates_[choice_].time_us) {
    choice_ = count_;
  }
  ++count_;
}

Result<Tuning> Tune(const Fabric& fabric, const Request& request, const NcclSettings& settings,
                    const TunerTables& nccl_tables) {
  const TunerTables& tables = fabric.has_rccl ? RcclTables() : nccl_tables;
  Tuning tuning;
  const bool only_moves =
      request.kind == CollectiveKind::kAllToAll || request.kind == CollectiveKind::kSendRecv;
  if (fabric.ranks <= 1 || only_moves) {
    tuning.Add(fabric.ranks <= 1 ? Candidate{} : EvaluateDirect(fabric, request, tables));
    return tuning;
  }
  Request tuned = request;
  if (request.kind == CollectiveKind::kBarrier) {
    tuned.kind = CollectiveKind::kAllReduce;
  }
  for (const Algorithm algorithm : kTunedAlgorithms) {
    if (!IsOffered(tuned.kind, algorithm) || !settings.Allows(tuned.kind, algorithm) ||
        !AlgorithmIsEnabled(fabric, tuned, settings, tables, algorithm)) {
      continue;
    }
    for (const Protocol protocol : kProtocols) {
      const bool is_left_out = (tables.is_rccl && !RcclHas(fabric, algorithm, protocol)) ||
                               (protocol != Protocol::kLl && IsForcedToLl(fabric, tuned, tables));
      if (!is_left_out && settings.Allows(tuned.kind, protocol) &&
          ProtocolIsEnabled(fabric, settings, tuned.kind, algorithm, protocol)) {
        const TunedAlgorithm candidate{.fabric = fabric,
                                       .tables = tables,
                                       .kind = tuned.kind,
                                       .algorithm = algorithm,
                                       .protocol = protocol};
        tuning.Add(candidate.Evaluate(tuned));
      }
    }
  }
  if (tuning.candidates().empty()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("the settings of NCCL leave no candidate to do {} over {} GPUs",
                            CollectiveKindName(request.kind), fabric.ranks));
  }
  return tuning;
}

}  // namespace orrery::collective
