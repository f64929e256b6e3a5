#include "orrery/workload/model/dlrm.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/learn/data_set.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::array<std::int64_t, 19> kRows{
    1'000,     2'000,     5'000,      7'500,      10'000,    20'000,    50'000,
    75'000,    100'000,   200'000,    500'000,    750'000,   1'000'000, 2'000'000,
    5'000'000, 7'500'000, 10'000'000, 20'000'000, 50'000'000};
constexpr std::array<std::int64_t, 6> kPools{8, 16, 32, 38, 64, 128};

// Numbers that one sample reads from a table: what takes the time.
std::int64_t ReadsOf(const EmbeddingTable& table) {
  return table.dim * table.pool;
}

std::vector<std::size_t> BusiestFirst(const std::vector<EmbeddingTable>& tables) {
  std::vector<std::size_t> order(tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&tables](std::size_t a, std::size_t b) {
    return std::tuple(ReadsOf(tables[a]), tables[a].rows) >
           std::tuple(ReadsOf(tables[b]), tables[b].rows);
  });
  return order;
}

struct RankLoad {
  std::int64_t reads = 0;
  std::int64_t elements = 0;

  auto operator<=>(const RankLoad&) const = default;
};

using Shards = std::vector<std::vector<TableShard>>;

void DealTables(const std::vector<EmbeddingTable>& tables, Shards& shards) {
  std::vector<RankLoad> load(shards.size());
  for (const std::size_t index : BusiestFirst(tables)) {
    const EmbeddingTable& table = tables[index];
    const auto rank = static_cast<std::size_t>(std::ranges::min_element(load) - load.begin());
    load[rank].reads += ReadsOf(table);
    load[rank].elements += table.rows * table.dim;
    shards[rank].push_back({.table = index,
                            .rows = table.rows,
                            .dim = table.dim,
                            .lookups = static_cast<double>(table.pool)});
  }
}

// The part of `whole` that `rank` gets when what is left over goes to the first ranks.
std::int64_t EvenPart(std::int64_t whole, std::size_t rank, std::size_t ranks) {
  const auto count = static_cast<std::int64_t>(ranks);
  return whole / count + (static_cast<std::int64_t>(rank) < whole % count ? 1 : 0);
}

constexpr std::int64_t kMostTables = 10'000;
constexpr std::int64_t kLargestWidth = 10'000'000;
constexpr double kMostElements = 1e15;

bool IsTooLarge(const Dlrm& model) {
  double elements = 0;
  for (const EmbeddingTable& table : model.tables) {
    elements += static_cast<double>(table.rows) * static_cast<double>(table.dim) +
                static_cast<double>(table.pool) * static_cast<double>(table.dim);
  }
  const auto is_wide = [](std::int64_t width) { return width > kLargestWidth; };
  return elements > kMostElements || std::cmp_greater(model.tables.size(), kMostTables) ||
         is_wide(model.dense_features) || std::ranges::any_of(model.bottom, is_wide) ||
         std::ranges::any_of(model.top, is_wide);
}

std::vector<EmbeddingTable> ReadTables(YamlFields& fields, const Dlrm& base,
                                       std::int64_t usual_dim) {
  const std::int64_t dim = fields.Size("dim", 1, usual_dim);
  const std::int64_t pool = fields.Size("pool", 1, 1);
  const std::vector<std::int64_t> rows = fields.Sizes("rows", 1, std::vector<std::int64_t>{});
  std::vector<EmbeddingTable> tables;
  if (fields.Has("tables")) {
    for (YamlFields& entry : fields.Maps("tables")) {
      tables.push_back({.rows = entry.Size("rows", 1),
                        .dim = entry.Size("dim", 1),
                        .pool = entry.Size("pool", 1, 1)});
      entry.RefuseOthers();
    }
    return tables;
  }
  if (fields.Has("random")) {
    YamlFields random = fields.Map("random");
    const RandomTables drawn = {.count = std::min(random.Size("tables", 1), kMostTables + 1),
                                .dim = dim,
                                .seed = static_cast<std::uint64_t>(random.Size("seed", 0, 0))};
    random.RefuseOthers();
    return DrawTables(drawn);
  }
  fields.Expect({"tables", "random"});
  for (const std::int64_t count : rows) {
    tables.push_back({.rows = count, .dim = dim, .pool = pool});
  }
  return tables.empty() ? base.tables : tables;
}

}  // namespace

std::vector<EmbeddingTable> DrawTables(const RandomTables& random) {
  learn::Random numbers(random.seed);
  std::vector<EmbeddingTable> tables;
  for (std::int64_t i = 0; i < random.count; ++i) {
    const std::int64_t rows = kRows[numbers.Below(kRows.size())];
    const std::int64_t pool = kPools[numbers.Below(kPools.size())];
    tables.push_back({.rows = rows, .dim = random.dim, .pool = pool});
  }
  return tables;
}

std::vector<std::vector<TableShard>> ShardTables(const std::vector<EmbeddingTable>& tables,
                                                 TableSharding sharding, int ranks) {
  Shards shards(static_cast<std::size_t>(ranks));
  if (sharding == TableSharding::kTable) {
    DealTables(tables, shards);
    return shards;
  }
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    for (std::size_t index = 0; index < tables.size(); ++index) {
      const EmbeddingTable& table = tables[index];
      TableShard shard = {.table = index,
                          .rows = table.rows,
                          .dim = table.dim,
                          .lookups = static_cast<double>(table.pool)};
      if (sharding == TableSharding::kRow) {
        shard.rows = EvenPart(table.rows, rank, shards.size());
        shard.lookups =
            shard.lookups * static_cast<double>(shard.rows) / static_cast<double>(table.rows);
      } else {
        shard.dim = EvenPart(table.dim, rank, shards.size());
      }
      if (shard.rows > 0 && shard.dim > 0) {
        shards[rank].push_back(shard);
      }
    }
  }
  return shards;
}

Dlrm ReadDlrm(YamlFields& fields, const Dlrm& base) {
  Dlrm model;
  model.dense_features =
      fields.Size("dense_features", 1,
                  base.dense_features > 0 ? std::optional(base.dense_features) : std::nullopt);
  model.bottom = fields.Sizes("bottom", 1, base.bottom);
  model.top = fields.Sizes("top", 1, base.top);
  const std::int64_t dim = model.bottom.empty() ? model.dense_features : model.bottom.back();
  model.tables = ReadTables(fields, base, dim);
  if (IsTooLarge(model)) {
    fields.Wrong(
        "tables",
        fmt::format("must be at most {} with {:g} numbers in all", kMostTables, kMostElements),
        "more");
  }
  if (model.tables.empty()) {
    fields.Wrong("tables", "must be given, or rows, or random", "nothing");
  }
  fields.RefuseOthers();
  return model;
}

}  // namespace orrery::workload
