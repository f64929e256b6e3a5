#pragma once

#include <array>
#include <cstddef>
#include <string_view>

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

/// The most that are fitted for one machine.
inline constexpr std::size_t kMostFitted = 10;

/// The name of a constant in files, and its range.
struct ConstantInfo {
  std::string_view name;
  double least = 0;
  double most = 0;
};

[[nodiscard]] const ConstantInfo& InfoOf(Constant constant);

/// The constants of one machine.
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

/// The constants of a machine without a fit.
[[nodiscard]] const MachineConstants& DefaultConstants();

}  // namespace orrery::collective
