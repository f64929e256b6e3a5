#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The source of an estimate, best first.
enum class EstimateSource : std::uint8_t {
  kThisGpu,   // a model fitted on measurements of this GPU
  kSibling,   // … of other GPUs, scaled by the rooflines
  kAllGpus,   // one model over several GPUs, none of them this one
  kRoofline,  // the roofline and a default efficiency
};

[[nodiscard]] std::string_view EstimateSourceName(EstimateSource source);

/// The time of an operator on a GPU: the durations of all its kernels together.
struct Estimate {
  double seconds = 0;
  double roofline_seconds = 0;   // lower bound from the specification
  double uncertainty = 0;        // relative, one standard deviation
  bool is_extrapolated = false;  // outside of the measured range
  EstimateSource source = EstimateSource::kRoofline;
  /// The GPU whose loss by unaligned sizes was used where none was measured here.
  const hardware::Gpu* alignment_gpu = nullptr;
};

/// Predicts the time of operators.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// `estimates` has one element for each operator. Estimates are independent of the other
  /// operators.
  virtual void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const = 0;

  [[nodiscard]] Estimate Predict(const Operator& op, const hardware::Gpu& gpu) const {
    Estimate estimate;
    Predict({&op, 1}, gpu, {&estimate, 1});
    return estimate;
  }
};

}  // namespace orrery::kernel
