#pragma once

#include <vector>

#include "orrery/ingest/format.h"

namespace orrery::ingest {

/// Every format by the name of its folder, in the order in which files are tried.
#define ORRERY_FORMATS(X)  \
  X(orr)                   \
  X(orrs)                  \
  X(nsys)                  \
  X(nsys_report)           \
  X(nvf1)                  \
  X(xplane)                \
  X(torch_snapshot)        \
  X(rocprofv3)             \
  X(kineto)                \
  X(execution_trace)       \
  X(torch_memory_timeline) \
  X(nvbit_mem_trace)       \
  X(serving_benchmark)     \
  X(latency_benchmark)     \
  X(gate_log) X(operation_timeline) X(param_comms) X(nccl_tests) X(step_score) X(card)

#define ORRERY_DECLARE_FORMAT(folder) \
  namespace folder {                  \
  extern const Format kFormat;        \
  }
#define ORRERY_FORMAT_ADDRESS(folder) &folder::kFormat,
ORRERY_FORMATS(ORRERY_DECLARE_FORMAT)

[[nodiscard]] inline std::vector<const Format*> KnownFormats() {
  return {ORRERY_FORMATS(ORRERY_FORMAT_ADDRESS)};
}

}  // namespace orrery::ingest
