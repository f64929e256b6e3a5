#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/memory/uvm/chunk_order.h"
#include "orrery/memory/uvm/page_mask.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// Pages that came to the GPU and left it.
struct Movement {
  std::int64_t pages_in = 0;
  std::int64_t pages_copied = 0;  // of those that came in: had data on the host
  std::int64_t pages_out = 0;
  std::int64_t evictions = 0;  // chunks
  std::int64_t bounces = 0;    // chunks that came in again after they were evicted

  Movement& operator+=(const Movement& other);

  bool operator==(const Movement&) const = default;
};

/// Which pages are in the GPU, as the driver keeps them: memory is given in chunks of a block, a
/// page needs its block's chunk, and when chunks run out the one is taken back, with all its pages,
/// of which nobody asked for a page the longest. The driver is asked by faults and prefetches and
/// does not see accesses. Pages without data come in empty; what leaves is copied to the host.
class Residency {
 public:
  /// Keeps a reference. The capacity must hold one block.
  Residency(const Workload& workload, std::int64_t capacity_bytes);

  /// Returns the pages of `wanted` that are not in the GPU.
  [[nodiscard]] PageMask Missing(std::size_t block, const PageMask& wanted) const {
    return wanted.Without(resident_[block]);
  }

  [[nodiscard]] const PageMask& resident(std::size_t block) const { return resident_[block]; }

  /// Pages of the block that its memory has at all.
  [[nodiscard]] const PageMask& extent(std::size_t block) const { return extent_[block]; }

  /// Makes `pages` resident, some or all of which may be so already.
  Movement Bring(std::size_t block, const PageMask& pages);

  /// Forgets the pages of memory that is freed; nothing is copied.
  void Release(std::size_t root);

  [[nodiscard]] std::int64_t used_bytes() const { return used_bytes_; }

  [[nodiscard]] const std::vector<Movement>& of_root() const { return of_root_; }

  /// Blocks that came back at least once after they were evicted.
  [[nodiscard]] std::int64_t NumBouncedBlocks() const;

 private:
  [[nodiscard]] std::int64_t ChunkBytes(std::size_t block) const {
    return extent_[block].count() * workload_->page_bytes;
  }

  [[nodiscard]] bool IsWhole(std::size_t block) const {
    return extent_[block].count() == workload_->pages_per_block;
  }

  Movement GiveChunk(std::size_t block);
  void MarkUsed(std::size_t block);
  Movement EvictOldest();
  void TakeChunk(std::size_t block);

  const Workload* workload_;
  std::int64_t capacity_bytes_;
  std::int64_t used_bytes_ = 0;
  std::vector<PageMask> extent_;         // [block]
  std::vector<PageMask> resident_;       // [block]
  std::vector<PageMask> has_data_;       // [block]
  std::vector<std::size_t> root_;        // [block]
  std::vector<std::uint8_t> has_chunk_;  // [block]
  std::vector<std::uint8_t> was_evicted_;
  std::vector<std::uint8_t> has_bounced_;
  ChunkOrder order_;
  std::vector<Movement> of_root_;
};

}  // namespace orrery::memory::uvm
