/// Topologies from a few parameters. Every function fails with one sentence when a parameter is
/// out of range. Bandwidth is per direction.
/// Common parts of the presets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"

namespace orrery::network {

/// GPUs around one NVSwitch: a non-blocking star; only the links of each GPU limit it.
struct NvswitchIsland {
  std::uint32_t num_gpus = 8;
  Wire nvlink{};  // of one GPU to the switch, all its links together; half of the latency of a pair
};

[[nodiscard]] Result<Topology> MakeNvswitchIsland(const NvswitchIsland& island);

/// GPUs 2i and 2i + 1 joined by NVLink, all of them under one PCIe switch.
struct NvlinkPairs {
  std::uint32_t num_gpus = 4;  // even
  Wire nvlink{};               // between the two of a pair
  Wire pcie{};                 // of a GPU
};

[[nodiscard]] Result<Topology> MakeNvlinkPairs(const NvlinkPairs& pairs);

/// The hybrid cube mesh of eight V100 (DGX-1): two quads, each fully joined, and the edges between
/// them; six NVLinks a GPU, two neighbours by two of them. GPUs forward.
struct CubeMesh {
  Wire nvlink{};  // of one link
};

[[nodiscard]] Result<Topology> MakeCubeMesh(const CubeMesh& mesh);

/// CPUs joined in a line, PCIe switches below each, GPUs and NICs below each of those. The uplink
/// of a switch is shared by what is below it.
struct PcieTree {
  std::uint32_t num_cpus = 2;
  std::uint32_t switches_per_cpu = 2;
  std::uint32_t gpus_per_switch = 2;
  std::uint32_t nics_per_switch = 0;
  Wire slot{};    // of a GPU or NIC to its switch
  Wire uplink{};  // of a switch to its CPU
  Wire socket{};  // between two CPUs
};

[[nodiscard]] Result<Topology> MakePcieTree(const PcieTree& tree);

/// A server of a cluster: GPUs around an NVSwitch (none when there is one GPU), and NICs. NIC i
/// serves the GPUs whose position divided by (gpus / nics) is i.
struct Server {
  std::uint32_t num_gpus = 8;
  std::uint32_t num_nics = 8;       // divides num_gpus
  std::uint32_t ports_per_nic = 1;  // planes of the network
  Wire nvlink{};
  Wire pcie{};  // of a GPU to its NIC, all its ports together
  Wire port{};  // of one port to its leaf
};

/// GPUs that are the hosts of the network: no NICs, no island.
[[nodiscard]] Server BareHost(const Wire& port);

struct SingleSwitch {
  std::uint32_t num_servers = 2;
  Server server{};
};

[[nodiscard]] Result<Topology> MakeSingleSwitch(const SingleSwitch& pod);

/// A Clos of two or three tiers of switches with `radix` ports, half of them down on full
/// bisection. `oversubscription` o is down over up bandwidth at the leaves: a leaf has
/// o / (1 + o) of its ports down. At full size two tiers have radix²/2 ports for hosts at o = 1,
/// three tiers radix³/4; smaller clusters leave the last leaves out.
struct Clos {
  std::uint32_t tiers = 2;
  std::uint32_t radix = 64;
  double oversubscription = 1;
  std::uint32_t num_servers = 0;  // 0: as many as fit
  Server server{};                // ports are plugged in order: all of server 0, then 1, …
  Wire fabric{};                  // between switches
};

[[nodiscard]] Result<Topology> MakeClos(const Clos& clos);

[[nodiscard]] std::uint64_t ClosPorts(std::uint32_t tiers, std::uint32_t radix,
                                      double oversubscription);

/// A fat tree by the arities of its levels, from the hosts up (an extended generalised fat tree): a
/// switch of level i has down[i] children, and a node of level i - 1 has up[i] parents.
/// down {16, 16, 16} and up {1, 16, 16} has 4,096 hosts.
struct FatTree {
  std::vector<std::uint32_t> down{16, 16, 16};
  std::vector<std::uint32_t> up{1, 16, 16};
  Wire host{};    // of a host to its switch
  Wire fabric{};  // between switches
};

[[nodiscard]] Result<Topology> MakeFatTree(const FatTree& tree);

/// Rails: NIC i of every server of a block goes to leaf i of the block, so GPUs of the same
/// position are one leaf apart. The leaves of all blocks meet in `num_spines` switches.
struct RailOptimised {
  std::uint32_t num_servers = 32;
  std::uint32_t servers_per_block = 32;
  std::uint32_t num_spines = 8;        // 0: rails do not meet (one block only)
  std::uint32_t cables_per_spine = 1;  // from a leaf to each spine, as one link of their sum
  Server server{};                     // port p of a NIC goes to plane p, with leaves of its own
  Wire fabric{};
};

[[nodiscard]] Result<Topology> MakeRailOptimised(const RailOptimised& rails);

/// Dual ToR: port p of every NIC of a block goes to leaf p of the block; planes stay separate up to
/// their own spines, or share spines.
struct MultiPlane {
  std::uint32_t num_servers = 16;
  std::uint32_t servers_per_block = 16;
  std::uint32_t spines_per_plane = 4;
  bool planes_share_spines = false;
  Server server{.ports_per_nic = 2};
  Wire fabric{};
};

[[nodiscard]] Result<Topology> MakeMultiPlane(const MultiPlane& planes);

/// Dragonfly of a·h + 1 groups of a routers with p hosts and h global cables each; balanced when
/// a = 2p = 2h.
struct Dragonfly {
  std::uint32_t hosts_per_router = 4;
  std::uint32_t routers_per_group = 8;
  std::uint32_t globals_per_router = 4;
  Wire host{};
  Wire local{};
  Wire global{};
};

[[nodiscard]] Result<Topology> MakeDragonfly(const Dragonfly& dragonfly);

/// A torus of GPUs that forward; a side of two has one cable.
struct Torus {
  std::vector<std::uint32_t> sides{4, 4, 4};
  Wire wire{};
};

[[nodiscard]] Result<Topology> MakeTorus(const Torus& torus);

/// The network ports of a server: the nodes of its ports, NIC by NIC, plane by plane. GPUs
/// themselves when it has no NICs.
using ServerPorts = std::vector<NodeId>;

/// Adds the GPUs, the NVSwitch and the NICs of one server.
ServerPorts AddServer(TopologyBuilder& builder, const Server& server, std::uint32_t number);

[[nodiscard]] std::uint32_t PortsOfServer(const Server& server);

/// Fails when a server has no GPU or its NICs do not divide its GPUs.
[[nodiscard]] Status CheckServer(const Server& server);

/// Fails unless `value` is at least `least`: "servers_per_block must be at least 1: 0".
[[nodiscard]] Status CheckAtLeast(std::string_view name, std::uint64_t value, std::uint64_t least);

/// Fails when a preset would have more GPUs than a topology is meant for.
[[nodiscard]] Status CheckGpuCount(std::uint64_t num_gpus);

/// Adds `count` switches called prefix0, prefix1, … and returns the first.
NodeId AddSwitches(TopologyBuilder& builder, std::uint32_t count, std::string_view prefix);

}  // namespace orrery::network
