#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"

/// Topologies in text formats, our own and those of other simulators. Errors name `file`, the place
/// and the fix.
namespace orrery::network {

/// Our own YAML:
///
///     nodes:
///       - {name: gpu0, kind: gpu}          # gpu, nic, switch, host
///     links:                               # both directions unless `directed: true`
///       - {from: gpu0, to: leaf, gbps: 50, latency_ns: 500, kind: network}
///     gpus_forward: false
///
/// gbps is decimal gigabytes per second and direction; kind (nvlink, pcie, host_bus, network) is
/// network by default.
[[nodiscard]] Result<Topology> ReadTopologyYaml(std::string_view text, std::string_view file);

/// ASTRA-sim's network YAML: `topology`, `npus_count`, `bandwidth`, `latency`, one entry for each
/// dimension; the network is the product of the dimensions. Its GB/s are 2^30 bytes per second.
[[nodiscard]] Result<Topology> ReadAstraSimYaml(std::string_view text, std::string_view file);

/// SimAI's topology text: counts, then switch ids, then one line for each link. GPUs are the nodes
/// that are not switches; the first `nvswitches` switches are NVSwitches. Bandwidths are decimal
/// ("2880Gbps"), latencies have their unit ("0.000025ms").
[[nodiscard]] Result<Topology> ReadSimaiText(std::string_view text, std::string_view file);

/// Reads any of the three, by their content.
[[nodiscard]] Result<Topology> ReadTopologyText(std::string_view text, std::string_view file);

}  // namespace orrery::network
