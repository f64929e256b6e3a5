#include "orrery/collective/uneven_all_to_all.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/collective/algorithm_costs.h"
#include "orrery/collective/shape.h"

namespace orrery::collective {

namespace {

constexpr double kMicrosecond = 1e-6;

/// Bytes sent and received by one rank.
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("the matrix of sizes is of {} ranks, the group of {}", matrix.ranks,
                            fabric.ranks));
  }
  const auto negative =
      std::ranges::find_if(matrix.bytes, [](double bytes) { return !(bytes >= 0); });
  if (negative != matrix.bytes.end()) {
    const auto place = static_cast<std::size_t>(negative - matrix.bytes.begin());
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("rank {} sends {} bytes to rank {}; a size is not negative",
                            place / ranks, *negative, place % ranks));
  }
  return {};
}

}  // namespace

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
      constants[Constant::kOwnShare] * CommonShape().direct_own * loads.own_bytes;
  const double link = loads.intra_bytes / LinkRate(fabric, costs.link_share, constants) +
                      own_bytes / LinkRate(fabric, constants[Constant::kLinkShare], constants);
  const double nic_of_rank =
      fabric.node_network().bytes_per_second * costs.network_share / fabric.ranks_per_node;
  const double network = nic_of_rank > 0 ? loads.inter_bytes / nic_of_rank : 0;
  return JoinTimes(latency, std::max(link, network), costs.sharpness);
}

}  // namespace orrery::collective
