#include "orrery/memory/kernel_line.h"

#include <algorithm>

namespace orrery::memory {
namespace {

KernelLine::Point Largest(const KernelLine::Point& a, const KernelLine::Point& b) {
  KernelLine::Point largest = a;
  for (std::size_t i = 0; i < largest.size(); ++i) {
    largest[i] = std::max(largest[i], b[i]);
  }
  return largest;
}

}  // namespace

void KernelLine::Add(const Point& point) {
  ++num_kernels_;
  if (!points_.empty() && num_in_last_ < step_) {
    points_.back() = Largest(points_.back(), point);
    ++num_in_last_;
    return;
  }
  if (points_.size() == kMaxPoints) {
    DoubleStep();
  }
  points_.push_back(point);
  num_in_last_ = 1;
}

// There is an even number of full points.
void KernelLine::DoubleStep() {
  for (std::size_t i = 0; i < points_.size() / 2; ++i) {
    points_[i] = Largest(points_[2 * i], points_[2 * i + 1]);
  }
  points_.resize(points_.size() / 2);
  step_ *= 2;
}

}  // namespace orrery::memory
