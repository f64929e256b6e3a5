#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// Where a time came from, best first.
enum class EstimateSource : std::uint8_t {
  kThisGpu,   // a model fitted on measurements of this GPU
  kSibling,   // … of a GPU of the same family, scaled by what both can do
  kAllGpus,   // one model over several GPUs, none of them this one
  kRoofline,  // physics and the usual efficiency of the kind
};

[[nodiscard]] std::string_view EstimateSourceName(EstimateSource source);

/// The time of an operator on a GPU: the durations of all its kernels together.
struct Estimate {
  double seconds = 0;
  double roofline_seconds = 0;   // no GPU of its kind can be faster than this on paper
  double uncertainty = 0;        // relative, one standard deviation
  bool is_extrapolated = false;  // outside of what was measured
  EstimateSource source = EstimateSource::kRoofline;
  /// Of the catalogue: whose loss by unaligned sizes was taken, where none was measured here.
  const hardware::Gpu* alignment_gpu = nullptr;
};

/// Tells the time of operators. Measured tables, learned models and physics implement it.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// `estimates` has one place for each operator. The answer for an operator does not depend on
  /// the others.
  virtual void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const = 0;

  [[nodiscard]] Estimate Predict(const Operator& op, const hardware::Gpu& gpu) const {
    Estimate estimate;
    Predict({&op, 1}, gpu, {&estimate, 1});
    return estimate;
  }
};

}  // namespace orrery::kernel
