#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {

inline constexpr auto kGemmSizes = std::to_array({Key::kM, Key::kN, Key::kK});
using GemmSizes = std::bitset<kGemmSizes.size()>;

/// GEMM sizes that are not multiples of 16 bytes: libraries have faster kernels for aligned rows.
/// None for other kinds.
[[nodiscard]] GemmSizes UnalignedSizes(const Operator& op);

/// The same GEMM with some sizes rounded up to the next aligned one.
[[nodiscard]] Operator Aligned(const Operator& op, GemmSizes sizes);

/// The GEMM sizes whose alignment a forest distinguishes: none if all training rows were aligned.
class AlignmentKnowledge {
 public:
  AlignmentKnowledge(OperatorKind kind, const learn::Forest& forest);

  /// Sizes whose unaligned values it treats as aligned, as far as alignment matters for `type`.
  [[nodiscard]] GemmSizes IndistinctSizes(DataType type) const;

 private:
  static constexpr float kNoSplit = std::numeric_limits<float>::infinity();

  // The smallest alignment (log2) at which a tree splits.
  std::array<float, kGemmSizes.size()> smallest_split_ = {kNoSplit, kNoSplit, kNoSplit};
};

/// The minimum time of a launch, combined with the roofline: (launch^s + roofline^s)^(1/s). With s
/// = 1 they add up, with a large s the longer one counts.
struct LaunchFloor {
  double seconds = 2e-6;
  double sharpness = 1;

  [[nodiscard]] double Join(double roofline_seconds) const;
};

/// The efficiency of operators relative to the roofline, learned from measurements of one kind on
/// one GPU with one timing method: time = Join(roofline) · exp(forest(features)). Sizes outside the
/// measured range use the efficiency at its edge, so that beyond it the time grows like the
/// roofline.
class EfficiencyModel {
 public:
  struct Range {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };

  struct Domain {
    OperatorKind kind = OperatorKind::kGemm;
    std::string gpu;
    Timing timing = Timing::kKernels;
    std::bitset<32> types;  // by OperatorTypeNumber
    std::array<Range, kMaxFields> range_of_field = {};
    std::uint64_t rows = 0;
  };

  EfficiencyModel(Domain domain, LaunchFloor floor, double deviation, learn::Forest forest)
      : domain_(std::move(domain)),
        floor_(floor),
        deviation_(deviation),
        forest_(std::move(forest)),
        alignment_(domain_.kind, forest_) {}

  [[nodiscard]] const Domain& domain() const { return domain_; }

  [[nodiscard]] const LaunchFloor& floor() const { return floor_; }

  /// Standard deviation of ln(predicted / measured) on held-out rows.
  [[nodiscard]] double deviation() const { return deviation_; }

  [[nodiscard]] const learn::Forest& forest() const { return forest_; }

  /// GEMM sizes whose alignment it cannot distinguish: all if it has not seen the layout, which
  /// determines the contiguous sizes.
  [[nodiscard]] GemmSizes IndistinctSizes(const Operator& op) const;

  /// Returns true if it was trained on unaligned GEMMs of at least one layout.
  [[nodiscard]] bool DistinguishesAlignment(DataType type) const {
    return !alignment_.IndistinctSizes(type).all();
  }

  /// Moves an operator into the measured domain: sizes to the nearest edge, the type to the most
  /// similar one. Reports whether it had to. Nothing if no similar type was measured.
  struct Placed {
    Operator op;
    bool was_outside = false;
  };

  [[nodiscard]] std::optional<Placed> Place(const Operator& op) const;

  [[nodiscard]] std::string Encode() const;
  [[nodiscard]] static Result<EfficiencyModel> Decode(std::string_view bytes);

 private:
  Domain domain_;
  LaunchFloor floor_;
  double deviation_ = 0;
  learn::Forest forest_;
  AlignmentKnowledge alignment_;
};

}  // namespace orrery::kernel
