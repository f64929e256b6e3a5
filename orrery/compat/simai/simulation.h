#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/compat/simai/workload.h"

/// Simulates the analytical mode of SimAI (1.6) on a whole workload: for comparison with what SimAI
/// computes, not for prediction.
namespace orrery::compat::simai {

/// How much of each kind of communication is hidden: 0 nothing, 1 all of it.
struct SimaiOverlap {
  double tensor = 0;
  double expert = 0;
  double data = 0;
  double expert_data = 0;
};

struct SimaiSetting {
  compat::simai::Machine machine;
  SimaiOverlap overlap = {};
};

/// What a collective of a layer takes.
struct SimaiCallTime {
  bool is_called = false;  // not where the text says NONE
  std::int64_t total_ns = 0;
  double exposed_ns = 0;
  double algorithm_gib_per_second = 0;  // 0/0 where nothing is moved
  double bus_gib_per_second = 0;
};

struct SimaiLayerTime {
  SimaiCallTime forward;
  SimaiCallTime input_gradient;
  SimaiCallTime weight_gradient;
};

/// Where the step goes, in nanoseconds.
struct SimaiStep {
  double data_ns = 0;
  double expert_data_ns = 0;
  double tensor_ns = 0;
  double expert_ns = 0;
  double pipeline_ns = 0;  // messages between stages, which SimAI hides at its defaults
  double bubble_ns = 0;
  double compute_ns = 0;
  std::vector<SimaiLayerTime> layers;  // as those of the workload
  std::int64_t num_free_calls = 0;     // kinds that SimAI does not know: they take no time

  [[nodiscard]] double exposed_ns() const {
    return data_ns + expert_data_ns + tensor_ns + expert_ns + pipeline_ns;
  }

  [[nodiscard]] double total_ns() const { return exposed_ns() + bubble_ns + compute_ns; }
};

/// Returns what SimAI says of a step. A workload that does not tell its GPUs counts as one of
/// tensor · pipeline · expert. Fails where SimAI cannot place a group on the servers.
[[nodiscard]] Result<SimaiStep> SimulateSimai(const SimaiWorkload& workload,
                                          const SimaiSetting& setting);

/// The step as SimAI's own summary has it, one line a part: "exposed TP 326686 us (4.33%)".
[[nodiscard]] std::string SimaiStepText(const SimaiStep& step);

/// The table of layers as SimAI writes it ("…EndToEnd.csv"), from the line of its header on.
[[nodiscard]] std::string SimaiLayerCsv(const SimaiWorkload& workload, const SimaiStep& step);

}  // namespace orrery::compat::simai
