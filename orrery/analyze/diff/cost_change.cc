#include "orrery/analyze/diff/cost_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace orrery::analyze::diff {
namespace {

constexpr double kUnchangedShare = 0.01;

constexpr std::array<std::string_view, 5> kChangeNames{"unchanged", "added", "deleted", "increased",
                                                       "decreased"};

struct Pair {
  const NamedCost* before = nullptr;
  const NamedCost* after = nullptr;
};

bool HasDeviceTime(const CostChange& change) {
  return change.before.device_ns > 0 || change.after.device_ns > 0;
}

bool HasHostTime(const CostChange& change) {
  return change.before.host_ns > 0 || change.after.host_ns > 0;
}

Change ChangeOfTime(const CostChange& change) {
  if (HasDeviceTime(change)) {
    return ChangeOf(change.before.device_ns, change.after.device_ns);
  }
  return HasHostTime(change) ? ChangeOf(change.before.host_ns, change.after.host_ns)
                             : ChangeOf(change.before.count, change.after.count);
}

CostChange Join(const Pair& pair) {
  const NamedCost& known = pair.before != nullptr ? *pair.before : *pair.after;
  CostChange change{.name = known.name, .kernel_class = known.kernel_class};
  change.before = pair.before != nullptr ? pair.before->cost : Cost{};
  change.after = pair.after != nullptr ? pair.after->cost : Cost{};
  change.change = pair.before == nullptr  ? Change::kAdded
                  : pair.after == nullptr ? Change::kDeleted
                                          : ChangeOfTime(change);
  return change;
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  count += other.count;
  device_ns += other.device_ns;
  host_ns += other.host_ns;
  wait_ns += other.wait_ns;
  bytes += other.bytes;
  return *this;
}

Cost PerStep(const Cost& total, double num_steps) {
  return {.count = total.count / num_steps,
          .device_ns = total.device_ns / num_steps,
          .host_ns = total.host_ns / num_steps,
          .wait_ns = total.wait_ns / num_steps,
          .bytes = total.bytes / num_steps};
}

std::string_view ChangeName(Change change) {
  return kChangeNames[static_cast<std::size_t>(change)];
}

Change ChangeOf(double before, double after) {
  if (std::abs(after - before) <= kUnchangedShare * std::abs(before)) {
    return Change::kUnchanged;
  }
  return after > before ? Change::kIncreased : Change::kDecreased;
}

double CostChange::DifferenceNs() const {
  return HasDeviceTime(*this) ? after.device_ns - before.device_ns : after.host_ns - before.host_ns;
}

std::vector<CostChange> MatchCosts(const std::vector<NamedCost>& before,
                                   const std::vector<NamedCost>& after) {
  std::map<std::string_view, Pair> pairs;
  for (const NamedCost& named : before) {
    pairs[named.name].before = &named;
  }
  for (const NamedCost& named : after) {
    pairs[named.name].after = &named;
  }
  std::vector<CostChange> changes;
  changes.reserve(pairs.size());
  for (const auto& [name, pair] : pairs) {
    changes.push_back(Join(pair));
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const CostChange& change) {
    return std::abs(change.DifferenceNs());
  });
  return changes;
}

}  // namespace orrery::analyze::diff
