#pragma once

#include "orrery/base/document/value.h"

namespace orrery::workload {

/// The JSON Schema of a job file, for editors and programs that write jobs. Keys are those of
/// JobKeys; lists of layers, recommendation models and overrides of clusters are left open.
[[nodiscard]] Value JobSchema();

}  // namespace orrery::workload
