#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

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
/// page needs its block's chunk, and when chunks run out the one that was given first is taken
/// back with all its pages, however lately it was used. Pages without data come in empty; what
/// leaves is copied to the host.
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

  /// Makes `pages` resident, some of which may be so already.
  Movement Bring(std::size_t block, const PageMask& pages);

  /// Forgets the pages of memory that is freed; nothing is copied.
  void Release(std::size_t root);

  [[nodiscard]] std::int64_t used_bytes() const { return used_bytes_; }

  [[nodiscard]] const std::vector<Movement>& of_root() const { return of_root_; }

  /// Blocks that came back at least once after they were evicted.
  [[nodiscard]] std::int64_t NumBouncedBlocks() const;

 private:
  struct Given {
    std::size_t block = 0;
    std::int64_t serial = 0;
  };

  [[nodiscard]] std::int64_t ChunkBytes(std::size_t block) const {
    return extent_[block].count() * workload_->page_bytes;
  }

  Movement GiveChunk(std::size_t block);
  Movement EvictOldest();
  void TakeChunk(std::size_t block);

  const Workload* workload_;
  std::int64_t capacity_bytes_;
  std::int64_t used_bytes_ = 0;
  std::int64_t last_serial_ = 0;
  std::vector<PageMask> extent_;     // [block]
  std::vector<PageMask> resident_;   // [block]
  std::vector<PageMask> has_data_;   // [block]
  std::vector<std::size_t> root_;    // [block]
  std::vector<std::int64_t> given_;  // [block]: serial of its chunk, 0: has none
  std::vector<std::uint8_t> was_evicted_;
  std::vector<std::uint8_t> has_bounced_;
  std::deque<Given> oldest_first_;  // some are no longer true
  std::vector<Movement> of_root_;
};

}  // namespace orrery::memory::uvm
