#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::analyze::diff {

/// What the things of one name cost in a step of one device: means over devices and selected steps,
/// so that runs of different lengths and sizes compare.
struct Cost {
  double count = 0;
  double device_ns = 0;
  double host_ns = 0;  // of operators: their own time, without that of operators inside
  double wait_ns = 0;  // of communication: the part of device_ns that waits for other ranks
  double bytes = 0;    // of messages and copies, where known

  Cost& operator+=(const Cost& other);
  bool operator==(const Cost&) const = default;
};

/// Returns the cost divided by a number of steps.
[[nodiscard]] Cost PerStep(const Cost& total, double num_steps);

struct NamedCost {
  std::string name;
  Cost cost;
  std::string kernel_class = {};  // of kernels
};

enum class Change : std::uint8_t { kUnchanged, kAdded, kDeleted, kIncreased, kDecreased };

/// Returns "unchanged", "added", …
[[nodiscard]] std::string_view ChangeName(Change change);

/// Compares two amounts: up to 1 % of the first counts as no change.
[[nodiscard]] Change ChangeOf(double before, double after);

/// One name in both runs.
struct CostChange {
  std::string name;
  std::string kernel_class = {};
  Cost before = {};
  Cost after = {};
  Change change = Change::kUnchanged;

  /// How much more time it takes in the second run: on the device where it has any there, else on
  /// the host.
  [[nodiscard]] double DifferenceNs() const;
};

/// Joins the costs of two runs by exact name (two template instances of a kernel are two kernels;
/// their class shows the sum). The largest differences come first, ties by name. Names within a
/// list must differ. "Added" and "deleted" names occur in one run only; else the time decides, or
/// the count where nothing has a time.
[[nodiscard]] std::vector<CostChange> MatchCosts(const std::vector<NamedCost>& before,
                                                 const std::vector<NamedCost>& after);

}  // namespace orrery::analyze::diff
