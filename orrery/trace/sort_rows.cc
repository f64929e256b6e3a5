#include <algorithm>
#include <cstdint>
#include <vector>

#include <tbb/task_group.h>

#include "orrery/trace/finish.h"

namespace orrery::trace {
namespace {

// What rows are ordered by: begin, then the longer one (it may be the parent of the other), then
// the profiler's own number, then the order of arrival.
struct SortKey {
  std::int64_t begin_ns;
  std::int64_t duration_ns;
  std::int64_t number;
  RowId row;

  friend bool operator<(const SortKey& lhs, const SortKey& rhs) {
    if (lhs.begin_ns != rhs.begin_ns) {
      return lhs.begin_ns < rhs.begin_ns;
    }
    if (lhs.duration_ns != rhs.duration_ns) {
      return lhs.duration_ns > rhs.duration_ns;
    }
    return lhs.number != rhs.number ? lhs.number < rhs.number : lhs.row < rhs.row;
  }
};

template <typename Table>
SortKey KeyOf(const Table& table, RowId row) {
  SortKey key{.begin_ns = table.begin_ns[row], .duration_ns = 0, .number = 0, .row = row};
  if constexpr (requires { table.duration_ns; }) {
    key.duration_ns = table.duration_ns[row];
  }
  if constexpr (requires { table.external_id; }) {
    key.number = table.external_id[row];
  }
  return key;
}

template <typename Table>
bool IsSorted(const Table& table) {
  for (RowId row = 1; row < table.size(); ++row) {
    if (KeyOf(table, row) < KeyOf(table, row - 1)) {
      return false;
    }
  }
  return true;
}

// Files are mostly sorted pieces (one thread after the other), so merging the ascending runs beats
// a sort from scratch.
void SortRuns(std::vector<SortKey>& keys) {
  std::vector<std::size_t> run_begins{0};
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] < keys[i - 1]) {
      run_begins.push_back(i);
    }
  }
  if (run_begins.size() > 64) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  run_begins.push_back(keys.size());
  const auto at = [&](std::size_t i) { return keys.begin() + static_cast<std::ptrdiff_t>(i); };
  while (run_begins.size() > 2) {
    std::vector<std::size_t> merged{0};
    for (std::size_t i = 0; i + 2 < run_begins.size(); i += 2) {
      std::inplace_merge(at(run_begins[i]), at(run_begins[i + 1]), at(run_begins[i + 2]));
      merged.push_back(run_begins[i + 2]);
    }
    if (merged.back() != keys.size()) {
      merged.push_back(keys.size());
    }
    run_begins = std::move(merged);
  }
}

template <typename Table>
void SortTable(Table& table) {
  if (IsSorted(table)) {
    return;
  }
  std::vector<RowId> order;
  order.reserve(table.size());
  {
    std::vector<SortKey> keys;
    keys.reserve(table.size());
    for (RowId row = 0; row < table.size(); ++row) {
      keys.push_back(KeyOf(table, row));
    }
    SortRuns(keys);
    for (const SortKey& key : keys) {
      order.push_back(key.row);
    }
  }
  PermuteRows(table, order);
}

}  // namespace

void SortRows(Trace& trace) {
  tbb::task_group tables;
  ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    // Graph nodes have times only sometimes; their order is the order of their ids.
    if constexpr (requires { table.begin_ns; } && !std::is_same_v<Table, GraphNodes>) {
      tables.run([&table] { SortTable(table); });
    }
  });
  tables.wait();
}

}  // namespace orrery::trace
