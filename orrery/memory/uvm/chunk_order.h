#pragma once

#include <cstddef>
#include <vector>

namespace orrery::memory::uvm {

/// Blocks in the order in which their chunks would be taken back. Every operation is one step.
class ChunkOrder {
 public:
  explicit ChunkOrder(std::size_t num_blocks) : next_(num_blocks + 1), previous_(num_blocks + 1) {
    next_[End()] = End();
    previous_[End()] = End();
  }

  [[nodiscard]] std::size_t Oldest() const { return next_[End()]; }

  /// `block` must not be in the order.
  void Append(std::size_t block) {
    next_[block] = End();
    previous_[block] = previous_[End()];
    next_[previous_[block]] = block;
    previous_[End()] = block;
  }

  void Remove(std::size_t block) {
    next_[previous_[block]] = next_[block];
    previous_[next_[block]] = previous_[block];
  }

 private:
  // One place more than blocks stands before the first and after the last.
  [[nodiscard]] std::size_t End() const { return next_.size() - 1; }

  std::vector<std::size_t> next_;
  std::vector<std::size_t> previous_;
};

}  // namespace orrery::memory::uvm
