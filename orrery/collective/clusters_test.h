#pragma once

#include <cstdint>

#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

/// Small clusters for tests: 360 GB/s inside a server, 48.5 GB/s a NIC; 50 ns and 1 µs.
namespace orrery::collective {

inline network::Server TestServer(std::uint32_t num_gpus, std::uint32_t num_nics) {
  return {
      .num_gpus = num_gpus,
      .num_nics = num_nics,
      .nvlink = {.bandwidth = {360e9}, .latency_ps = 25'000, .kind = network::LinkKind::kNvlink},
      .pcie = {.bandwidth = {200e9}, .kind = network::LinkKind::kPcie},
      .port = {.bandwidth = {48.5e9}, .latency_ps = 500'000}};
}

/// Servers around one switch.
inline network::Topology Servers(std::uint32_t count, std::uint32_t num_nics = 8,
                                 std::uint32_t num_gpus = 8) {
  return network::MakeSingleSwitch({.num_servers = count, .server = TestServer(num_gpus, num_nics)})
      .value();
}

/// Servers of eight on rails of one block.
inline network::Topology Rails(std::uint32_t count) {
  return network::MakeRailOptimised({.num_servers = count,
                                     .servers_per_block = count,
                                     .num_spines = count,
                                     .server = TestServer(8, 8),
                                     .fabric = {.bandwidth = {48.5e9}, .latency_ps = 500'000}})
      .value();
}

inline network::Placement AllGpus(const network::Topology& topology) {
  return network::Placement::Strided(topology, 0, topology.num_gpus()).value();
}

}  // namespace orrery::collective
