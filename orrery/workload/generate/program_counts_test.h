#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// Communication of one kind that a program does, for tests that count it.
struct CommunicationCount {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;

  bool operator==(const CommunicationCount&) const = default;
};

/// Communications of a program on a role; of one kind, or of tasks with one name, if they are
/// given.
struct CommunicationFilter {
  GroupRole role = GroupRole::kTensor;
  std::optional<CollectiveKind> kind = {};
  std::string_view name = {};
};

inline CommunicationCount Count(const Program& program, const CommunicationFilter& filter) {
  CommunicationCount count;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const CommunicationId id = program.tasks.communication[task];
    if (id == kNone) {
      continue;
    }
    const Communications::Row row = program.communications.At(id);
    if (row.role == static_cast<std::uint32_t>(filter.role) &&
        (!filter.kind || *filter.kind == row.kind) &&
        (filter.name.empty() || program.strings.View(program.tasks.name[task]) == filter.name)) {
      ++count.messages;
      count.bytes += row.bytes;
    }
  }
  return count;
}

}  // namespace orrery::workload
