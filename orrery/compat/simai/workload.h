#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/request.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/trace/problems.h"

namespace orrery::compat::simai {

/// A collective of a layer. Sizes are of the full side, as collective::Request counts.
struct SimaiCollective {
  collective::CollectiveKind kind = collective::CollectiveKind::kAllReduce;
  compat::simai::Group group = compat::simai::Group::kTensor;
  Bytes size;

  bool operator==(const SimaiCollective&) const = default;
};

/// One of the three passes of a layer: it computes, then communicates.
struct SimaiPass {
  std::int64_t compute_ns = 0;
  std::optional<SimaiCollective> collective;  // none where the text says NONE

  bool operator==(const SimaiPass&) const = default;
};

struct SimaiLayer {
  std::string name;
  std::int64_t dependency = -1;
  SimaiPass forward = {};
  SimaiPass input_gradient = {};
  SimaiPass weight_gradient = {};
  std::int64_t process_ns = 0;

  bool operator==(const SimaiLayer&) const = default;
};

/// A workload in the text of SimAI and AICB: what one rank of each stage does in a step.
struct SimaiWorkload {
  bool is_micro = false;  // a benchmark of collectives
  int tensor = 1;
  int expert = 1;
  int pipeline = 1;
  int chunks = 1;        // of a pipeline's stage ("vpp")
  int accumulation = 1;  // micro-batches of a step ("ga")
  int gpus = 0;          // 0: the text does not say
  Bytes pipeline_message;
  std::vector<SimaiLayer> layers;
  trace::ProblemLog problems;
};

/// Says whether a file that begins so is such a text.
[[nodiscard]] bool LooksLikeSimaiWorkload(std::string_view head);

/// Reads the text (docs/formats/simai-workload.md). Fields may be separated by any blanks, and
/// numbers of the first line may be missing. Errors name the line; a number of layers that differs
/// from the announced one is a loss in `problems`.
[[nodiscard]] Result<SimaiWorkload> ParseSimaiWorkload(std::string_view text);

/// Reads a file, packed or not. Errors name it.
[[nodiscard]] Result<SimaiWorkload> ReadSimaiWorkload(const std::string& path);

}  // namespace orrery::compat::simai
