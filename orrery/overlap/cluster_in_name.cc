#include "orrery/overlap/cluster_in_name.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace orrery::overlap {
namespace {

// Reads "2x1" and returns the product.
std::optional<int> Product(std::string_view word) {
  int product = 1;
  while (!word.empty()) {
    int factor = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), factor);
    if (error != std::errc() || factor <= 0) {
      return std::nullopt;
    }
    product *= factor;
    word.remove_prefix(static_cast<std::size_t>(end - word.data()));
    if (word.empty()) {
      return product;
    }
    if (word.front() != 'x') {
      return std::nullopt;
    }
    word.remove_prefix(1);
  }
  return std::nullopt;
}

// The third of nvjet's words of sizes: tile, depth with stages, cluster.
int ClusterOfNvjet(std::string_view name) {
  int sizes = 0;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('_'));
    if (const std::optional<int> product = Product(word);
        product && word.find('x') != std::string_view::npos && ++sizes == 3) {
      return *product;
    }
    name.remove_prefix(std::min(name.size(), word.size() + 1));
  }
  return 1;
}

}  // namespace

int ClusterInName(std::string_view kernel) {
  constexpr int kOfWarpGroups = 2;  // seen in 8 of 10 such kernels (overlap-counters-1.csv.gz)
  return kernel.starts_with("nvjet")       ? ClusterOfNvjet(kernel)
         : kernel.starts_with("sm90_xmma") ? kOfWarpGroups
                                           : 1;
}

}  // namespace orrery::overlap
