#include "orrery/ingest/object_rows.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "orrery/base/check.h"

namespace orrery::ingest {

void AppendObjects(const std::vector<trace::MemoryObjects::Row>& rows,
                   trace::MemoryObjects& table) {
  ORRERY_CHECK(table.empty(), "objects are appended once");
  std::vector<RowId> order(rows.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::sort(order.begin(), order.end(), [&](RowId a, RowId b) {
    return std::tuple(rows[a].begin_ns, rows[b].duration_ns, a) <
           std::tuple(rows[b].begin_ns, rows[a].duration_ns, b);
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
}

}  // namespace orrery::ingest
