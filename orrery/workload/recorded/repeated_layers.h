#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// A model that was traced with fewer layers than it has.
struct LayerRepeat {
  int traced = 0;
  int wanted = 0;
  std::int64_t layer_parameters = 0;  // of one layer
  std::int64_t parameters = 0;        // of the model with all wanted layers; 0: not known
};

/// Makes a recording of `traced` layers one of `wanted`: an inner layer is repeated, forward
/// between its range `layer#I` and that of the next one, backward between the first operators that
/// belong to it and to the one before, by sequence numbers. So what is fetched ahead for a
/// neighbour repeats with it. Kernels of the optimizer take longer as the parameters become more.
///
/// Fails where the ranges or the backward pass of a layer are missing.
[[nodiscard]] Result<trace::Trace> RepeatLayers(trace::Trace recording, const LayerRepeat& layers);

}  // namespace orrery::workload
