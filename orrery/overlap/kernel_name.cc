#include "orrery/overlap/kernel_name.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/round_up.h"

namespace orrery::overlap {
namespace {

/// "128x64" of a name; further factors are ignored.
struct Size {
  int rows = 0;
  int columns = 0;
};

std::optional<Size> SizeOf(std::string_view word) {
  constexpr std::string_view kPrefix = "tilesize";
  if (word.starts_with(kPrefix)) {
    word.remove_prefix(kPrefix.size());
  }
  Size size;
  const char* const end = word.data() + word.size();
  const auto [middle, error] = std::from_chars(word.data(), end, size.rows);
  if (error != std::errc() || middle == end || *middle != 'x') {
    return std::nullopt;
  }
  const auto [last, second] = std::from_chars(middle + 1, end, size.columns);
  const bool is_whole = second == std::errc() && (last == end || *last == 'x');
  return is_whole && size.rows > 0 && size.columns > 0 ? std::optional(size) : std::nullopt;
}

std::vector<Size> SizesIn(std::string_view name) {
  std::vector<Size> sizes;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('_'));
    if (const std::optional<Size> size = SizeOf(word)) {
      sizes.push_back(*size);
    }
    name.remove_prefix(std::min(name.size(), word.size() + 1));
  }
  return sizes;
}

// The third of nvjet's sizes: tile, depth with stages, cluster.
Size ClusterOfNvjet(std::span<const Size> sizes) {
  constexpr std::size_t kPlace = 2;
  return sizes.size() > kPlace ? sizes[kPlace] : Size{.rows = 1, .columns = 1};
}

bool IsNvjet(std::string_view kernel) {
  return kernel.starts_with("nvjet");
}

std::int64_t TilesAlong(double length, int of_tile) {
  return static_cast<std::int64_t>(std::ceil(length / of_tile));
}

bool TakesTilesInTurn(std::string_view kernel_name) {
  return kernel_name.starts_with("nvjet") || kernel_name.starts_with("sm90_xmma");
}

// Columns of tiles in a CUTLASS group, by their number.
std::int64_t ColumnsOfGroup(std::int64_t columns) {
  constexpr std::int64_t kForEight = 6;
  constexpr std::int64_t kForFour = 3;
  return columns >= kForEight ? 8 : columns >= kForFour ? 4 : columns >= 2 ? 2 : 1;
}

}  // namespace

std::optional<Tile> TileInName(std::string_view kernel) {
  constexpr int kLeast = 8;
  const std::vector<Size> sizes = SizesIn(kernel);
  const auto tile = std::ranges::find_if(
      sizes, [](const Size& size) { return size.rows >= kLeast && size.columns >= kLeast; });
  if (tile == sizes.end()) {
    return std::nullopt;
  }
  const Size cluster = IsNvjet(kernel) ? ClusterOfNvjet(sizes) : Size{.rows = 1, .columns = 1};
  return Tile{.rows = tile->rows,
              .columns = tile->columns,
              .cluster_rows = cluster.rows,
              .cluster_columns = cluster.columns};
}

int ClusterInName(std::string_view kernel) {
  constexpr int kOfWarpGroups = 2;  // seen in 8 of 10 such kernels (overlap-counters-1.csv.gz)
  if (IsNvjet(kernel)) {
    const Size cluster = ClusterOfNvjet(SizesIn(kernel));
    return cluster.rows * cluster.columns;
  }
  return kernel.starts_with("sm90_xmma") ? kOfWarpGroups : 1;
}

GemmBlocks BlocksOfGemm(const kernel::GemmShape& gemm, std::string_view kernel_name,
                        std::int64_t blocks) {
  const std::optional<Tile> tile = TileInName(kernel_name);
  if (!tile || blocks <= 0) {
    return {.working = blocks};
  }
  // The library's rows are our columns.
  const std::int64_t columns = TilesAlong(gemm.n, tile->rows);
  const std::int64_t rows = TilesAlong(gemm.m, tile->columns);
  const auto batch = static_cast<std::int64_t>(gemm.batch);
  if (TakesTilesInTurn(kernel_name)) {
    const std::int64_t tiles =
        batch * RoundUp(columns, tile->cluster_rows) * RoundUp(rows, tile->cluster_columns);
    return {.working = blocks, .tiles = static_cast<double>(tiles)};
  }
  const std::int64_t tiles = batch * rows * columns;
  const std::int64_t assigned = batch * rows * RoundUp(columns, ColumnsOfGroup(columns));
  if (tiles <= 0 || blocks % tiles == 0 || blocks % assigned != 0) {
    return {.working = blocks};
  }
  return {.working = tiles * (blocks / assigned)};  // for every part of split-K
}

}  // namespace orrery::overlap
