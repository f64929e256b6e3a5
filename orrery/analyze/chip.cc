#include "orrery/analyze/chip.h"

#include "orrery/analyze/card_fields.h"
#include "orrery/trace/summary.h"

namespace orrery::analyze {

const hardware::Gpu* ChipOf(const RunView& run) {
  if (const auto model = CardText(*run.set, "xpu_spec.model")) {
    if (const hardware::Gpu* const gpu = hardware::FindGpu(*model)) {
      return gpu;
    }
  }
  return run.set->ranks.empty() ? nullptr
                                : hardware::FindGpu(trace::DeviceName(run.set->ranks.front()));
}

}  // namespace orrery::analyze
