#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"

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

// What the chosen devices did in the selected steps, added up by name; see Cost for the unit.

/// Kernels by name, each with its class. Times are clipped to the windows of the steps.
[[nodiscard]] std::vector<NamedCost> KernelCosts(const RunView& run);

/// Kernels by class ("gemm", …), so that a kernel that changed its name does not hide what its work
/// costs.
[[nodiscard]] std::vector<NamedCost> KernelClassCosts(const std::vector<NamedCost>& kernels);

/// Operators of the framework by name. The device time is that of the work that the operator itself
/// launched, not of operators inside it; host and device times therefore add up over names.
[[nodiscard]] std::vector<NamedCost> OperatorCosts(const RunView& run);

/// Collectives that ran on a device, by kind ("all_reduce", …). Calls that one kernel serves count
/// once; their bytes add up.
[[nodiscard]] std::vector<NamedCost> CollectiveCosts(const RunView& run);

/// Copies by kind ("HtoD", …), and "set".
[[nodiscard]] std::vector<NamedCost> CopyCosts(const RunView& run);

/// How many steps the devices of the run did together, at least 1.
[[nodiscard]] double NumDeviceSteps(const RunView& run);

}  // namespace orrery::analyze::diff
