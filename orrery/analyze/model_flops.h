#pragma once

#include <optional>
#include <string>

#include "orrery/analyze/run_view.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {

/// The model of the workload card, as far as FLOPs need it.
struct ModelShape {
  double params = 0;  // active ones, without the embedding
  double layers = 0;
  double heads = 0;
  double head_dim = 0;

  /// FLOPs of one token with forward and backward pass at a sequence of `length`.
  [[nodiscard]] double TrainingFlopsPerToken(double length) const {
    return 6 * params + 12 * layers * heads * head_dim * length;
  }

  /// FLOPs of one token of a forward pass that attends to `length` tokens.
  [[nodiscard]] double ForwardFlopsPerToken(double length) const {
    return 2 * params + 4 * layers * heads * head_dim * length;
  }
};

/// Reads the shape from the card, or says what is missing in words that go on from "n/a: ".
[[nodiscard]] std::optional<ModelShape> ReadModelShape(const trace::TraceSet& set,
                                                       std::string& reason);

/// Whether the card says that the workload is inference.
[[nodiscard]] bool IsInference(const trace::TraceSet& set);

}  // namespace orrery::analyze
