#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/view/results.h"
#include "orrery/api/view/tabs.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/draw/format.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostPoints = 1'000;
constexpr std::size_t kMostRanks = 8;

/// The memory that a GPU's allocator held over time.
struct HeldMemory {
  std::vector<std::int64_t> at_ns;
  std::vector<std::int64_t> bytes;
  std::int64_t peak_bytes = 0;
};

HeldMemory HeldBy(const trace::Trace& trace) {
  HeldMemory held;
  std::int64_t sum_bytes = 0;
  for (std::size_t event = 0; event < trace.memory_events.size(); ++event) {
    if (trace.memory_events.device_kind[event] != trace::DeviceKind::kGpu) {
      continue;
    }
    sum_bytes += trace.memory_events.bytes[event];
    const std::int64_t total_bytes = trace.memory_events.total_allocated_bytes[event];
    const std::int64_t bytes = total_bytes >= 0 ? total_bytes : sum_bytes;
    held.at_ns.push_back(trace.memory_events.begin_ns[event]);
    held.bytes.push_back(bytes);
    held.peak_bytes = std::max(held.peak_bytes, bytes);
  }
  return held;
}

// Of each part of the events the most.
PointSeries SeriesOf(const ViewedRun& run, const HeldMemory& held, std::string name) {
  PointSeries series{.name = std::move(name)};
  const std::size_t step = held.at_ns.size() / kMostPoints + 1;
  for (std::size_t first = 0; first < held.at_ns.size(); first += step) {
    const auto begin = held.bytes.begin() + static_cast<std::ptrdiff_t>(first);
    const auto most = std::max_element(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(step, held.bytes.size() - first)));
    const auto place = static_cast<std::size_t>(most - held.bytes.begin());
    series.x.push_back(held.at_ns[place] - run.begin_ns());
    series.y.push_back(*most);
  }
  return series;
}

}  // namespace

void AddRecordedMemory(const ViewedRun& run, std::vector<Section>& sections) {
  if (run.simulated() != nullptr) {
    return;
  }
  Points points{.x_unit = "ns", .y_unit = "bytes"};
  std::int64_t peak_bytes = 0;
  std::size_t fullest_trace = 0;
  for (std::size_t place = 0; place < run.set().ranks.size(); ++place) {
    const HeldMemory held = HeldBy(run.set().ranks[place]);
    if (held.at_ns.empty()) {
      continue;
    }
    if (points.series.size() < kMostRanks) {
      points.series.push_back(
          SeriesOf(run, held, fmt::format("rank {}", trace::RankOf(run.set(), place))));
    }
    if (held.peak_bytes > peak_bytes) {
      peak_bytes = held.peak_bytes;
      fullest_trace = place;
    }
  }
  if (peak_bytes == 0) {
    return;
  }
  sections.push_back({.heading = "Memory of the framework's allocator",
                      .sentences = {fmt::format("The peak is {} on rank {}.",
                                                draw::FormatBinaryBytes({peak_bytes}),
                                                trace::RankOf(run.set(), fullest_trace))},
                      .points = std::move(points)});
}

}  // namespace orrery::api::view
