#include "orrery/export/collective_rows.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace orrery::exporting {
namespace {

bool ComesFirst(const CollectiveRow::Slice& lhs, const CollectiveRow::Slice& rhs) {
  return std::tie(lhs.figures.begin_ns, rhs.figures.end_ns, lhs.span) <
         std::tie(rhs.figures.begin_ns, lhs.figures.end_ns, rhs.span);
}

void LayOutRow(CollectiveRow& row) {
  std::sort(row.slices.begin(), row.slices.end(), ComesFirst);
  std::vector<LayoutSlice> shapes;
  for (const CollectiveRow::Slice& slice : row.slices) {
    shapes.push_back({slice.figures.begin_ns, slice.figures.end_ns});
  }
  const std::vector<Lane> lanes = LayOutSlices(shapes);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    row.slices[i].lane = lanes[i];
  }
  row.num_lanes = CountLanes(lanes);
}

}  // namespace

std::vector<CollectiveRow> LayOutCollectives(std::span<const CollectiveSpan> collectives) {
  std::vector<CollectiveRow> rows;
  std::map<std::string_view, std::size_t> row_of_group;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (collectives[i].members.empty()) {
      continue;
    }
    const auto [found, is_new] = row_of_group.try_emplace(collectives[i].group, rows.size());
    if (is_new) {
      rows.push_back({.group = collectives[i].group, .slices = {}});
    }
    rows[found->second].slices.push_back({.span = i, .figures = FiguresOf(collectives[i])});
  }
  std::for_each(rows.begin(), rows.end(), LayOutRow);
  return rows;
}

}  // namespace orrery::exporting
