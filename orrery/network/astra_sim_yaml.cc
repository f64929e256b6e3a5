#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/network/preset_parts.h"
#include "orrery/network/topology_text.h"
#include "orrery/network/topology_yaml.h"

namespace orrery::network {
namespace {

// ASTRA-sim's GB/s, as its link model counts them.
constexpr double kBytesOfGb = 1024.0 * 1024 * 1024;

constexpr std::uint32_t kMostFullyConnected = 2048;

struct Dimension {
  std::string shape;  // Ring, Switch, FullyConnected
  std::uint32_t size = 0;
  Wire wire{};
};

// The list under a key, as long as the list of shapes.
Result<YAML::Node> ListOf(const YAML::Node& document, const char* key, std::size_t length,
                          std::string_view file) {
  const YAML::Node list = document[key];
  if (!list || !list.IsSequence() || list.size() != length) {
    return FailAtLine(
        file, list ? LineOf(list) : 1,
        fmt::format("{} must be a list with one entry for each of {} dimensions", key, length));
  }
  return list;
}

Result<Dimension> DimensionOf(const YAML::Node& shape, const YAML::Node& count,
                              const YAML::Node& bandwidth, const YAML::Node& latency,
                              std::string_view file) {
  Dimension dimension{.shape = shape.IsScalar() ? shape.Scalar() : ""};
  if (dimension.shape != "Ring" && dimension.shape != "Switch" &&
      dimension.shape != "FullyConnected") {
    return FailAtLine(
        file, LineOf(shape),
        fmt::format("topology must be Ring, Switch or FullyConnected: {}", dimension.shape));
  }
  ORRERY_TRY(const double size, YamlNumber(count, "npus_count", false, file));
  ORRERY_TRY(const double gigabytes, YamlNumber(bandwidth, "bandwidth", false, file));
  ORRERY_TRY(const double latency_ns, YamlNumber(latency, "latency", true, file));
  if (size != std::floor(size) || size > 1e6) {
    return FailAtLine(file, LineOf(count),
                      fmt::format("npus_count must be a whole number: {}", count.Scalar()));
  }
  dimension.size = static_cast<std::uint32_t>(size);
  if (dimension.shape == "FullyConnected" && dimension.size > kMostFullyConnected) {
    return FailAtLine(file, LineOf(count),
                      fmt::format("a cable between every two of {} NPUs is too much; use a Switch",
                                  dimension.size));
  }
  dimension.wire = {.bandwidth = {gigabytes * kBytesOfGb},
                    .latency_ps = std::llround(latency_ns * 1000)};
  return dimension;
}

// Joins the NPUs of one line along a dimension.
void JoinLine(TopologyBuilder& builder, const Dimension& dimension, NodeId first,
              std::uint32_t stride) {
  const auto npu = [&](std::uint32_t i) { return first + i * stride; };
  if (dimension.shape == "Switch") {
    const NodeId node =
        builder.AddNode(NodeKind::kSwitch, fmt::format("switch{}", builder.num_nodes()));
    for (std::uint32_t i = 0; i < dimension.size; ++i) {
      builder.AddCable(npu(i), node, dimension.wire);
    }
    return;
  }
  const bool is_ring = dimension.shape == "Ring";
  for (std::uint32_t i = 0; i < dimension.size; ++i) {
    for (std::uint32_t j = i + 1; j < dimension.size; ++j) {
      const bool is_neighbour = j == i + 1 || (i == 0 && j + 1 == dimension.size);
      if (!is_ring || is_neighbour) {
        builder.AddCable(npu(i), npu(j), dimension.wire);
      }
    }
  }
}

Result<Topology> Product(const std::vector<Dimension>& dimensions) {
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
        JoinLine(builder, dimension, npu, stride);
      }
    }
    stride *= dimension.size;
  }
  builder.SetGpusForward(dimensions.size() > 1 || dimensions[0].shape == "Ring");
  return std::move(builder).Build();
}

Result<Topology> ReadDocument(const YAML::Node& document, std::string_view file) {
  const YAML::Node shapes = document["topology"];
  if (!shapes || !shapes.IsSequence() || shapes.size() == 0) {
    return FailAtLine(file, 1, "topology must be a list of Ring, Switch and FullyConnected");
  }
  ORRERY_TRY(const YAML::Node counts, ListOf(document, "npus_count", shapes.size(), file));
  ORRERY_TRY(const YAML::Node bandwidths, ListOf(document, "bandwidth", shapes.size(), file));
  ORRERY_TRY(const YAML::Node latencies, ListOf(document, "latency", shapes.size(), file));
  std::vector<Dimension> dimensions;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ORRERY_TRY(Dimension dimension,
               DimensionOf(shapes[i], counts[i], bandwidths[i], latencies[i], file));
    dimensions.push_back(std::move(dimension));
  }
  Result<Topology> topology = Product(dimensions);
  return topology ? std::move(topology) : FailWithin(file, topology);
}

}  // namespace

Result<Topology> ReadAstraSimYaml(std::string_view text, std::string_view file) {
  ORRERY_TRY(const YAML::Node document, ParseYaml(text, file));
  try {
    return ReadDocument(document, file);
  } catch (const YAML::Exception& error) {
    return FailAtLine(file, error.mark.line + 1, error.msg);
  }
}

}  // namespace orrery::network
