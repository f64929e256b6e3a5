#include "orrery/hardware/cluster.h"

#include <algorithm>

#include "orrery/base/text.h"
#include "orrery/base/check.h"
#include "orrery/hardware/embedded_catalogue.h"

namespace orrery::hardware {

const std::vector<Cluster>& ClusterCatalogue() {
  static const std::vector<Cluster> catalogue = [] {
    auto clusters = ReadClusters(kEmbeddedClusters);
    ORRERY_CHECK(clusters.has_value(), clusters.error().message());
    return *std::move(clusters);
  }();
  return catalogue;
}

const Cluster* FindCluster(std::string_view name) {
  const auto& clusters = ClusterCatalogue();
  auto found = std::ranges::find_if(
      clusters, [&](const Cluster& cluster) { return SameIgnoringCase(cluster.name, name); });
  if (found == clusters.end()) {
    found = std::ranges::find_if(
        clusters, [&](const Cluster& cluster) { return IsCalled(name, cluster.match); });
  }
  return found == clusters.end() ? nullptr : &*found;
}

}  // namespace orrery::hardware
