#include "orrery/overlap/gemm_blocks.h"

#include <cmath>
#include <optional>

#include "orrery/base/round_up.h"
#include "orrery/overlap/kernel_name.h"

namespace orrery::overlap {
namespace {

std::int64_t TilesAlong(double length, int of_tile) {
  return static_cast<std::int64_t>(std::ceil(length / of_tile));
}

bool TakesTilesInTurn(std::string_view kernel_name) {
  return kernel_name.starts_with("nvjet") || kernel_name.starts_with("sm90_xmma");
}

// Columns of tiles that CUTLASS keeps together, by how many there are.
std::int64_t ColumnsOfGroup(std::int64_t columns) {
  constexpr std::int64_t kForEight = 6;
  constexpr std::int64_t kForFour = 3;
  return columns >= kForEight ? 8 : columns >= kForFour ? 4 : columns >= 2 ? 2 : 1;
}

}  // namespace

GemmBlocks BlocksOfGemm(const kernel::GemmShape& product, std::string_view kernel_name,
                              std::int64_t blocks) {
  const std::optional<Tile> tile = TileInName(kernel_name);
  if (!tile || blocks <= 0) {
    return {.working = blocks};
  }
  // The library's rows are the columns of ours.
  const std::int64_t columns = TilesAlong(product.n, tile->rows);
  const std::int64_t rows = TilesAlong(product.m, tile->columns);
  const auto batch = static_cast<std::int64_t>(product.batch);
  if (TakesTilesInTurn(kernel_name)) {
    const std::int64_t tiles =
        batch * RoundUp(columns, tile->cluster_rows) * RoundUp(rows, tile->cluster_columns);
    return {.working = blocks, .tiles = static_cast<double>(tiles)};
  }
  const std::int64_t tiles = batch * rows * columns;
  const std::int64_t dealt = batch * rows * RoundUp(columns, ColumnsOfGroup(columns));
  if (tiles <= 0 || blocks % tiles == 0 || blocks % dealt != 0) {
    return {.working = blocks};
  }
  return {.working = tiles * (blocks / dealt)};  // each of them for every part of the sum
}

}  // namespace orrery::overlap
