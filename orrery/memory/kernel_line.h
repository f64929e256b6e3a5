#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::memory {

/// Bytes over kernels in order of launch, for a picture. However many kernels come, the points stay
/// few: each is the largest of `step` neighbours, and the step doubles when there are too many.
class KernelLine {
 public:
  static constexpr std::size_t kMaxPoints = 2'000;

  /// What is drawn over the kernels.
  enum Curve : std::uint8_t { kFootprint, kReach, kObjects };

  static constexpr std::size_t kNumCurves = 3;

  using Point = std::array<std::int64_t, kNumCurves>;  // -1: not known

  void Add(const Point& point);

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  /// How many kernels a point stands for; the last may stand for fewer.
  [[nodiscard]] std::int64_t step() const { return step_; }

  [[nodiscard]] std::int64_t num_kernels() const { return num_kernels_; }

 private:
  void DoubleStep();

  std::vector<Point> points_;
  std::int64_t step_ = 1;
  std::int64_t num_kernels_ = 0;
  std::int64_t num_in_last_ = 0;
};

}  // namespace orrery::memory
