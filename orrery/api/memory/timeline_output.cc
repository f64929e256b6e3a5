#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/group_by.h"
#include "orrery/api/memory/timeline.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/timeline/comparison.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/timeline.h"

namespace orrery::api {
namespace {

using memory::timeline::Axis;
using memory::timeline::Layer;
using memory::timeline::Life;
using memory::timeline::NamedBytes;
using memory::timeline::Owner;
using memory::timeline::Point;
using memory::timeline::Timeline;

std::vector<Document::Column> WithPlace(std::vector<Document::Column> columns) {
  std::vector<Document::Column> all = {AsCount("rank", "rank"), AsText("place", "memory of")};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

void AddRow(Document::Table& table, const Timeline& timeline, std::vector<Value> cells) {
  std::vector<Value> row = {std::int64_t{timeline.rank}, PlaceName(timeline.place)};
  row.insert(row.end(), std::make_move_iterator(cells.begin()),
             std::make_move_iterator(cells.end()));
  table.rows.push_back(std::move(row));
}

template <typename Visit>
void ForEachTimeline(const std::vector<RankMemory>& ranks, Visit&& visit) {
  for (const RankMemory& rank : ranks) {
    for (const Timeline& timeline : rank.timelines) {
      visit(rank, timeline);
    }
  }
}

// A missing cell where the number is not known.
Value NumberCell(bool is_known, std::int64_t number) {
  Value cell;
  if (is_known) {
    cell = number;
  }
  return cell;
}

Value HighestCell(const Timeline& timeline, Layer layer) {
  return NumberCell(timeline.Has(layer), timeline.HighestOf(layer));
}

void AddNamed(Document::Table& table, const Timeline& timeline,
              const std::vector<NamedBytes>& list) {
  for (const NamedBytes& named : list) {
    AddRow(table, timeline,
           {named.name, named.bytes, ShareOf(named.bytes, timeline.peak.bytes),
            NumberCell(named.num_lives > 0, named.num_lives)});
  }
}

std::vector<Document::Column> NamedColumns(const char* key, const char* header) {
  return WithPlace({{key, header, Unit::kText},
                    AsBytes("bytes", "bytes"),
                    AsShare("share", "of the peak"),
                    AsCount("objects", "objects")});
}

std::vector<Value> PointCells(const Timeline& timeline, std::size_t number) {
  const Point& point = timeline.points[number];
  std::vector<Value> cells = {static_cast<std::int64_t>(number),
                              timeline.Position(number, memory::timeline::Axis::kTime),
                              NumberCell(point.operator_number >= 0, point.operator_number)};
  for (std::size_t layer = 0; layer < memory::timeline::kNumLayers; ++layer) {
    cells.push_back(NumberCell(timeline.has_layer[layer], point.bytes[layer]));
  }
  return cells;
}

constexpr std::size_t kMostCategories = 8;
constexpr std::array<std::string_view, memory::timeline::kNumLayers> kLayerStyles = {
    "compute", "transfer", "memory", "optimizer", "launch"};

std::string AxisTitle(Axis axis) {
  switch (axis) {
    case Axis::kTime:
      return "time since the first allocation";
    case Axis::kEvent:
      return "allocations and frees";
    case Axis::kOperator:
      break;
  }
  return "operators";
}

draw::Quantity AxisQuantity(Axis axis) {
  return axis == Axis::kTime ? draw::Quantity::kNanoseconds : draw::Quantity::kNumber;
}

// Neighbours of equal value are one segment.
draw::ChartLine LineOf(const Timeline& timeline, Axis axis, Layer layer) {
  draw::ChartLine line{
      .series = {.name = std::string(LayerName(layer)),
                 .style = std::string(kLayerStyles[static_cast<std::size_t>(layer)])}};
  std::size_t before = timeline.points.size();
  for (const std::size_t point : timeline.columns.points) {
    if (point == before) {
      continue;
    }
    before = point;
    const auto x = static_cast<double>(timeline.Position(point, axis));
    if (!line.segments.empty()) {
      line.segments.back().end = x;
    }
    line.segments.push_back({x, x, static_cast<double>(timeline.points[point].Of(layer))});
  }
  if (!line.segments.empty()) {
    line.segments.back().end =
        static_cast<double>(timeline.Position(timeline.points.size() - 1, axis));
  }
  return line;
}

std::size_t IndexOf(const std::vector<draw::Series>& categories, const std::string& name) {
  const auto found = std::ranges::find(categories, name, &draw::Series::name);
  return static_cast<std::size_t>(found - categories.begin()) - (found == categories.end() ? 1 : 0);
}

// The tooltip of a column.
std::string MomentText(const Timeline& timeline, std::size_t point, Axis axis) {
  const std::int64_t position = timeline.Position(point, axis);
  switch (axis) {
    case Axis::kTime:
      return fmt::format("after {}", draw::FormatDuration({position}));
    case Axis::kEvent:
      return fmt::format("change {}", draw::FormatCount(position));
    case Axis::kOperator:
      break;
  }
  return fmt::format("operator {}", draw::FormatCount(position));
}

Document::Table TimelineTable(const std::vector<RankMemory>& ranks) {
  Document::Table table{
      .key = "timelines",
      .heading = "peaks",
      .columns =
          WithPlace({AsText("counts", "counted"), AsCount("allocations", "allocations"),
                     AsCount("frees", "frees"), AsBytes("peak_bytes", "peak"),
                     AsBytes("requested_bytes", "requested"), AsTime("peak_ns", "reached after"),
                     AsBytes("reserved_bytes", "reserved"), AsBytes("outside_bytes", "outside"),
                     AsText("largest", "most for")}),
      .caption =
          "Allocated: bytes of the blocks that are handed out; requested: what of it the "
          "program asked for. Reserved and outside the allocator: their highest."};
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    const bool has_peak = timeline.peak.bytes > 0;
    AddRow(table, timeline,
           {std::string(LayerName(timeline.main_layer)), timeline.num_allocations,
            timeline.num_frees, timeline.peak.bytes,
            NumberCell(timeline.peak.requested_bytes >= 0, timeline.peak.requested_bytes),
            NumberCell(has_peak, has_peak ? timeline.Position(timeline.peak.point,
                                                              memory::timeline::Axis::kTime)
                                          : 0),
            HighestCell(timeline, Layer::kReserved), HighestCell(timeline, Layer::kOutside),
            timeline.peak.by_category.empty() ? std::string() : timeline.peak.by_category[0].name});
  });
  return table;
}

Document::Table SiteTable(const std::vector<RankMemory>& ranks, std::size_t top) {
  Document::Table table{.key = "peak_sites",
                        .heading = "in use at the peak, by where it was allocated",
                        .columns = NamedColumns("site", "allocated in"),
                        .max_shown = top};
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    AddNamed(table, timeline, timeline.peak.by_site);
  });
  return table;
}

Document::Table CategoryTable(const std::vector<RankMemory>& ranks) {
  Document::Table table{.key = "peak_categories",
                        .heading = "in use at the peak, by what it is for",
                        .columns = NamedColumns("category", "category")};
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    AddNamed(table, timeline, timeline.peak.by_category);
  });
  return table;
}

Document::Table OwnerTable(const std::vector<RankMemory>& ranks) {
  Document::Table table{
      .key = "peak_objects",
      .heading = "objects alive at the peak",
      .columns = WithPlace({AsCount("object", "object"), AsBytes("bytes", "bytes"),
                            AsTime("born_ns", "born after"), AsText("category", "category"),
                            AsText("site", "allocated in"), AsText("region", "region"),
                            AsText("frame", "frame")}),
      .max_shown = 0};
  ForEachTimeline(ranks, [&](const RankMemory& rank, const Timeline& timeline) {
    for (const Owner& owner : timeline.peak.owners) {
      const Life& life = rank.history.lives[owner.life];
      AddRow(table, timeline,
             {NumberCell(life.object != kNoRow,
                         life.object == kNoRow ? 0 : rank.trace->memory_objects.id[life.object]),
              life.bytes, life.begin_ns - timeline.points.front().time_ns, owner.category,
              owner.site, owner.region, owner.frame});
    }
  });
  return table;
}

// Objects of one size, category and allocation site; the largest group first.
std::vector<std::vector<const Owner*>> GroupsOf(const RankMemory& rank, const Timeline& timeline) {
  const auto bytes_of = [&](const Owner& owner) { return rank.history.lives[owner.life].bytes; };
  auto groups = GroupBy(timeline.peak.owners, [&](const Owner& owner) {
    return std::tuple(bytes_of(owner), owner.category, owner.site, owner.region, owner.frame);
  });
  std::ranges::stable_sort(groups, std::greater{}, [&](const std::vector<const Owner*>& group) {
    return std::ssize(group) * bytes_of(*group.front());
  });
  return groups;
}

Document::Table OwnerGroupTable(const std::vector<RankMemory>& ranks, std::size_t top) {
  Document::Table table{
      .key = "peak_object_groups",
      .heading = "objects alive at the peak, by size and allocation site",
      .columns = WithPlace({AsCount("objects", "objects"), AsBytes("bytes", "bytes each"),
                            AsBytes("total_bytes", "together"), AsText("category", "category"),
                            AsText("site", "allocated in"), AsText("region", "region"),
                            AsText("frame", "frame")}),
      .max_shown = top};
  ForEachTimeline(ranks, [&](const RankMemory& rank, const Timeline& timeline) {
    for (const std::vector<const Owner*>& group : GroupsOf(rank, timeline)) {
      const Owner& owner = *group.front();
      const std::int64_t bytes = rank.history.lives[owner.life].bytes;
      AddRow(table, timeline,
             {std::ssize(group), bytes, std::ssize(group) * bytes, owner.category, owner.site,
              owner.region, owner.frame});
    }
  });
  return table;
}

Document::Table CurveTable(const std::vector<RankMemory>& ranks, bool has_all_points) {
  Document::Table table{
      .key = "curve",
      .heading = "bytes in use after changes",
      .columns =
          WithPlace({AsCount("change", "change"), AsTime("time_ns", "after"),
                     AsCount("operator", "operator"), AsBytes("allocated_bytes", "allocated"),
                     AsBytes("reserved_bytes", "reserved"), AsBytes("outside_bytes", "outside"),
                     AsBytes("driver_bytes", "driver"), AsBytes("pinned_bytes", "pinned")}),
      .max_shown = 0};
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    std::size_t next = 0;
    for (const std::size_t point : timeline.columns.points) {
      for (next = has_all_points ? next : std::max(next, point); next <= point; ++next) {
        AddRow(table, timeline, PointCells(timeline, next));
      }
    }
    for (; has_all_points && next < timeline.points.size(); ++next) {
      AddRow(table, timeline, PointCells(timeline, next));
    }
  });
  return table;
}

}  // namespace

std::vector<Document::Table> PeakTables(const std::vector<RankMemory>& ranks, std::size_t top,
                                        bool has_all_points) {
  return {TimelineTable(ranks), CategoryTable(ranks),        SiteTable(ranks, top),
          OwnerTable(ranks),    OwnerGroupTable(ranks, top), CurveTable(ranks, has_all_points)};
}

Document::Table GroupTable(const memory::timeline::RankSpread& spread) {
  Document::Table table{.key = "groups",
                        .heading = "how far peaks lie apart inside groups of ranks",
                        .columns = {AsText("kind", "groups"), AsCount("groups", "number"),
                                    AsShare("spread", "largest over smallest, at most")},
                        .caption =
                            "Ranks of a kind of group that differ say which dimension of the "
                            "plan explains the difference."};
  for (const memory::timeline::GroupSpread& group : spread.groups) {
    table.rows.push_back({group.kind, group.num_groups, group.largest_percent / 100});
  }
  return table;
}

Document::Table AlignedTable(const memory::timeline::Alignment& alignment, std::size_t top) {
  Document::Table table{.key = "aligned",
                        .heading = "the two recordings side by side",
                        .columns = {AsText("moment", "moment"), AsBytes("first_bytes", "first"),
                                    AsBytes("second_bytes", "second"),
                                    AsBytes("difference_bytes", "second less first")},
                        .max_shown = std::max<std::size_t>(top, 20)};
  for (const memory::timeline::AlignedMoment& moment : alignment.moments) {
    table.rows.push_back(
        {moment.label, moment.first_bytes, moment.second_bytes, moment.Difference()});
  }
  return table;
}

Document::Picture LayerPicture(const Timeline& timeline, Axis axis, const std::string& title) {
  draw::LineChart chart{.x_quantity = AxisQuantity(axis),
                        .y_quantity = draw::Quantity::kBinaryBytes,
                        .x_title = AxisTitle(axis),
                        .description = fmt::format("Memory of {} over time", title)};
  for (std::size_t layer = 0; layer < memory::timeline::kNumLayers; ++layer) {
    if (timeline.has_layer[layer]) {
      chart.lines.push_back(LineOf(timeline, axis, static_cast<Layer>(layer)));
      if (static_cast<Layer>(layer) == timeline.main_layer && timeline.peak.bytes > 0) {
        const auto x = static_cast<double>(timeline.Position(timeline.peak.point, axis));
        chart.marks.push_back(
            {.line = chart.lines.size() - 1,
             .segment = {x, x, static_cast<double>(timeline.peak.bytes)},
             .label = fmt::format("peak {}", draw::FormatBinaryBytes({timeline.peak.bytes}))});
      }
    }
  }
  return {.heading = fmt::format("Memory of {}", title),
          .svg = draw::RenderLineChart(chart),
          .caption = "Bytes in use; of many changes the highest are drawn.",
          .legend = draw::LineLegend(chart)};
}

std::vector<draw::Series> CategoriesOf(const std::vector<RankMemory>& ranks) {
  std::map<std::string, std::int64_t> largest_of_name;
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    for (const std::vector<std::int64_t>& column : timeline.columns.bytes) {
      for (std::size_t i = 0; i < column.size(); ++i) {
        std::int64_t& largest = largest_of_name[timeline.columns.names[i]];
        largest = std::max(largest, column[i]);
      }
    }
  });
  std::vector<std::string> names;
  for (const auto& [name, largest] : largest_of_name) {
    names.push_back(name);
  }
  std::ranges::stable_sort(names, std::greater{},
                           [&](const std::string& name) { return largest_of_name[name]; });
  if (names.size() > kMostCategories) {
    names.resize(kMostCategories);
    names.emplace_back("other");
  }
  return draw::CategorySeries(names);
}

Document::Picture CategoryPicture(const Timeline& timeline, Axis axis, const std::string& title,
                                  const std::vector<draw::Series>& categories) {
  draw::StackedBars chart{.series = categories,
                          .quantity = draw::Quantity::kBinaryBytes,
                          .description = fmt::format("Parts of the memory of {}", title),
                          .title_along = AxisTitle(axis),
                          .along_quantity = AxisQuantity(axis)};
  chart.along_end = timeline.points.empty()
                        ? 0
                        : static_cast<double>(timeline.Position(timeline.points.size() - 1, axis));
  for (std::size_t i = 0; i < timeline.columns.bytes.size(); ++i) {
    const std::vector<std::int64_t>& column = timeline.columns.bytes[i];
    draw::StackedBar bar{.label = MomentText(timeline, timeline.columns.points[i], axis)};
    bar.values.resize(chart.series.size(), 0);
    for (std::size_t name = 0; name < column.size(); ++name) {
      bar.values[IndexOf(categories, timeline.columns.names[name])] +=
          static_cast<double>(std::max<std::int64_t>(column[name], 0));
    }
    chart.bars.push_back(std::move(bar));
  }
  return {.heading = fmt::format("Who holds the memory of {}", title),
          .svg = chart.bars.empty() ? "" : draw::RenderStackedColumns(chart),
          .caption = "Bytes in use; each column shows its highest moment.",
          .legend = chart.series};
}

}  // namespace orrery::api
