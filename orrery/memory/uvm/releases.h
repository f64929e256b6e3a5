#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// Roots by the work before which they are freed.
class Releases {
 public:
  explicit Releases(const Workload& workload) : at_(workload.works.size() + 1) {
    for (std::size_t root = 0; root < workload.roots.size(); ++root) {
      if (workload.roots[root].end_work < at_.size()) {
        at_[workload.roots[root].end_work].push_back(root);
      }
    }
  }

  /// `work` may be the number of works: after the last.
  [[nodiscard]] std::span<const std::size_t> Before(std::size_t work) const { return at_[work]; }

 private:
  std::vector<std::vector<std::size_t>> at_;
};

}  // namespace orrery::memory::uvm
