#include "orrery/workload/model/dlrm.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

std::vector<std::size_t> TablesOf(const std::vector<TableShard>& shards) {
  std::vector<std::size_t> tables;
  for (const TableShard& shard : shards) {
    tables.push_back(shard.table);
  }
  return tables;
}

// Reads of a sample: 10, 40, 30, 10, 20. Busiest first: 40 | 30, 40 | 50, 50 | 50; the last finds
// both alike and goes to the rank that holds fewer numbers (100 against 140).
TEST(Dlrm, DealsTablesToTheLeastBusyRank) {
  const std::vector<EmbeddingTable> tables = {{.rows = 5, .dim = 10, .pool = 1},
                                              {.rows = 5, .dim = 10, .pool = 4},
                                              {.rows = 5, .dim = 10, .pool = 3},
                                              {.rows = 9, .dim = 10, .pool = 1},
                                              {.rows = 5, .dim = 10, .pool = 2}};
  const auto shards = ShardTables(tables, TableSharding::kTable, 2);
  EXPECT_EQ(TablesOf(shards[0]), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(TablesOf(shards[1]), (std::vector<std::size_t>{2, 4, 0}));
}

// Seven rows on three ranks: 3, 2, 2; lookups follow the rows. Four columns: 2, 1, 1.
TEST(Dlrm, DealsRowsAndColumnsEvenly) {
  const std::vector<EmbeddingTable> tables = {{.rows = 7, .dim = 4, .pool = 14}};
  const auto rows = ShardTables(tables, TableSharding::kRow, 3);
  EXPECT_EQ(rows[0][0], (TableShard{.table = 0, .rows = 3, .dim = 4, .lookups = 6}));
  EXPECT_EQ(rows[2][0], (TableShard{.table = 0, .rows = 2, .dim = 4, .lookups = 4}));
  const auto columns = ShardTables(tables, TableSharding::kColumn, 3);
  EXPECT_EQ(columns[0][0], (TableShard{.table = 0, .rows = 7, .dim = 2, .lookups = 14}));
  EXPECT_EQ(columns[2][0], (TableShard{.table = 0, .rows = 7, .dim = 1, .lookups = 14}));
}

RC_GTEST_PROP(Dlrm, NothingIsLostBetweenRanks, ()) {
  const auto tables = DrawTables({.count = *rc::gen::inRange<std::int64_t>(1, 40),
                                  .dim = 8,
                                  .seed = *rc::gen::arbitrary<std::uint64_t>()});
  const int ranks = *rc::gen::inRange(1, 20);
  const auto sharding =
      *rc::gen::element(TableSharding::kTable, TableSharding::kRow, TableSharding::kColumn);
  std::int64_t held = 0;
  for (const auto& shards : ShardTables(tables, sharding, ranks)) {
    for (const TableShard& shard : shards) {
      held += shard.rows * shard.dim;
    }
  }
  std::int64_t all = 0;
  for (const EmbeddingTable& table : tables) {
    all += table.rows * table.dim;
  }
  RC_ASSERT(held == all);
}

TEST(Dlrm, DrawsTheSameTablesForASeed) {
  const auto tables = DrawTables({.count = 50, .dim = 64, .seed = 3});
  EXPECT_EQ(tables, DrawTables({.count = 50, .dim = 64, .seed = 3}));
  EXPECT_NE(tables, DrawTables({.count = 50, .dim = 64, .seed = 4}));
  std::set<std::int64_t> pools;
  for (const EmbeddingTable& table : tables) {
    pools.insert(table.pool);
  }
  EXPECT_EQ(pools, (std::set<std::int64_t>{8, 16, 32, 38, 64, 128}));
}

Dlrm Read(const std::string& yaml, std::optional<Error>& error) {
  YamlFields fields(YAML::Load(yaml), "dlrm", error);
  return ReadDlrm(fields, {});
}

TEST(Dlrm, ReadsTablesInThreeWays) {
  std::optional<Error> error;
  const std::string ends = "dense_features: 13\nbottom: [8, 4]\ntop: [8, 1]\n";
  EXPECT_EQ(Read(ends + "rows: [10, 20]\npool: 2", error).tables,
            (std::vector<EmbeddingTable>{{.rows = 10, .dim = 4, .pool = 2},
                                         {.rows = 20, .dim = 4, .pool = 2}}));
  EXPECT_EQ(Read(ends + "tables: [{rows: 5, dim: 4}]", error).tables,
            (std::vector<EmbeddingTable>{{.rows = 5, .dim = 4, .pool = 1}}));
  EXPECT_EQ(Read(ends + "random: {tables: 6, seed: 9}", error).tables,
            DrawTables({.count = 6, .dim = 4, .seed = 9}));
  EXPECT_FALSE(error.has_value());
}

TEST(Dlrm, RefusesAModelWithoutTables) {
  std::optional<Error> error;
  (void)Read("dense_features: 13\nbottom: [8, 4]\ntop: [8, 1]", error);
  EXPECT_EQ(error->message(), "dlrm: tables must be given, or rows, or random, not 'nothing'");
}

}  // namespace
}  // namespace orrery::workload
