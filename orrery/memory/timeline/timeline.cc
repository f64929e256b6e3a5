#include "orrery/memory/timeline/timeline.h"

#include <algorithm>
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

#include "orrery/base/columns.h"
#include "orrery/memory/timeline/attribution.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {
namespace {

std::size_t Index(Layer layer) {
  return static_cast<std::size_t>(layer);
}

std::vector<NamedBytes> LargestFirst(const std::map<std::string, NamedBytes>& by_name) {
  std::vector<NamedBytes> list;
  for (const auto& [name, named] : by_name) {
    if (named.bytes != 0) {
      list.push_back(named);
    }
  }
  std::ranges::stable_sort(list, std::greater<>(), &NamedBytes::bytes);
  return list;
}

void AddTo(std::map<std::string, NamedBytes>& by_name, const std::string& name, std::int64_t bytes,
           std::int64_t num_lives) {
  NamedBytes& named = by_name[name];
  named.name = name;
  named.bytes += bytes;
  named.num_lives += num_lives;
}

class PlaceWriter {
 public:
  PlaceWriter(const trace::Trace& trace, const MemoryHistory& history, const Categories& categories,
              const OperatorIndex& operators)
      : trace_(trace), history_(history), categories_(categories), operators_(operators) {}

  Timeline Write(std::uint32_t place, const TimelineOptions& options) {
    timeline_ = {};
    timeline_.rank = options.rank;
    timeline_.place = history_.places[place];
    place_ = place;
    FindLayers();
    AddPoints();
    AddPeak();
    AddColumns(options);
    return std::move(timeline_);
  }

 private:
  template <typename Visit>
  void ForEachChange(Visit&& visit) const {
    std::size_t point = 0;
    for (const Change& change : history_.changes) {
      if (change.place == place_) {
        visit(change, point++);
      }
    }
  }

  void FindLayers() {
    ForEachChange([&](const Change& change, std::size_t) {
      timeline_.has_layer[Index(change.layer)] = true;
    });
    for (const Layer layer :
         {Layer::kAllocated, Layer::kDriver, Layer::kPinned, Layer::kOutside, Layer::kReserved}) {
      if (timeline_.Has(layer)) {
        timeline_.main_layer = layer;
        return;
      }
    }
  }

  void AddPoints() {
    Point point;
    ForEachChange([&](const Change& change, std::size_t) {
      point.time_ns = change.time_ns;
      point.operator_number = operators_.OutermostAt(change.time_ns);
      point.bytes[Index(change.layer)] += change.bytes;
      timeline_.points.push_back(point);
      const bool counts = change.layer == timeline_.main_layer;
      timeline_.num_allocations += counts && change.bytes > 0 ? 1 : 0;
      timeline_.num_frees += counts && change.bytes < 0 ? 1 : 0;
    });
  }

  void AddPeak() {
    Peak& peak = timeline_.peak;
    for (std::size_t i = 0; i < timeline_.points.size(); ++i) {
      const std::int64_t bytes = timeline_.points[i].Of(timeline_.main_layer);
      if (bytes > peak.bytes) {
        peak.bytes = bytes;
        peak.point = i;
        peak.time_ns = timeline_.points[i].time_ns;
      }
    }
    if (peak.bytes > 0) {
      ExplainPeak();
    }
  }

  void ExplainPeak() {
    Peak& peak = timeline_.peak;
    std::vector<bool> is_alive(history_.lives.size(), false);
    std::map<std::string, NamedBytes> by_site;
    std::map<std::string, NamedBytes> by_category;
    ForEachChange([&](const Change& change, std::size_t point) {
      if (point > peak.point || change.layer != timeline_.main_layer) {
        return;
      }
      if (change.life != kNoLife) {
        is_alive[change.life] = change.bytes > 0;
        return;
      }
      const std::string category(categories_.Of(change));
      AddTo(by_category, category, change.bytes, 0);
      AddTo(by_site, category, change.bytes, 0);
      peak.bytes_without_owner += change.bytes;
    });
    for (std::uint32_t life = 0; life < history_.lives.size(); ++life) {
      if (is_alive[life]) {
        AddOwner(life);
        AddTo(by_site, peak.owners.back().site, history_.lives[life].bytes, 1);
        AddTo(by_category, peak.owners.back().category, history_.lives[life].bytes, 1);
      }
    }
    SortOwners();
    AddRequested();
    peak.by_site = LargestFirst(by_site);
    peak.by_category = LargestFirst(by_category);
  }

  void AddRequested() {
    Peak& peak = timeline_.peak;
    std::int64_t requested = peak.bytes_without_owner;
    bool is_known = false;
    for (const Owner& owner : peak.owners) {
      const Life& life = history_.lives[owner.life];
      is_known = is_known || life.requested_bytes >= 0;
      requested += life.requested_bytes >= 0 ? life.requested_bytes : life.bytes;
    }
    peak.requested_bytes = is_known ? requested : -1;
  }

  void AddOwner(std::uint32_t number) {
    const Life& life = history_.lives[number];
    Site site = SiteOf(trace_, life);
    timeline_.peak.owners.push_back({.life = number,
                                     .site = SiteText(trace_, life),
                                     .region = std::move(site.region),
                                     .frame = std::move(site.frame),
                                     .category = std::string(categories_.OfLife(number))});
  }

  void SortOwners() {
    std::ranges::sort(timeline_.peak.owners, {}, [&](const Owner& owner) {
      return std::pair(-history_.lives[owner.life].bytes, owner.life);
    });
  }

  // Each column shows its highest point; one without a change what the one before it left.
  [[nodiscard]] std::vector<std::size_t> PointsToShow(const TimelineOptions& options) const {
    std::vector<std::size_t> chosen;
    const std::vector<Point>& points = timeline_.points;
    if (points.empty()) {
      return chosen;
    }
    const std::int64_t last = timeline_.Position(points.size() - 1, options.axis);
    const auto num_columns =
        std::min<std::int64_t>(static_cast<std::int64_t>(options.num_columns), last + 1);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::int64_t column =
          ColumnOf(timeline_.Position(i, options.axis), last + 1, num_columns);
      while (std::ssize(chosen) < column) {
        chosen.push_back(i == 0 ? 0 : i - 1);
      }
      if (std::ssize(chosen) == column) {
        chosen.push_back(i);
      } else if (points[i].Of(timeline_.main_layer) >
                 points[chosen.back()].Of(timeline_.main_layer)) {
        chosen.back() = i;
      }
    }
    return chosen;
  }

  static std::int64_t ColumnOf(std::int64_t position, std::int64_t length,
                               std::int64_t num_columns) {
    const double share = static_cast<double>(position) / static_cast<double>(length);
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(share * static_cast<double>(num_columns)), 0, num_columns - 1);
  }

  [[nodiscard]] std::string_view NameOf(const Change& change, StackBy stack) const {
    if (stack == StackBy::kCategory || change.life == kNoLife ||
        history_.lives[change.life].is_from_before) {
      return categories_.Of(change);
    }
    const RowId host_op = history_.lives[change.life].host_op;
    return host_op == kNoRow ? std::string_view("no operator")
                             : trace_.Text(trace_.host_ops.name[operators_.RootOf(host_op)]);
  }

  void AddColumns(const TimelineOptions& options) {
    StackedColumns& columns = timeline_.columns;
    columns.points = PointsToShow(options);
    std::map<std::string_view, std::int64_t> held;
    std::map<std::string_view, std::int64_t> highest;
    std::vector<std::map<std::string_view, std::int64_t>> held_at;
    ForEachChange([&](const Change& change, std::size_t point) {
      if (change.layer == timeline_.main_layer) {
        const std::string_view name = NameOf(change, options.stack);
        held[name] += change.bytes;
        highest[name] = std::max(highest[name], held[name]);
      }
      while (held_at.size() < columns.points.size() && columns.points[held_at.size()] == point) {
        held_at.push_back(held);
      }
    });
    for (const auto& [name, bytes] : highest) {
      columns.names.emplace_back(name);
    }
    std::ranges::stable_sort(columns.names, std::greater<>(),
                             [&](const std::string& name) { return highest.at(name); });
    for (auto& bytes_of_name : held_at) {
      std::vector<std::int64_t>& column = columns.bytes.emplace_back();
      for (const std::string& name : columns.names) {
        column.push_back(bytes_of_name[name]);
      }
    }
  }

  const trace::Trace& trace_;
  const MemoryHistory& history_;
  const Categories& categories_;
  const OperatorIndex& operators_;
  std::uint32_t place_ = 0;
  Timeline timeline_;
};

}  // namespace

std::int64_t Timeline::HighestOf(Layer layer) const {
  std::int64_t highest = 0;
  for (const Point& point : points) {
    highest = std::max(highest, point.Of(layer));
  }
  return highest;
}

std::int64_t Timeline::Position(std::size_t point, Axis axis) const {
  return axis == Axis::kTime    ? points[point].time_ns - points.front().time_ns
         : axis == Axis::kEvent ? static_cast<std::int64_t>(point)
                                : std::max<std::int64_t>(points[point].operator_number, 0);
}

std::vector<Timeline> TimelinesOf(const trace::Trace& trace, const MemoryHistory& history,
                                  const TimelineOptions& options) {
  const Categories categories(trace, history);
  const OperatorIndex operators(trace);
  PlaceWriter writer(trace, history, categories, operators);
  std::vector<Timeline> timelines;
  for (std::uint32_t place = 0; place < history.places.size(); ++place) {
    timelines.push_back(writer.Write(place, options));
  }
  return timelines;
}

}  // namespace orrery::memory::timeline
