#include "orrery/workload/model/model.h"

namespace orrery::workload {

std::int64_t Transformer::num_blocks() const {
  std::int64_t count = 0;
  for (const std::vector<BlockRun>* const stack : {&encoder, &blocks}) {
    for (const BlockRun& run : *stack) {
      count += run.count;
    }
  }
  return count;
}

}  // namespace orrery::workload
