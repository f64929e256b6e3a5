#include "orrery/memory/uvm/policy.h"

#include <algorithm>

#include <fmt/format.h>

namespace orrery::memory::uvm {
namespace {

std::vector<std::size_t> ContainersOf(const Workload& workload,
                                      const std::vector<std::size_t>& objects) {
  std::vector<std::size_t> containers;
  for (const std::size_t object : objects) {
    containers.push_back(workload.objects[object].container);
  }
  std::ranges::sort(containers);
  containers.erase(std::unique(containers.begin(), containers.end()), containers.end());
  return containers;
}

}  // namespace

std::string PolicyName(const Policy& policy) {
  switch (policy.kind) {
    case Policy::Kind::kNone:
      return "none";
    case Policy::Kind::kDriver:
      return "driver";
    case Policy::Kind::kObject:
      return "object";
    case Policy::Kind::kTensor:
      break;
  }
  return policy.lookahead == 0 ? "tensor" : fmt::format("tensor+{}", policy.lookahead);
}

std::vector<std::vector<std::size_t>> ScheduleOf(const Workload& workload, const Policy& policy) {
  std::vector<std::vector<std::size_t>> schedule(workload.operators.size());
  for (std::size_t op = 0; op < schedule.size(); ++op) {
    const std::vector<std::size_t>& touched = workload.operators[op].objects;
    if (policy.kind == Policy::Kind::kTensor) {
      schedule[op] = touched;
    } else if (policy.kind == Policy::Kind::kObject) {
      schedule[op] = ContainersOf(workload, touched);
    }
  }
  return schedule;
}

}  // namespace orrery::memory::uvm
