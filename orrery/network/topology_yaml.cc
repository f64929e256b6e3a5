#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"
#include "orrery/network/topology_text.h"

namespace orrery::network {
namespace {

constexpr double kPsPerNs = 1000;
// 1e15 ns is a mistake, and keeps picoseconds in 64 bits.
constexpr double kMaxLatencyNs = 1e15;
// ASTRA-sim's GB/s, as its link model counts them.
constexpr double kBytesOfGb = 1024.0 * 1024 * 1024;
constexpr std::int64_t kMaxFullyConnected = 2048;

constexpr std::array<Spelling<NodeKind>, 4> kNodeKinds{{{"gpu", NodeKind::kGpu},
                                                        {"nic", NodeKind::kNic},
                                                        {"switch", NodeKind::kSwitch},
                                                        {"host", NodeKind::kHost}}};

constexpr std::array<Spelling<LinkKind>, 4> kLinkKinds{{{"nvlink", LinkKind::kNvlink},
                                                        {"pcie", LinkKind::kPcie},
                                                        {"host_bus", LinkKind::kHostBus},
                                                        {"network", LinkKind::kNetwork}}};

std::int64_t ToPicoseconds(double latency_ns, std::string_view key, YamlFields& fields) {
  if (latency_ns > kMaxLatencyNs) {
    fields.Wrong(key, fmt::format("must be at most {}", kMaxLatencyNs), std::to_string(latency_ns));
    return 0;
  }
  return std::llround(latency_ns * kPsPerNs);
}

class GraphReader {
 public:
  TopologyBuilder Read(YamlFields& document) && {
    for (YamlFields& node : document.Maps("nodes")) {
      AddNode(node);
    }
    document.Expect({"links"});
    if (document.Has("links")) {
      for (YamlFields& link : document.Maps("links")) {
        AddLink(link);
      }
    }
    builder_.SetGpusForward(document.Flag("gpus_forward", false));
    document.RefuseOthers();
    return std::move(builder_);
  }

 private:
  void AddNode(YamlFields& fields) {
    const std::string name = fields.Text("name");
    const NodeKind kind = fields.Choice<NodeKind>("kind", kNodeKinds);
    fields.RefuseOthers();
    if (!node_of_name_.try_emplace(name, builder_.num_nodes()).second) {
      fields.Wrong("name", "must differ from the names of other nodes", name);
    }
    builder_.AddNode(kind, name);
  }

  void AddLink(YamlFields& fields) {
    const NodeId from = EndOf(fields, "from");
    const NodeId to = EndOf(fields, "to");
    const Wire wire{
        .bandwidth = {fields.Positive("gbps") * 1e9},
        .latency_ps = ToPicoseconds(fields.Number("latency_ns", 0, 0), "latency_ns", fields),
        .kind = fields.Choice<LinkKind>("kind", kLinkKinds, LinkKind::kNetwork)};
    const bool is_directed = fields.Flag("directed", false);
    fields.RefuseOthers();
    const bool is_new = joined_.emplace(from, to, wire.kind).second &&
                        (is_directed || joined_.emplace(to, from, wire.kind).second);
    if (!is_new) {
      fields.Wrong("to", "must not be linked twice; write one link with the bandwidth of both",
                   fields.Text("to"));
    }
    builder_.AddLink(from, to, wire);
    if (!is_directed) {
      builder_.AddLink(to, from, wire);
    }
  }

  NodeId EndOf(YamlFields& fields, std::string_view key) const {
    const std::string name = fields.Text(key);
    const auto found = node_of_name_.find(name);
    if (found == node_of_name_.end()) {
      fields.Wrong(key, "must be the name of a node", name);
      return 0;
    }
    return found->second;
  }

  TopologyBuilder builder_;
  std::map<std::string, NodeId, std::less<>> node_of_name_;
  std::set<std::tuple<NodeId, NodeId, LinkKind>> joined_;
};

enum class Shape { kRing, kSwitch, kFullyConnected };

constexpr std::array<Spelling<Shape>, 3> kShapes{{{"Ring", Shape::kRing},
                                                  {"Switch", Shape::kSwitch},
                                                  {"FullyConnected", Shape::kFullyConnected}}};

struct Dimension {
  Shape shape = Shape::kRing;
  std::uint32_t size = 0;
  Wire wire{};
};

Shape ShapeNamed(const std::string& name, YamlFields& fields) {
  for (const auto& [spelling, shape] : kShapes) {
    if (name == spelling) {
      return shape;
    }
  }
  fields.Wrong("topology", "must be a list of Ring, Switch and FullyConnected", name);
  return Shape::kRing;
}

void CheckLength(YamlFields& fields, std::string_view key, std::size_t length,
                 std::size_t num_dimensions) {
  if (length != num_dimensions) {
    fields.Wrong(key, fmt::format("must have one entry for each of {} dimensions", num_dimensions),
                 fmt::format("{} entries", length));
  }
}

void CheckSize(YamlFields& fields, std::int64_t size, Shape shape) {
  if (!CheckGpuCount(static_cast<std::uint64_t>(size))) {
    fields.Wrong("npus_count", "must be smaller", std::to_string(size));
  }
  if (shape == Shape::kFullyConnected && size > kMaxFullyConnected) {
    fields.Wrong(
        "npus_count",
        fmt::format("of FullyConnected must be at most {} (use a Switch)", kMaxFullyConnected),
        std::to_string(size));
  }
}

std::vector<Dimension> ReadDimensions(YamlFields& fields, const std::optional<Error>& first_error) {
  const std::vector<std::string> shapes = fields.Texts("topology");
  const std::vector<std::int64_t> sizes = fields.Sizes("npus_count", 1);
  const std::vector<double> bandwidths = fields.Numbers("bandwidth", 0);
  const std::vector<double> latencies = fields.Numbers("latency", 0);
  CheckLength(fields, "npus_count", sizes.size(), shapes.size());
  CheckLength(fields, "bandwidth", bandwidths.size(), shapes.size());
  CheckLength(fields, "latency", latencies.size(), shapes.size());
  if (shapes.empty()) {
    fields.Wrong("topology", "must have a dimension", "an empty list");
  }
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < shapes.size() && !first_error; ++i) {
    const Shape shape = ShapeNamed(shapes[i], fields);
    CheckSize(fields, sizes[i], shape);
    dimensions.push_back({.shape = shape,
                          .size = static_cast<std::uint32_t>(sizes[i]),
                          .wire = {.bandwidth = {bandwidths[i] * kBytesOfGb},
                                   .latency_ps = ToPicoseconds(latencies[i], "latency", fields)}});
  }
  return dimensions;
}

void LinkLine(TopologyBuilder& builder, const Dimension& dimension, NodeId first,
              std::uint32_t stride) {
  const auto npu = [&](std::uint32_t i) { return first + i * stride; };
  if (dimension.shape == Shape::kSwitch) {
    const NodeId node =
        builder.AddNode(NodeKind::kSwitch, fmt::format("switch{}", builder.num_nodes()));
    for (std::uint32_t i = 0; i < dimension.size; ++i) {
      builder.AddCable(npu(i), node, dimension.wire);
    }
    return;
  }
  for (std::uint32_t i = 0; i < dimension.size; ++i) {
    for (std::uint32_t j = i + 1; j < dimension.size; ++j) {
      const bool is_neighbour = j == i + 1 || (i == 0 && j + 1 == dimension.size);
      if (dimension.shape == Shape::kFullyConnected || is_neighbour) {
        builder.AddCable(npu(i), npu(j), dimension.wire);
      }
    }
  }
}

Result<TopologyBuilder> CartesianProduct(const std::vector<Dimension>& dimensions) {
  std::uint64_t num_npus = 1;
  for (const Dimension& dimension : dimensions) {
    num_npus *= dimension.size;
    ORRERY_TRY_STATUS(CheckGpuCount(num_npus));
  }
  TopologyBuilder builder;
  for (std::uint64_t npu = 0; npu < num_npus; ++npu) {
    builder.AddGpu(fmt::format("npu{}", npu));
  }
  std::uint32_t stride = 1;
  for (const Dimension& dimension : dimensions) {
    for (NodeId npu = 0; npu < num_npus; ++npu) {
      if (npu / stride % dimension.size == 0) {
        LinkLine(builder, dimension, npu, stride);
      }
    }
    stride *= dimension.size;
  }
  builder.SetGpusForward(dimensions.size() > 1 || dimensions[0].shape == Shape::kRing);
  return builder;
}

// Builds the topology that `read(fields, first_error)` returns for a document.
template <typename Read>
Result<Topology> BuildFrom(std::string_view text, std::string_view file, const Read& read) {
  std::optional<Error> first_error;
  try {
    YamlFields fields(YAML::Load(std::string(text)), std::string(file), first_error);
    Result<TopologyBuilder> builder = read(fields, first_error);
    if (first_error) {
      return tl::unexpected(*std::move(first_error));
    }
    if (!builder) {
      return FailWithin(file, builder);
    }
    Result<Topology> topology = std::move(*builder).Build();
    return topology ? std::move(topology) : FailWithin(file, topology);
  } catch (const YAML::Exception& error) {
    return Invalid("{}: line {}: not YAML: {}", file, error.mark.line + 1, error.msg);
  }
}

}  // namespace

Result<Topology> ReadTopologyYaml(std::string_view text, std::string_view file) {
  return BuildFrom(text, file, [](YamlFields& fields, const std::optional<Error>&) {
    return Result<TopologyBuilder>(GraphReader().Read(fields));
  });
}

Result<Topology> ReadAstraSimYaml(std::string_view text, std::string_view file) {
  return BuildFrom(
      text, file,
      [](YamlFields& fields, const std::optional<Error>& first_error) -> Result<TopologyBuilder> {
        const std::vector<Dimension> dimensions = ReadDimensions(fields, first_error);
        return first_error ? TopologyBuilder() : CartesianProduct(dimensions);
      });
}

}  // namespace orrery::network
