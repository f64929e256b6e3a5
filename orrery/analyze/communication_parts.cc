#include "orrery/analyze/communication_parts.h"

#include <algorithm>
#include <cstddef>

namespace orrery::analyze {
namespace {

// What matching found out about a collective.
void AddFacts(const RunView& run, const DeviceView& device, RowId collective,
              CommunicationPart& part) {
  const RowId instance = run.matched.ranks[device.rank_index].instance_of_row[collective];
  if (instance != kNoRow) {
    part.group = run.matched.instances.group[instance];
    part.is_matched = run.waits.is_reliable[instance] != 0;
    part.useful_ns += run.waits.WaitOfRow(run.matched, device.rank_index, collective);
  }
}

// Tells `add(key, ns, sharers)` how long each key was active, and with how many.
template <typename Add>
void ShareTime(const std::vector<IntervalSet>& sets, Add&& add) {
  struct Edge {
    std::int64_t time_ns;
    std::size_t key;
    bool begins;
  };

  std::vector<Edge> edges;
  for (std::size_t key = 0; key < sets.size(); ++key) {
    for (const Interval& interval : sets[key].intervals()) {
      edges.push_back({interval.begin_ns, key, true});
      edges.push_back({interval.end_ns, key, false});
    }
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.key < b.key;
  });
  std::vector<std::size_t> active;
  std::int64_t since_ns = 0;
  for (const Edge& edge : edges) {
    for (const std::size_t key : active) {
      add(key, edge.time_ns - since_ns, active.size());
    }
    since_ns = edge.time_ns;
    if (edge.begins) {
      active.push_back(edge.key);
    } else {
      std::erase(active, edge.key);
    }
  }
}

std::vector<IntervalSet> SetsByKey(const std::vector<CommunicationPart>& parts,
                                   const std::vector<std::size_t>& key_of_part,
                                   std::size_t num_keys,
                                   Interval (*cut)(const CommunicationPart&)) {
  std::vector<std::vector<Interval>> intervals(num_keys);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    intervals[key_of_part[i]].push_back(cut(parts[i]));
  }
  std::vector<IntervalSet> sets;
  for (const auto& of_key : intervals) {
    sets.push_back(IntervalSet::Of(of_key));
  }
  return sets;
}

std::vector<IntervalSet> Without(std::vector<IntervalSet> sets, const IntervalSet& hidden) {
  for (IntervalSet& set : sets) {
    set = Difference(set, hidden);
  }
  return sets;
}

}  // namespace

std::vector<CommunicationPart> CommunicationParts(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<DimensionOf> dimensions = CollectiveDimensions(run, device.rank_index);
  std::vector<CommunicationPart> parts;
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) != trace::KernelClass::kCommunication) {
      continue;
    }
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.activities.duration_ns[row];
    const RowId collective = trace.activities.collective[row];
    auto window = std::ranges::upper_bound(device.windows, begin_ns, {},
                                           [](const Window& w) { return w.time.end_ns; });
    for (; window != device.windows.end() && window->time.begin_ns < end_ns; ++window) {
      CommunicationPart part{.time = {std::max(begin_ns, window->time.begin_ns),
                                      std::min(end_ns, window->time.end_ns)},
                             .useful_ns = begin_ns};
      if (collective != kNoRow) {
        part.dimension = dimensions[collective].dimension;
        AddFacts(run, device, collective, part);
      }
      part.useful_ns = std::clamp(part.useful_ns, part.time.begin_ns, part.time.end_ns);
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<Exposure> SplitExposure(const IntervalSet& compute,
                                    const std::vector<CommunicationPart>& parts,
                                    const std::vector<std::size_t>& key_of_part,
                                    std::size_t num_keys) {
  const auto whole = SetsByKey(parts, key_of_part, num_keys,
                               [](const CommunicationPart& part) { return part.time; });
  const auto waits = SetsByKey(parts, key_of_part, num_keys, [](const CommunicationPart& part) {
    return Interval{part.time.begin_ns, part.useful_ns};
  });
  const auto transfers = SetsByKey(parts, key_of_part, num_keys, [](const CommunicationPart& part) {
    return Interval{part.useful_ns, part.time.end_ns};
  });
  std::vector<Exposure> exposures(num_keys);
  for (std::size_t key = 0; key < num_keys; ++key) {
    exposures[key].busy_ns = whole[key].length_ns();
    exposures[key].hidden_ns = OverlapNs(whole[key], compute);
  }
  ShareTime(Without(whole, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
    exposures[key].shared_ns += static_cast<double>(ns) / static_cast<double>(sharers);
    exposures[key].exclusive_ns += sharers == 1 ? ns : 0;
  });
  ShareTime(Without(waits, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
    exposures[key].shared_wait_ns += static_cast<double>(ns) / static_cast<double>(sharers);
  });
  ShareTime(
      Without(transfers, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
        exposures[key].shared_transfer_ns += static_cast<double>(ns) / static_cast<double>(sharers);
      });
  return exposures;
}

}  // namespace orrery::analyze
