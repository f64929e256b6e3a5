#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery::hardware {

/// The kind of connection between GPUs that reach each other without NICs.
enum class IslandKind {
  kNvswitch,        // a star that never blocks
  kNvlinkMesh,      // a direct link between any two
  kNvlinkCubeMesh,  // eight GPUs of DGX-1: some pairs have no direct link
  kPcie,            // through PCIe switches and the CPUs
  kInfinityFabric,  // a direct link between any two
  kHccs,            // the same of Ascend NPUs
  kNeuronlink,      // a torus of Trainium chips
};

struct Island {
  IslandKind kind = IslandKind::kNvswitch;
  int gpus = 0;       // more than a node has when the island spans nodes (NVL72)
  Bandwidth per_gpu;  // all links of a GPU, one direction, according to the vendor
  Duration latency;   // between two of its GPUs; hardware only, without the communication library
  bool reduces_in_switch = false;  // NVLS
};

enum class NetworkKind {
  kNone,
  kInfiniband,
  kRoce,
  kEfa,
  kSlingshot,
  kOmniPath,
  kGpudirectTcpx,
};

/// The NICs that carry the traffic of GPUs; those for storage do not count.
struct Nics {
  NetworkKind kind = NetworkKind::kNone;
  int per_node = 0;
  Bandwidth bandwidth;  // of one, one direction
  Duration latency;     // between two NICs under one switch
};

enum class FabricPreset {
  kNone,
  kSingleSwitch,
  kFatTree,
  kRailOptimised,
  kDragonfly,
};

/// The switches between nodes, as parameters of a preset of `network`. What is not known, or means
/// nothing for the preset, is 0.
struct Fabric {
  FabricPreset preset = FabricPreset::kNone;
  int levels = 0;               // of switches
  int radix = 0;                // ports of a switch
  int nodes_per_block = 0;      // that share their first switches; dragonfly: a group
  double oversubscription = 1;  // down over up bandwidth at the first level
  int routers_per_group = 0;    // dragonfly
  int hosts_per_router = 0;     // dragonfly: NICs
  int globals_per_router = 0;   // dragonfly
};

/// NCCL's constants depend on it.
enum class CpuVendor {
  kIntel,
  kAmd,
  kNvidia,
};

/// A type of cluster, owned, rented or published (data/hardware/clusters.yaml).
struct Cluster {
  std::string name;
  MatchWords match;
  std::string gpu;  // name in the catalogue of GPUs
  int gpus_per_node = 0;
  int nodes = 0;  // of the largest known; 0: any number
  Island island;
  Nics nics;
  Fabric fabric;
  CpuVendor cpu = CpuVendor::kIntel;
  int pcie_generation = 0;   // between a GPU and its NIC
  std::string nccl_version;  // usual there; empty when not known
  std::string source;        // documents; names unverified values
  double host_ratio = 1;     // time of Python on its CPU relative to that of a DGX H100
};

/// Reads a catalogue. An error is one sentence that names the entry and the field.
[[nodiscard]] Result<std::vector<Cluster>> ReadClusters(const std::string& yaml);

/// Reads what differs from `base`, under the names of the catalogue: `gpus_per_node`, `nodes` (0:
/// any number), `island`, `nics`, `fabric`, `cpu`, `pcie_generation`, `nccl_version`.
[[nodiscard]] Cluster OverrideCluster(YamlFields& fields, Cluster base);
[[nodiscard]] const std::vector<Cluster>& ClusterCatalogue();

/// Finds an entry by its name in any case, then by words of other names: "dgx h100",
/// "H100 80GB (p5.48xlarge)". Nothing when no entry matches; the first when several do.
[[nodiscard]] const Cluster* FindCluster(std::string_view name);

/// As the catalogue spells them.
[[nodiscard]] std::string_view Name(IslandKind kind);
[[nodiscard]] std::string_view Name(NetworkKind kind);
[[nodiscard]] std::string_view Name(FabricPreset preset);
[[nodiscard]] std::string_view Name(CpuVendor vendor);

}  // namespace orrery::hardware
