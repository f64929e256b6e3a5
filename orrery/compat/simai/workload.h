#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/trace/problems.h"

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

/// Whether a file that begins with `head` is such a text.
[[nodiscard]] bool LooksLikeWorkload(std::string_view head);

/// Reads the text (docs/formats/simai-workload.md). Fields may be separated by any blanks, and
/// numbers of the first line may be missing. Errors name the line; a number of layers that differs
/// from the announced one is a loss in `problems`.
[[nodiscard]] Result<Workload> ParseWorkload(std::string_view text);

/// Reads a file, compressed or not. Errors name it.
[[nodiscard]] Result<Workload> ReadWorkload(const std::string& path);

}  // namespace orrery::compat::simai
