#include "orrery/ingest/object_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest {

std::vector<RowId> AppendObjects(const std::vector<trace::MemoryObjects::Row>& rows,
                                 trace::MemoryObjects& table) {
  ORRERY_CHECK(table.empty(), "objects are appended once");
  std::vector<RowId> order(rows.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::ranges::sort(order, {}, [&](RowId index) {
    return std::tuple(rows[index].begin_ns, -rows[index].duration_ns, index);
  });
  std::vector<RowId> row_of_index(rows.size());
  for (RowId row = 0; row < order.size(); ++row) {
    row_of_index[order[row]] = row;
  }
  for (const RowId index : order) {
    trace::MemoryObjects::Row row = rows[index];
    row.parent = row.parent == kNoRow ? kNoRow : row_of_index[row.parent];
    table.Append(row);
  }
  return row_of_index;
}

}  // namespace orrery::ingest
