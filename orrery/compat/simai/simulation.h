#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/compat/simai/workload.h"

/// Simulates the analytical mode of SimAI (1.6) on a whole workload: for comparison with what SimAI
/// computes, not for prediction.
namespace orrery::compat::simai {

/// The hidden share of each kind of communication: 0 is none, 1 is all of it.
struct HiddenShares {
  double tensor = 0;
  double expert = 0;
  double data = 0;
  double expert_data = 0;
};

struct Settings {
  Machine machine;
  HiddenShares overlap = {};
};

/// The parts of a step in nanoseconds.
struct StepTimes {
  double data_ns = 0;
  double expert_data_ns = 0;
  double tensor_ns = 0;
  double expert_ns = 0;
  double pipeline_ns = 0;  // messages between stages, which SimAI hides by default
  double bubble_ns = 0;
  double compute_ns = 0;
  int num_free_calls = 0;  // collectives that SimAI does not model: they take no time

  [[nodiscard]] double exposed_ns() const {
    return data_ns + expert_data_ns + tensor_ns + expert_ns + pipeline_ns;
  }

  [[nodiscard]] double total_ns() const { return exposed_ns() + bubble_ns + compute_ns; }
};

/// Returns the step according to SimAI. A workload that does not give its GPUs has
/// tensor · pipeline · expert of them. Fails where SimAI cannot place a group on the servers.
[[nodiscard]] Result<StepTimes> SimulateStep(const Workload& workload, const Settings& settings);

/// Formats the step like SimAI's own summary, one line per part: "exposed TP 326686 us (4.33%)".
[[nodiscard]] std::string StepText(const StepTimes& step);

}  // namespace orrery::compat::simai
