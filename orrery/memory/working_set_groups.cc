#include "orrery/memory/working_set_groups.h"

#include <algorithm>
#include <tuple>

namespace orrery::memory {

void GroupUse::Add(const UsedMemory& used) {
  ++sums_.num_launches;
  if (used.coverage == trace::Coverage::kExact) {
    ++sums_.num_exact;
    sums_.read_bytes += used.read_bytes;
    sums_.write_bytes += used.write_bytes;
  }
  const auto add = [&](WorkingSetLevel level, ValueCounts& values) {
    if (CountsAt(used, level)) {
      values.Add(used.At(level));
    }
  };
  add(WorkingSetLevel::kObject, object_bytes_);
  add(WorkingSetLevel::kPage, page_bytes_);
  add(WorkingSetLevel::kReach, reach_bytes_);
}

WorkingSetGroup GroupUse::Named(const std::string& name) const {
  WorkingSetGroup group = sums_;
  group.name = name;
  group.object_bytes = object_bytes_.Spread();
  group.page_bytes = page_bytes_.Spread();
  group.reach_bytes = reach_bytes_.Spread();
  return group;
}

std::vector<WorkingSetGroup> GroupedUse::Sorted() const {
  std::vector<WorkingSetGroup> groups;
  for (const auto& [name, use] : by_name_) {
    groups.push_back(use.Named(name));
  }
  std::ranges::sort(groups, [](const WorkingSetGroup& a, const WorkingSetGroup& b) {
    return std::tie(b.object_bytes.largest, b.reach_bytes.largest, a.name) <
           std::tie(a.object_bytes.largest, a.reach_bytes.largest, b.name);
  });
  return groups;
}

}  // namespace orrery::memory
