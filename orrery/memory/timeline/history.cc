#include "orrery/memory/timeline/history.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "orrery/memory/timeline/event_lives.h"
#include "orrery/memory/timeline/object_lives.h"

namespace orrery::memory::timeline {
namespace {

/// Numbers the places in their order, whatever order they were met in.
void SortPlaces(MemoryHistory& history) {
  std::vector<Place> sorted = history.places;
  std::sort(sorted.begin(), sorted.end(), [](const Place& lhs, const Place& rhs) {
    return std::tuple(lhs.kind == trace::DeviceKind::kCpu, lhs) <
           std::tuple(rhs.kind == trace::DeviceKind::kCpu, rhs);
  });
  std::vector<std::uint32_t> new_number;
  for (const Place& place : history.places) {
    const auto found = std::find(sorted.begin(), sorted.end(), place);
    new_number.push_back(static_cast<std::uint32_t>(found - sorted.begin()));
  }
  for (Life& life : history.lives) {
    life.place = new_number[life.place];
  }
  for (Change& change : history.changes) {
    change.place = new_number[change.place];
  }
  history.places = std::move(sorted);
}

}  // namespace

std::string_view LayerName(Layer layer) {
  switch (layer) {
    case Layer::kAllocated:
      return "allocated";
    case Layer::kReserved:
      return "reserved";
    case Layer::kOutside:
      return "outside the allocator";
    case Layer::kDriver:
      return "from the driver";
    case Layer::kPinned:
      break;
  }
  return "pinned on the host";
}

std::string PlaceName(const Place& place) {
  switch (place.kind) {
    case trace::DeviceKind::kCpu:
      return "host";
    case trace::DeviceKind::kGpu:
      return place.device < 0 ? "GPU" : fmt::format("GPU {}", place.device);
    case trace::DeviceKind::kOther:
      break;
  }
  return place.device < 0 ? "device" : fmt::format("device {}", place.device);
}

MemoryHistory HistoryOf(const trace::Trace& trace) {
  MemoryHistory history =
      trace.memory_objects.empty() ? HistoryOfEvents(trace) : HistoryOfObjects(trace);
  for (const Change& change : history.changes) {
    history.has_layer[static_cast<std::size_t>(change.layer)] = true;
  }
  SortPlaces(history);
  return history;
}

}  // namespace orrery::memory::timeline
