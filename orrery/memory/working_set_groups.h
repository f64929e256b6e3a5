#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/memory/used_memory.h"
#include "orrery/memory/value_counts.h"

namespace orrery::memory {

/// Whether a launch counts at a level: the upper bound counts whatever is known by argument, all
/// else only what was seen exactly.
[[nodiscard]] inline bool CountsAt(const UsedMemory& used, WorkingSetLevel level) {
  return used.At(level) >= 0 &&
         (level == WorkingSetLevel::kReach || used.coverage == trace::Coverage::kExact);
}

/// Launches of one kernel or one operator.
struct WorkingSetGroup {
  std::string name;
  std::int64_t num_launches = 0;
  std::int64_t num_exact = 0;
  BytesSpread object_bytes = {};  // of exact launches
  BytesSpread page_bytes = {};
  BytesSpread reach_bytes = {};
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;

  bool operator==(const WorkingSetGroup&) const = default;
};

/// Adds up what the launches of a group used.
class GroupUse {
 public:
  void Add(const UsedMemory& used);

  [[nodiscard]] WorkingSetGroup Named(const std::string& name) const;

 private:
  WorkingSetGroup sums_;  // without name and spreads
  ValueCounts object_bytes_;
  ValueCounts page_bytes_;
  ValueCounts reach_bytes_;
};

/// Groups by name.
class GroupedUse {
 public:
  /// Stays where it is.
  [[nodiscard]] GroupUse& Of(const std::string& name) { return by_name_[name]; }

  /// Largest working set first, ties by name.
  [[nodiscard]] std::vector<WorkingSetGroup> Sorted() const;

 private:
  std::map<std::string, GroupUse> by_name_;
};

/// Finds the groups of names of one piece: a name is looked up once, not for each launch.
class GroupsOfPiece {
 public:
  /// How a group is called that a name of the piece belongs to.
  using NameOfGroup = std::string (*)(std::string_view name);

  GroupsOfPiece(const StringTable& strings, GroupedUse& groups, NameOfGroup name_of_group)
      : strings_(strings),
        groups_(groups),
        name_of_group_(name_of_group),
        by_id_(strings.size(), nullptr) {}

  [[nodiscard]] GroupUse& Of(StringId name) {
    GroupUse*& group = by_id_[static_cast<std::size_t>(name)];
    if (group == nullptr) {
      group = &groups_.Of(name_of_group_(strings_.View(name)));
    }
    return *group;
  }

 private:
  const StringTable& strings_;
  GroupedUse& groups_;
  NameOfGroup name_of_group_;
  std::vector<GroupUse*> by_id_;
};

}  // namespace orrery::memory
