#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

// The order of rows: begin, then the longer one (it may be the parent of the other), then
// the profiler's own number, then the order of arrival. Rows are compared in place: separate
// keys would double the memory of a large trace.
template <typename Table>
class RowOrder {
 public:
  explicit RowOrder(const Table& table) : table_(table) {}

  bool operator()(RowId lhs, RowId rhs) const {
    if (table_.begin_ns[lhs] != table_.begin_ns[rhs]) {
      return table_.begin_ns[lhs] < table_.begin_ns[rhs];
    }
    if constexpr (requires(const Table& table) { table.duration_ns; }) {
      if (table_.duration_ns[lhs] != table_.duration_ns[rhs]) {
        return table_.duration_ns[lhs] > table_.duration_ns[rhs];
      }
    }
    if constexpr (requires(const Table& table) { table.external_id; }) {
      if (table_.external_id[lhs] != table_.external_id[rhs]) {
        return table_.external_id[lhs] < table_.external_id[rhs];
      }
    }
    return lhs < rhs;
  }

 private:
  const Table& table_;
};

// Returns the begins of the table's ascending runs, and its end.
template <typename Table>
std::vector<std::size_t> FindRuns(const Table& table) {
  const RowOrder<Table> is_before(table);
  std::vector<std::size_t> runs{0};
  for (RowId row = 1; row < table.size(); ++row) {
    if (is_before(row, row - 1)) {
      runs.push_back(row);
    }
  }
  runs.push_back(table.size());
  return runs;
}

// Merges neighbouring runs until one is left.
template <typename Order>
void MergeRuns(std::vector<std::size_t> runs, std::vector<RowId>& rows, const Order& is_before) {
  const auto at = [&](std::size_t i) { return rows.begin() + static_cast<std::ptrdiff_t>(i); };
  while (runs.size() > 2) {
    std::vector<std::size_t> merged{0};
    for (std::size_t i = 0; i + 2 < runs.size(); i += 2) {
      std::inplace_merge(at(runs[i]), at(runs[i + 1]), at(runs[i + 2]), is_before);
      merged.push_back(runs[i + 2]);
    }
    if (merged.back() != rows.size()) {
      merged.push_back(rows.size());
    }
    runs = std::move(merged);
  }
}

// Files are mostly sorted pieces (one thread after the other): merging these beats sorting from
// scratch as long as they are few.
template <typename Table>
void SortTable(Table& table) {
  constexpr std::size_t kMaxRuns = 64;
  const std::vector<std::size_t> runs = FindRuns(table);
  if (runs.size() <= 2) {
    return;
  }
  std::vector<RowId> order(table.size());
  std::iota(order.begin(), order.end(), RowId{0});
  if (runs.size() > kMaxRuns) {
    std::sort(order.begin(), order.end(), RowOrder<Table>(table));
  } else {
    MergeRuns(runs, order, RowOrder<Table>(table));
  }
  PermuteRows(table, order);
}

}  // namespace

void SortRows(Trace& trace) {
  std::vector<std::function<void()>> sorts;
  ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    // Graph nodes have times only sometimes; their order is the order of their ids.
    if constexpr (requires { table.begin_ns; } && !std::is_same_v<Table, GraphNodes>) {
      sorts.emplace_back([&table] { SortTable(table); });
    }
  });
  ParallelFor(sorts.size(), 0, [&](std::size_t table) { sorts[table](); });
}

}  // namespace orrery::trace
