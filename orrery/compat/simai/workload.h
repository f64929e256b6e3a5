#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/trace/problems.h"

/// Simulates the analytical mode of SimAI (1.6) on a whole workload: for comparison with what SimAI
/// computes, not for prediction.

namespace orrery::compat::simai {

/// One of the three passes of a layer: it computes, then communicates.
struct Pass {
  std::int64_t compute_ns = 0;
  std::optional<Collective> collective;  // none for NONE

  bool operator==(const Pass&) const = default;
};

struct Layer {
  std::string name;
  std::int64_t dependency = -1;
  Pass forward = {};
  Pass input_gradient = {};
  Pass weight_gradient = {};
  std::int64_t process_ns = 0;

  bool operator==(const Layer&) const = default;
};

/// A workload in the text format of SimAI and AICB: one rank of each stage, one step.
struct Workload {
  bool is_micro = false;  // a microbenchmark of collectives
  int tensor = 1;
  int expert = 1;
  int pipeline = 1;
  int chunks = 1;        // of a pipeline's stage ("vpp")
  int accumulation = 1;  // micro-batches of a step ("ga")
  int gpus = 0;          // 0: not in the text
  Bytes pipeline_message;
  std::vector<Layer> layers;
  trace::ProblemLog problems;
};

/// Returns true if a file that begins with `head` is such a text.
[[nodiscard]] bool LooksLikeWorkload(std::string_view head);

/// Reads the text (docs/formats/simai-workload.md). Fields may be separated by any blanks, and
/// numbers of the first line may be missing. Errors name the line; a number of layers that differs
/// from the announced one is a loss in `problems`.
[[nodiscard]] Result<Workload> ParseWorkload(std::string_view text);

/// Reads a file, compressed or not. Errors name it.
[[nodiscard]] Result<Workload> ReadWorkload(const std::string& path);

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
