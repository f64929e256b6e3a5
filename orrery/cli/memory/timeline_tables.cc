#include "orrery/cli/memory/timeline_tables.h"

#include <cstdint>
#include <utility>

namespace orrery::cli {
namespace {

using memory::timeline::Layer;
using memory::timeline::Life;
using memory::timeline::NamedBytes;
using memory::timeline::Owner;
using memory::timeline::Point;
using memory::timeline::Timeline;
using report::Document;
using report::Unit;

std::vector<Document::Column> WithPlace(std::vector<Document::Column> columns) {
  std::vector<Document::Column> all = {{"rank", "rank", Unit::kCount},
                                       {"place", "memory of", Unit::kText}};
  all.insert(all.end(), columns.begin(), columns.end());
  return all;
}

std::vector<Value> PlaceCells(const Timeline& timeline) {
  return {std::int64_t{timeline.rank}, PlaceName(timeline.place)};
}

void AddRow(Document::Table& table, const Timeline& timeline, std::vector<Value> cells) {
  std::vector<Value> row = PlaceCells(timeline);
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

double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
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
                    {"bytes", "bytes", Unit::kBytes},
                    {"share", "of the peak", Unit::kShare},
                    {"objects", "objects", Unit::kCount}});
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

}  // namespace

Document::Table TimelineTable(const std::vector<RankMemory>& ranks) {
  Document::Table table{.key = "timelines",
                        .heading = "peaks",
                        .columns = WithPlace({{"counts", "counted", Unit::kText},
                                              {"allocations", "allocations", Unit::kCount},
                                              {"frees", "frees", Unit::kCount},
                                              {"peak_bytes", "peak", Unit::kBytes},
                                              {"peak_ns", "reached after", Unit::kNanoseconds},
                                              {"reserved_bytes", "reserved", Unit::kBytes},
                                              {"outside_bytes", "outside", Unit::kBytes},
                                              {"largest", "most for", Unit::kText}}),
                        .caption = "Reserved and outside the allocator: their highest."};
  ForEachTimeline(ranks, [&](const RankMemory&, const Timeline& timeline) {
    const bool has_peak = timeline.peak.bytes > 0;
    AddRow(table, timeline,
           {std::string(LayerName(timeline.main_layer)), timeline.num_allocations,
            timeline.num_frees, timeline.peak.bytes,
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

Document::Table OwnerTable(const std::vector<RankMemory>& ranks, std::size_t top) {
  Document::Table table{.key = "peak_objects",
                        .heading = "objects alive at the peak",
                        .columns = WithPlace({{"object", "object", Unit::kCount},
                                              {"bytes", "bytes", Unit::kBytes},
                                              {"born_ns", "born after", Unit::kNanoseconds},
                                              {"category", "category", Unit::kText},
                                              {"site", "allocated in", Unit::kText},
                                              {"region", "region", Unit::kText},
                                              {"frame", "frame", Unit::kText}}),
                        .max_shown = top};
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

Document::Table CurveTable(const std::vector<RankMemory>& ranks, bool has_all_points) {
  Document::Table table{.key = "curve",
                        .heading = "bytes in use after changes",
                        .columns = WithPlace({{"change", "change", Unit::kCount},
                                              {"time_ns", "after", Unit::kNanoseconds},
                                              {"operator", "operator", Unit::kCount},
                                              {"allocated_bytes", "allocated", Unit::kBytes},
                                              {"reserved_bytes", "reserved", Unit::kBytes},
                                              {"outside_bytes", "outside", Unit::kBytes},
                                              {"driver_bytes", "driver", Unit::kBytes},
                                              {"pinned_bytes", "pinned", Unit::kBytes}}),
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

Document::Table GroupTable(const memory::timeline::RankSpread& spread) {
  Document::Table table{.key = "groups",
                        .heading = "how far peaks lie apart inside of groups of ranks",
                        .columns = {{"kind", "groups", Unit::kText},
                                    {"groups", "number", Unit::kCount},
                                    {"spread", "largest over smallest, at most", Unit::kShare}},
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
                        .columns = {{"moment", "moment", Unit::kText},
                                    {"first_bytes", "first", Unit::kBytes},
                                    {"second_bytes", "second", Unit::kBytes},
                                    {"difference_bytes", "second less first", Unit::kBytes}},
                        .max_shown = std::max<std::size_t>(top, 20)};
  for (const memory::timeline::AlignedMoment& moment : alignment.moments) {
    table.rows.push_back(
        {moment.label, moment.first_bytes, moment.second_bytes, moment.Difference()});
  }
  return table;
}

}  // namespace orrery::cli
