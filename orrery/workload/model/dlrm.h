#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Tables as the experiments of ml_perf_model draw them: rows from one thousand to fifty million,
/// 8 to 128 lookups a sample, each value of their lists equally likely.
struct RandomTables {
  std::int64_t count = 0;
  std::int64_t dim = 0;
  std::uint64_t seed = 0;
};

/// The same tables for the same seed, on every machine.
[[nodiscard]] std::vector<EmbeddingTable> DrawTables(const RandomTables& random);

/// The part of a table that one rank holds.
struct TableShard {
  std::size_t table = 0;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  double lookups = 0;  // of one sample that hit this part, on average

  bool operator==(const TableShard&) const = default;
};

/// The shards of each rank. Whole tables go one by one, the busiest first, to the rank that reads
/// the least so far; rows or columns of every table are dealt evenly.
[[nodiscard]] std::vector<std::vector<TableShard>> ShardTables(
    const std::vector<EmbeddingTable>& tables, TableSharding sharding, int ranks);

/// Reads a recommendation model: `dense_features`, `bottom`, `top`, and its tables as `rows` with
/// one `dim` and `pool` for all, as a list `tables` of {rows, dim, pool}, or as
/// `random: {tables, seed}`. What is absent stays as in `base`.
[[nodiscard]] Dlrm ReadDlrm(YamlFields& fields, const Dlrm& base);

}  // namespace orrery::workload
