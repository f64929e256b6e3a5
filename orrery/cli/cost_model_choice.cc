#include "orrery/cli/cost_model_choice.h"

#include <algorithm>
#include <cstddef>

#include "orrery/kernel/work.h"

namespace orrery::cli {
namespace {

/// What the papers of the GPU allow.
class RooflineModel : public kernel::CostModel {
 public:
  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const kernel::Work work = kernel::WorkOf(operators[i]);
      const auto peak = gpu.PeakFlops(kernel::PeakName(operators[i].type()));
      const double flops_s = peak && *peak > 0 ? work.flops / *peak : 0;
      const double seconds = std::max(flops_s, work.Bytes() / gpu.memory.bytes_per_second);
      estimates[i] = {.seconds = seconds, .roofline_seconds = seconds, .uncertainty = 1};
    }
  }
};

}  // namespace

std::unique_ptr<kernel::CostModel> DefaultCostModel() {
  return std::make_unique<RooflineModel>();
}

}  // namespace orrery::cli
