#include "orrery/workload/job/published/published_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/embedded_published_words.h"
#include "orrery/workload/input.h"

namespace orrery::workload {
namespace {

using hardware::NetworkKind;

constexpr std::array<Spelling<NetworkKind>, 4> kKinds{
    {{"efa", NetworkKind::kEfa},
     {"omni_path", NetworkKind::kOmniPath},
     {"slingshot", NetworkKind::kSlingshot},
     {"gpudirect_tcpx", NetworkKind::kGpudirectTcpx}}};

Result<PublishedWords> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "words of published runs", first_error);
  PublishedWords words;
  for (YamlFields& fields : top.Maps("networks")) {
    const auto kind = fields.Choice("kind", std::span<const Spelling<NetworkKind>>(kKinds));
    words.networks.push_back({kind, fields.WordLists("match")});
    fields.Expect({"source"});
    fields.RefuseOthers();
  }
  for (YamlFields& fields : top.Maps("routings")) {
    PublishedWords::Routing routing{fields.WordLists("match")};
    routing.imbalance = fields.Number("imbalance", 1, 1);
    words.routings.push_back(std::move(routing));
    fields.Expect({"source"});
    fields.RefuseOthers();
  }
  for (YamlFields& fields : top.Maps("precisions")) {
    PublishedWords::Precision precision{fields.WordLists("match")};
    precision.gradient_bytes = fields.Count("gradient_bytes", 1);
    words.precisions.push_back(std::move(precision));
    fields.Expect({"source"});
    fields.RefuseOthers();
  }
  top.RefuseOthers();
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return words;
}

const PublishedWords& Shipped() {
  static const PublishedWords words = [] {
    auto read = ReadPublishedWords(kEmbeddedPublishedWords);
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return words;
}

template <typename Entry>
const Entry* FirstCalled(const std::vector<Entry>& entries, std::string_view text) {
  const auto found = std::ranges::find_if(
      entries, [&](const Entry& entry) { return hardware::IsCalled(text, entry.match); });
  return found == entries.end() ? nullptr : &*found;
}

}  // namespace

Result<PublishedWords> ReadPublishedWords(const std::string& yaml) {
  return WithYaml("words of published runs", yaml, ReadAll);
}

const hardware::Cluster* MachineWithNetwork(std::string_view gpu, std::string_view network) {
  const PublishedWords::Network* const named = FirstCalled(Shipped().networks, network);
  if (named == nullptr) {
    return nullptr;
  }
  const auto& clusters = hardware::ClusterCatalogue();
  const auto found = std::ranges::find_if(clusters, [&](const hardware::Cluster& cluster) {
    return cluster.gpu == gpu && cluster.nics.kind == named->kind;
  });
  return found == clusters.end() ? nullptr : &*found;
}

double NamedTokenImbalance(std::string_view capacity) {
  const PublishedWords::Routing* const named = FirstCalled(Shipped().routings, capacity);
  return named == nullptr ? 1 : named->imbalance;
}

std::optional<int> NamedGradientBytes(std::string_view precision) {
  const PublishedWords::Precision* const named = FirstCalled(Shipped().precisions, precision);
  return named == nullptr ? std::nullopt : std::optional(named->gradient_bytes);
}

}  // namespace orrery::workload
