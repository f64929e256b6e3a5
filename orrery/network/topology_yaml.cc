#include "orrery/network/topology_yaml.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "orrery/network/topology_text.h"

namespace orrery::network {
namespace {

constexpr double kPsPerNs = 1000;

constexpr std::array<std::string_view, 3> kDocumentKeys{"nodes", "links", "gpus_forward"};
constexpr std::array<std::string_view, 2> kNodeKeys{"name", "kind"};
constexpr std::array<std::string_view, 6> kLinkKeys{"from",       "to",   "gbps",
                                                    "latency_ns", "kind", "directed"};

std::optional<NodeKind> FindNodeKind(std::string_view name) {
  for (const NodeKind kind : {NodeKind::kGpu, NodeKind::kNic, NodeKind::kSwitch, NodeKind::kHost}) {
    if (NodeKindName(kind) == name) {
      return kind;
    }
  }
  return std::nullopt;
}

std::optional<LinkKind> FindLinkKind(std::string_view name) {
  for (const LinkKind kind :
       {LinkKind::kNvlink, LinkKind::kPcie, LinkKind::kHostBus, LinkKind::kNetwork}) {
    if (LinkKindName(kind) == name) {
      return kind;
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Topology> Read(const YAML::Node& document) && {
    if (!document.IsMap() || !document["nodes"] || !document["nodes"].IsSequence()) {
      return FailAtLine(file_, 1, "a topology begins with a list called nodes");
    }
    ORRERY_TRY_STATUS(CheckYamlKeys(document, kDocumentKeys, file_));
    for (const YAML::Node& node : document["nodes"]) {
      ORRERY_TRY_STATUS(AddNode(node));
    }
    const YAML::Node links = document["links"];
    if (links && !links.IsSequence()) {
      return FailAtLine(file_, LineOf(links), "links must be a list");
    }
    for (const YAML::Node& link : links) {
      ORRERY_TRY_STATUS(AddLink(link));
    }
    ORRERY_TRY(const bool gpus_forward, YamlFlag(document, "gpus_forward", file_));
    builder_.SetGpusForward(gpus_forward);
    Result<Topology> topology = std::move(builder_).Build();
    return topology ? std::move(topology) : FailWithin(file_, topology);
  }

 private:
  Status AddNode(const YAML::Node& node) {
    ORRERY_TRY(const std::string name, YamlText(node, "name", file_));
    ORRERY_TRY(const std::string kind_name, YamlText(node, "kind", file_));
    ORRERY_TRY_STATUS(CheckYamlKeys(node, kNodeKeys, file_));
    const std::optional<NodeKind> kind = FindNodeKind(kind_name);
    if (!kind) {
      return FailAtLine(file_, LineOf(node),
                        fmt::format("kind must be gpu, nic, switch or host: {}", kind_name));
    }
    if (!node_of_name_.try_emplace(name, builder_.num_nodes()).second) {
      return FailAtLine(file_, LineOf(node),
                        fmt::format("two nodes have one name; rename one: {}", name));
    }
    builder_.AddNode(*kind, name);
    return {};
  }

  Status AddLink(const YAML::Node& link) {
    ORRERY_TRY(const NodeId from, EndOf(link, "from"));
    ORRERY_TRY(const NodeId to, EndOf(link, "to"));
    ORRERY_TRY(const Wire wire, WireOf(link));
    ORRERY_TRY(const bool is_directed, YamlFlag(link, "directed", file_));
    ORRERY_TRY_STATUS(CheckYamlKeys(link, kLinkKeys, file_));
    const bool is_new = joined_.emplace(from, to, wire.kind).second &&
                        (is_directed || joined_.emplace(to, from, wire.kind).second);
    if (!is_new || from == to) {
      return FailAtLine(file_, LineOf(link),
                        from == to ? "a link joins two different nodes"
                                   : "these nodes are joined already; write one link with the "
                                     "bandwidth of both");
    }
    builder_.AddLink(from, to, wire);
    if (!is_directed) {
      builder_.AddLink(to, from, wire);
    }
    return {};
  }

  Result<NodeId> EndOf(const YAML::Node& link, const char* key) const {
    ORRERY_TRY(const std::string name, YamlText(link, key, file_));
    const auto found = node_of_name_.find(name);
    if (found == node_of_name_.end()) {
      return FailAtLine(file_, LineOf(link),
                        fmt::format("no such node; add it to nodes: {}", name));
    }
    return found->second;
  }

  Result<Wire> WireOf(const YAML::Node& link) const {
    ORRERY_TRY_STATUS(YamlText(link, "gbps", file_));
    ORRERY_TRY(const double gigabytes, YamlNumber(link["gbps"], "gbps", false, file_));
    Wire wire{.bandwidth = {gigabytes * 1e9}};
    if (link["latency_ns"]) {
      ORRERY_TRY(const double latency_ns,
                 YamlNumber(link["latency_ns"], "latency_ns", true, file_));
      wire.latency_ps = std::llround(latency_ns * kPsPerNs);
    }
    if (link["kind"]) {
      ORRERY_TRY(const std::string name, YamlText(link, "kind", file_));
      const std::optional<LinkKind> kind = FindLinkKind(name);
      if (!kind) {
        return FailAtLine(file_, LineOf(link),
                          fmt::format("kind must be nvlink, pcie, host_bus or network: {}", name));
      }
      wire.kind = *kind;
    }
    return wire;
  }

  std::string_view file_;
  TopologyBuilder builder_;
  std::map<std::string, NodeId, std::less<>> node_of_name_;
  std::set<std::tuple<NodeId, NodeId, LinkKind>> joined_;
};

}  // namespace

Result<YAML::Node> ParseYaml(std::string_view text, std::string_view file) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    return FailAtLine(file, error.mark.line + 1, fmt::format("not YAML: {}", error.msg));
  }
}

Result<std::string> YamlText(const YAML::Node& map, const char* key, std::string_view file) {
  if (!map.IsMap() || !map[key] || !map[key].IsScalar()) {
    return FailAtLine(file, LineOf(map), fmt::format("{} is missing; add it", key));
  }
  return map[key].Scalar();
}

Result<bool> YamlFlag(const YAML::Node& map, const char* key, std::string_view file) {
  const YAML::Node value = map[key];
  bool flag = false;
  if (value && !(value.IsScalar() && YAML::convert<bool>::decode(value, flag))) {
    return FailAtLine(file, LineOf(value), fmt::format("{} must be true or false", key));
  }
  return flag;
}

Status CheckYamlKeys(const YAML::Node& map, std::span<const std::string_view> known,
                     std::string_view file) {
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::ranges::find(known, key) == known.end()) {
      return FailAtLine(file, LineOf(entry.first),
                        fmt::format("no such key; there are {}: {}", fmt::join(known, ", "), key));
    }
  }
  return {};
}

Result<double> YamlNumber(const YAML::Node& value, std::string_view name, bool may_be_zero,
                          std::string_view file) {
  double number = std::nan("");
  const bool is_number = value.IsScalar() && YAML::convert<double>::decode(value, number);
  // 1e15 of anything is a slip, and keeps integers whole.
  if (!is_number || !(number > 0 || (may_be_zero && number == 0)) || number > 1e15) {
    return FailAtLine(
        file, LineOf(value),
        fmt::format("{} must be a number {} zero: {}", name, may_be_zero ? "not below" : "above",
                    value.IsScalar() ? value.Scalar() : "a list"));
  }
  return number;
}

Result<Topology> ReadTopologyYaml(std::string_view text, std::string_view file) {
  ORRERY_TRY(const YAML::Node document, ParseYaml(text, file));
  try {
    return Reader(file).Read(document);
  } catch (const YAML::Exception& error) {
    return FailAtLine(file, error.mark.line + 1, error.msg);
  }
}

}  // namespace orrery::network
