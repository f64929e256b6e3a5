#include "orrery/workload/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"

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

std::uint32_t CommunicationShare(CollectiveKind kind, int multiprocessors) {
  constexpr std::uint32_t kMillion = 1'000'000;
  const std::uint32_t blocks = kind == CollectiveKind::kSendRecv ? 4 : 16;
  return blocks * kMillion / static_cast<std::uint32_t>(std::max(multiprocessors, 1));
}

void UniteGroupRoles(std::span<Program> programs) {
  std::map<std::string, std::uint32_t, std::less<>> role_of_name;

  struct United {
    std::string name;
    std::string dimension;
    Direction direction = Direction::kBoth;
  };

  std::vector<United> united_roles;
  for (Program& program : programs) {
    std::vector<std::uint32_t> united;
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
      const std::string name(program.RoleName(role));
      const auto [found, is_new] =
          role_of_name.emplace(name, static_cast<std::uint32_t>(united_roles.size()));
      if (is_new) {
        united_roles.push_back({name,
                                std::string(program.strings.View(program.roles.dimension[role])),
                                program.roles.direction[role]});
      }
      united.push_back(found->second);
    }
    for (std::uint32_t& role : program.communications.role) {
      role = united[role];
    }
  }
  for (Program& program : programs) {
    program.roles = {};
    for (const auto& [name, dimension, direction] : united_roles) {
      program.AddRole(name, dimension, direction);
    }
  }
}

PartId PartIndex::Find(const Parts::Row& row, Program& program) {
  const auto [part, is_new] =
      parts_.try_emplace({row.category, row.phase, row.chunk, row.sm_share, row.memory_share,
                          row.compute_share, row.operation},
                         kNone);
  if (is_new) {
    part->second = program.parts.Append(row);
  }
  return part->second;
}

std::vector<std::size_t> InputsFirst(const std::vector<std::vector<std::size_t>>& inputs) {
  std::vector<std::vector<std::size_t>> outputs(inputs.size());
  std::vector<std::size_t> num_missing(inputs.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t node = 0; node < inputs.size(); ++node) {
    num_missing[node] = inputs[node].size();
    for (const std::size_t input : inputs[node]) {
      outputs[input].push_back(node);
    }
    if (inputs[node].empty()) {
      ready.push(node);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::size_t output : outputs[node]) {
      if (--num_missing[output] == 0) {
        ready.push(output);
      }
    }
  }
  return order;
}

std::size_t FirstMissing(const std::vector<std::size_t>& order, std::size_t num_nodes) {
  std::vector<bool> is_there(num_nodes);
  for (const std::size_t node : order) {
    is_there[node] = true;
  }
  return static_cast<std::size_t>(std::find(is_there.begin(), is_there.end(), false) -
                                  is_there.begin());
}

}  // namespace orrery::workload
