#include "orrery/memory/diff/kernel_diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>

#include "orrery/memory/recorded_work.h"

namespace orrery::memory::diff {
namespace {

void AddItem(const RecordedWork& work, const WorkItem& item, KernelTraffic& traffic) {
  const trace::Touches& touches = work.trace().touches;
  ++traffic.num_launches;
  traffic.time_ns += work.trace().activities.duration_ns[item.activity];
  if (item.coverage != trace::Coverage::kExact) {
    return;
  }
  ++traffic.num_counted;
  for (const RowId touch : item.touches) {
    if (work.IsCounted(touch)) {
      traffic.read_bytes += std::max<std::int64_t>(touches.read_bytes[touch], 0);
      traffic.write_bytes += std::max<std::int64_t>(touches.write_bytes[touch], 0);
    }
  }
}

void AddSide(const trace::Trace& trace, KernelTraffic KernelChange::* side,
             std::map<std::string, KernelChange>& changes) {
  const RecordedWork work(trace);
  work.ForEach([&](const WorkItem& item) {
    if (work.IsKernel(item)) {
      AddItem(work, item, changes[std::string(work.NameOf(item))].*side);
    }
  });
}

}  // namespace

std::vector<KernelChange> CompareKernels(const trace::Trace& before, const trace::Trace& after) {
  std::map<std::string, KernelChange> by_name;
  AddSide(before, &KernelChange::before, by_name);
  AddSide(after, &KernelChange::after, by_name);
  std::vector<KernelChange> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    changes.push_back(change);
  }
  const auto rank = [](const KernelChange& change) {
    return std::tuple(-std::abs(change.TrafficDifference()),
                      -std::abs(change.after.num_launches - change.before.num_launches));
  };
  std::stable_sort(
      changes.begin(), changes.end(),
      [&](const KernelChange& lhs, const KernelChange& rhs) { return rank(lhs) < rank(rhs); });
  return changes;
}

}  // namespace orrery::memory::diff
