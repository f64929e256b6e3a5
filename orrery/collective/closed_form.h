#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The fitted constants of a machine: times in microseconds, bandwidths as shares of the
/// catalogue's.
enum class Constant {
  kStart,             // launch and first flag of LL
  kSimpleStart,       // the same of Simple
  kLlHop,             // inside a node
  kSimpleHop,         // inside a node
  kLinkShare,         // of a GPU's links as NCCL counts them, Simple
  kLlLinkShare,       // the same, LL
  kSharpness,         // combines latency and transfer of Simple; see data/network/closed_form.yaml
  kOwnShare,          // cost of the own part of the buffer relative to a transferred part
  kNetworkShare,      // of the NICs of a node
  kLlNetworkHop,      // between nodes
  kSimpleNetworkHop,  // between nodes
  kNvlsShare,         // of a GPU's links, reduction in the switch
  kDirectShare,       // all-to-all over ring
  kCrowding,          // PCIe: the rate falls with this power of the ranks over two
};

inline constexpr std::size_t kNumConstants = 14;
inline constexpr std::size_t kMostFitted = 10;

struct ConstantInfo {
  std::string_view name;
  double least = 0;
  double most = 0;
};

[[nodiscard]] const ConstantInfo& InfoOf(Constant constant);

class MachineConstants {
 public:
  [[nodiscard]] double operator[](Constant constant) const {
    return values_[static_cast<std::size_t>(constant)];
  }

  void Set(Constant constant, double value) { values_[static_cast<std::size_t>(constant)] = value; }

  bool operator==(const MachineConstants&) const = default;

 private:
  std::array<double, kNumConstants> values_{};
};

/// Constants that all machines share (data/network/closed_form.yaml).
struct ClosedFormShape {
  double ll_sharpness = 1;
  double ll128_sharpness = 1;
  double nvls_sharpness = 1;
  double direct_sharpness = 1;
  double ll128_link = 1;
  double ll128_network = 1;
  double ll_network = 1;
  double ll128_start = 1;
  double ll128_network_hop = 1;
  double ring_network_hop = 1;
  double nvls_start = 1;
  double direct_start = 1;
  double direct_start_bytes = 1;
  double direct_own = 1;
};

[[nodiscard]] const ClosedFormShape& CommonShape();
[[nodiscard]] const MachineConstants& DefaultConstants();

struct AlgorithmAndProtocol {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  bool operator==(const AlgorithmAndProtocol&) const = default;
};

/// The constants of an algorithm and protocol on a machine: times in microseconds, bandwidths as
/// shares of NCCL's.
struct AlgorithmCosts {
  double start = 0;
  double hop = 0;          // inside a node
  double network_hop = 0;  // between nodes
  double link_share = 1;
  double network_share = 1;
  double sharpness = 1;  // exponent that combines latency and transfer
};

[[nodiscard]] AlgorithmCosts CostsOf(const AlgorithmAndProtocol& candidate, Bytes size,
                                     const MachineConstants& constants);
[[nodiscard]] bool ReducesInSwitch(Algorithm algorithm);

/// Bytes per second of a GPU's links at a share of NCCL's value, limited to their bandwidth. GPUs
/// on PCIe share bridges and the link between CPUs.
[[nodiscard]] double LinkRate(const Fabric& fabric, double share,
                              const MachineConstants& constants);

/// Combines latency and transfer: (latency^s + transfer^s)^(1/s).
[[nodiscard]] double JoinTimes(double latency, double transfer, double sharpness);

/// The largest part of a collective's time.
enum class Bottleneck {
  kLatency,
  kLink,     // of a GPU, inside its node
  kNetwork,  // the NICs of a node
};

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

/// Chooses like NCCL and predicts from this choice alone. Fails if the settings leave no candidate.
[[nodiscard]] Result<Prediction> PredictChoice(const Fabric& fabric, const Request& request,
                                               const NcclSettings& settings,
                                               const TunerTables& tables,
                                               const MachineConstants& constants);

/// The same, but never faster than fewer bytes or nodes (monotone_times.h).
[[nodiscard]] Result<Prediction> Predict(const Fabric& fabric, const Request& request,
                                         const NcclSettings& settings, const TunerTables& tables,
                                         const MachineConstants& constants);

/// "latency", "NVLink", "network".
[[nodiscard]] std::string_view Name(Bottleneck bottleneck);

/// Bytes from rank i to rank j at i * ranks + j.
struct SendMatrix {
  int ranks = 0;
  std::vector<double> bytes{};

  [[nodiscard]] double Sent(int from, int to) const {
    return bytes[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
                 static_cast<std::size_t>(to)];
  }
};

/// The loads of the most loaded sender or receiver, which an uneven all-to-all waits for.
struct UnevenLoads {
  double intra_bytes = 0;  // over the links of one GPU
  double inter_bytes = 0;  // over the NIC of one GPU
  double own_bytes = 0;    // local to one GPU
  double sent_bytes = 0;   // by one rank, including its own part
};

/// Ranks are numbered node by node.
[[nodiscard]] UnevenLoads LoadsOf(const SendMatrix& matrix, int ranks_per_node);

/// The time of an uneven all-to-all (all-to-all-v) in closed form: that of the most loaded sender
/// or receiver of each class of links. Equal parts give the time of the even one. Fails if the
/// matrix does not match the fabric's ranks or has a negative size.
[[nodiscard]] Result<double> UnevenAllToAllSeconds(const Fabric& fabric, const SendMatrix& matrix,
                                                   const MachineConstants& constants);

}  // namespace orrery::collective
