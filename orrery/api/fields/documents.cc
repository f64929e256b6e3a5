#include "orrery/api/fields/documents.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/base/document/value.h"

namespace orrery::api {

std::vector<Value> RowsOf(const Document::Table& table) {
  std::vector<Value> rows;
  for (const std::vector<Value>& cells : table.rows) {
    Value row = Value::Object();
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (!table.columns[column].key.empty()) {
        row.Set(table.columns[column].key, cells[column]);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace orrery::api
