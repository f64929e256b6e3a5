#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/simulate/goodput/arrivals.h"

namespace orrery::simulate {

/// The nodes of a job and its spares: those that can be used, and when the others are repaired.
class NodePool {
 public:
  /// All repairs take as long. What is repaired after the window never returns.
  NodePool(std::int64_t nodes, std::int64_t repair_ps, std::int64_t window_ps)
      : available_(nodes), repair_ps_(repair_ps), window_ps_(window_ps) {}

  [[nodiscard]] std::int64_t available() const { return available_; }

  /// Takes nodes away, as far as there are any. `now_ps` never falls.
  void SendToRepair(std::int64_t nodes, std::int64_t now_ps) {
    for (std::int64_t i = 0; i < nodes && available_ > 0; ++i) {
      --available_;
      repaired_ps_.push_back(repair_ps_ < window_ps_ - now_ps ? now_ps + repair_ps_ : kNever);
    }
  }

  void ReturnRepaired(std::int64_t now_ps) {
    while (num_returned_ < repaired_ps_.size() && repaired_ps_[num_returned_] <= now_ps) {
      ++num_returned_;
      ++available_;
    }
  }

  /// When so many nodes more, at least one, will have returned.
  [[nodiscard]] std::int64_t RepairedBy(std::int64_t nodes) const {
    const std::size_t last = num_returned_ + static_cast<std::size_t>(nodes) - 1;
    return last < repaired_ps_.size() ? repaired_ps_[last] : kNever;
  }

 private:
  std::int64_t available_;
  std::int64_t repair_ps_;
  std::int64_t window_ps_;
  std::vector<std::int64_t> repaired_ps_;  // ascending
  std::size_t num_returned_ = 0;
};

}  // namespace orrery::simulate
