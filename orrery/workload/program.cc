#include "orrery/workload/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {
namespace {

// Calls `visit(from, to, lag)` for each dependency of the program.
template <typename Visit>
void ForEachDependency(const Program& program, Visit&& visit) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.launch[task] != kNone) {
      visit(program.tasks.launch[task], task, program.launch_latency_ps);
    }
  }
  for (RowId edge = 0; edge < program.edges.size(); ++edge) {
    visit(program.edges.from[edge], program.edges.to[edge], program.edges.lag_ps[edge]);
  }
}

}  // namespace

Successors SuccessorsOf(const Program& program) {
  Successors result;
  result.offsets.assign(program.tasks.size() + 1, 0);
  ForEachDependency(program,
                    [&](TaskId from, TaskId, std::int64_t) { ++result.offsets[from + 1]; });
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    result.offsets[task + 1] += result.offsets[task];
  }
  result.targets.resize(result.offsets.back());
  result.lags_ps.resize(result.offsets.back());
  std::vector<std::uint32_t> next(result.offsets.begin(), result.offsets.end() - 1);
  ForEachDependency(program, [&](TaskId from, TaskId to, std::int64_t lag_ps) {
    const std::uint32_t place = next[from]++;
    result.targets[place] = to;
    result.lags_ps[place] = lag_ps;
  });
  return result;
}

std::uint32_t CommunicationShare(collective::CollectiveKind kind, int multiprocessors) {
  constexpr std::uint32_t kMillion = 1'000'000;
  const std::uint32_t blocks = kind == collective::CollectiveKind::kSendRecv ? 4 : 16;
  return blocks * kMillion / static_cast<std::uint32_t>(std::max(multiprocessors, 1));
}

void UniteGroupRoles(std::span<Program> programs) {
  std::map<std::string, std::uint32_t, std::less<>> role_of_name;
  std::vector<std::string> names;
  for (Program& program : programs) {
    std::vector<std::uint32_t> united;
    for (const StringId role : program.roles) {
      const std::string name(program.strings.View(role));
      const auto [found, is_new] =
          role_of_name.emplace(name, static_cast<std::uint32_t>(names.size()));
      if (is_new) {
        names.push_back(name);
      }
      united.push_back(found->second);
    }
    for (std::uint32_t& role : program.communications.role) {
      role = united[role];
    }
  }
  for (Program& program : programs) {
    program.roles.clear();
    for (const std::string_view name : names) {
      program.roles.push_back(program.strings.Intern(name));
    }
  }
}

PartId PartIndex::Find(const Parts::Row& row, Program& program) {
  const auto [part, is_new] = parts_.try_emplace(ContentOf(row), kNone);
  if (is_new) {
    part->second = program.parts.Append(row);
  }
  return part->second;
}

}  // namespace orrery::workload
