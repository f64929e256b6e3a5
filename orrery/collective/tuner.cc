#include "orrery/collective/tuner.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/collective/channels_used.h"
#include "orrery/collective/shape.h"
#include "orrery/collective/tuner_model.h"

namespace orrery::collective {
namespace {

// The factor for candidates that the tuner uses only as a last resort.
constexpr double kLastResort = 1024;

constexpr int kMostRanksOfFp8Ring = 8;
constexpr int kMostCollnetDirectRanks = 8;

bool Moves(CollectiveKind kind) {
  return kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSendRecv;
}

bool IsGatherOrScatter(CollectiveKind kind) {
  return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
}

bool AddsUp(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

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
         settings.nvls && (!AddsUp(request.kind) || SwitchReduces(request.element));
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

double TreeCorrection(const TunedAlgorithm& candidate, std::int64_t bytes) {
  const auto& row = candidate.tables.tree_correction[static_cast<std::size_t>(candidate.protocol)];
  const std::uint64_t lines = static_cast<std::uint64_t>(bytes) / 64;
  const bool tree =
      candidate.algorithm == Algorithm::kTree && candidate.kind == CollectiveKind::kAllReduce;
  const auto index = static_cast<std::size_t>(std::bit_width(lines));
  return !tree || lines == 0 || index > row.size() ? 1 : row[index - 1];
}

// From some size on, multi-node rings with Simple have higher latency than their hops.
double LatencyFactor(const TunedAlgorithm& candidate, std::int64_t bytes) {
  const bool plateau = candidate.algorithm == Algorithm::kRing &&
                       candidate.protocol == Protocol::kSimple &&
                       candidate.kind == CollectiveKind::kAllReduce && candidate.fabric.nodes > 1;
  const std::int64_t channels =
      DoubledChannels(candidate.fabric.rings, candidate.fabric.generation, candidate.fabric.nodes);
  if (!plateau || bytes < 64 * channels * candidate.fabric.ranks) {
    return 1;
  }
  return candidate.fabric.generation == GpuGeneration::kVolta ? 1.9 : 1.4;
}

double TimeFactor(const TunedAlgorithm& candidate, Element element) {
  const bool inexact = candidate.algorithm == Algorithm::kRing && element == Element::kFp8 &&
                       AddsUp(candidate.kind) && candidate.fabric.ranks > kMostRanksOfFp8Ring;
  return inexact ? kLastResort : 1;
}

Candidate Evaluate(const TunedAlgorithm& candidate, const Request& request) {
  const double gbps = AlgorithmGbps(candidate);
  const double latency = LatencyUs(candidate);
  const std::int64_t bytes = request.size.count;
  const double time = latency * LatencyFactor(candidate, bytes) +
                      static_cast<double>(bytes) / (1000 * gbps * TreeCorrection(candidate, bytes));
  return {.algorithm = candidate.algorithm,
          .protocol = candidate.protocol,
          .latency_us = latency,
          .algorithm_gbps = gbps,
          .time_us = time * TimeFactor(candidate, request.element)};
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
                    const TunerTables& tables) {
  Tuning tuning;
  if (fabric.ranks <= 1 || Moves(request.kind)) {
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
      if (settings.Allows(tuned.kind, protocol) &&
          ProtocolIsEnabled(fabric, settings, tuned.kind, algorithm, protocol)) {
        tuning.Add(Evaluate({.fabric = fabric,
                             .tables = tables,
                             .kind = tuned.kind,
                             .algorithm = algorithm,
                             .protocol = protocol},
                            tuned));
      }
    }
  }
  if (tuning.candidates().empty()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("the settings of NCCL leave no candidate to do {} over {} GPUs",
                            Name(request.kind), fabric.ranks));
  }
  return tuning;
}

}  // namespace orrery::collective
