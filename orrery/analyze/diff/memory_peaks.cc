#include "orrery/analyze/diff/memory_peaks.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "orrery/trace/enums.h"

namespace orrery::analyze::diff {
namespace {

std::string_view KindName(trace::DeviceKind kind) {
  switch (kind) {
    case trace::DeviceKind::kCpu:
      return "cpu";
    case trace::DeviceKind::kGpu:
      return "gpu";
    case trace::DeviceKind::kOther:
      break;
  }
  return "other";
}

void Raise(std::map<std::string, std::int64_t>& peaks, std::string_view device,
           std::string_view what, std::int64_t bytes) {
  if (bytes >= 0) {
    std::int64_t& peak = peaks[fmt::format("{} {}", device, what)];
    peak = std::max(peak, bytes);
  }
}

}  // namespace

std::vector<MemoryPeak> PeakMemory(const RunView& run) {
  std::map<std::string, std::int64_t> peaks;
  for (const std::uint32_t rank : ChosenRanks(run)) {
    const trace::MemoryEvents& events = run.set->ranks[rank].memory_events;
    for (RowId row = 0; row < events.size(); ++row) {
      const std::string_view device = KindName(events.device_kind[row]);
      Raise(peaks, device, "allocated", events.total_allocated_bytes[row]);
      Raise(peaks, device, "reserved", events.total_reserved_bytes[row]);
    }
  }
  std::vector<MemoryPeak> list;
  for (const auto& [name, bytes] : peaks) {
    list.push_back({.name = name, .bytes = bytes});
  }
  return list;
}

std::vector<MemoryChange> MatchMemory(const std::vector<MemoryPeak>& before,
                                      const std::vector<MemoryPeak>& after) {
  std::map<std::string, MemoryChange> changes;
  for (const MemoryPeak& peak : before) {
    changes[peak.name].before_bytes = peak.bytes;
  }
  for (const MemoryPeak& peak : after) {
    changes[peak.name].after_bytes = peak.bytes;
  }
  std::vector<MemoryChange> list;
  for (auto& [name, change] : changes) {
    change.name = name;
    if (change.before_bytes && change.after_bytes) {
      change.change = ChangeOf(static_cast<double>(*change.before_bytes),
                               static_cast<double>(*change.after_bytes));
    }
    list.push_back(change);
  }
  return list;
}

}  // namespace orrery::analyze::diff
