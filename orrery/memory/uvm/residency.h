#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <vector>

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

/// Resident pages as the driver keeps them: memory is allocated in chunks of a block, and when
/// chunks run out the least recently requested one is evicted with all its pages. Faults and
/// prefetches are requests; accesses are not seen. Pages without data come in empty; evicted ones
/// are copied out.
class Residency {
 public:
  /// Keeps a reference. The capacity must hold one block.
  Residency(const Workload& workload, std::int64_t capacity_bytes);

  /// Returns the pages of `requested` that are not resident.
  [[nodiscard]] PageMask Missing(std::size_t block, const PageMask& requested) const {
    return requested.Without(blocks_[block].resident);
  }

  [[nodiscard]] const PageMask& resident(std::size_t block) const {
    return blocks_[block].resident;
  }

  /// Pages of the block that its memory has at all.
  [[nodiscard]] const PageMask& extent(std::size_t block) const { return blocks_[block].extent; }

  /// Makes `pages` resident, some or all of which may be so already.
  Movement Bring(std::size_t number, const PageMask& pages);

  /// Drops the pages of memory that is freed; nothing is copied.
  void Release(std::size_t root);

  [[nodiscard]] std::int64_t used_bytes() const { return used_bytes_; }

  [[nodiscard]] const std::vector<Movement>& of_root() const { return of_root_; }

  /// Blocks that came back at least once after they were evicted.
  [[nodiscard]] std::int64_t NumBouncedBlocks() const;

 private:
  struct Block {
    PageMask extent = {};
    PageMask resident = {};
    PageMask has_data = {};
    std::size_t root = 0;
    bool has_chunk = false;
    bool was_evicted = false;
    bool has_bounced = false;
    std::list<std::size_t>::iterator place = {};  // in eviction_order_, of blocks with a chunk
  };

  [[nodiscard]] std::int64_t ChunkBytes(const Block& block) const {
    return block.extent.count() * workload_->page_bytes;
  }

  Movement GiveChunk(std::size_t number);
  Movement EvictOldest();
  void TakeChunk(Block& block);

  const Workload* workload_;
  std::int64_t capacity_bytes_;
  std::int64_t used_bytes_ = 0;
  std::vector<Block> blocks_;
  std::list<std::size_t> eviction_order_;
  std::vector<Movement> of_root_;
};

/// The driver's tree over the pages of one block.
struct PrefetchTree {
  int pages_per_block = 0;
  int pages_per_leaf = 0;
  int threshold_percent = 0;
};

/// Returns what the driver fetches when pages of a block fault: their leaves, and for each the
/// largest subtree around it of which more than the threshold is resident or faulted. Only pages of
/// `extent` exist; subtrees are as large as what exists of them.
[[nodiscard]] PageMask PagesToFetch(const PrefetchTree& tree, const PageMask& extent,
                                    const PageMask& resident, const PageMask& faulted);

/// The faults of a work.
struct FaultCounts {
  std::int64_t faults = 0;  // pages that were touched and missing
  std::int64_t batches = 0;
  std::int64_t blocks = 0;  // in batches: one block in two batches counts twice
  Movement moved;

  FaultCounts& operator+=(const FaultCounts& other);
};

/// Serves the faults of works as the driver does: missing pages are collected in the order of
/// touches up to the size of a batch, grouped by block and migrated. A work touches each page once:
/// a page that is evicted after its touch does not fault again.
class FaultServer {
 public:
  /// With a tree, the driver prefetches. Keeps a reference to the residency.
  FaultServer(int max_faults_per_batch, std::optional<PrefetchTree> tree, Residency& residency);

  /// Serves the faults of the touches of one work.
  FaultCounts Serve(std::span<const Touch> touches, int pages_per_block);

 private:
  struct Entry {
    std::size_t block = 0;
    PageMask pages;
  };

  void TouchBlock(std::size_t block, const PageMask& pages);
  PageMask& AskedOf(std::size_t block);
  void ServeBatch();

  int max_faults_;
  std::optional<PrefetchTree> tree_;
  Residency& residency_;
  std::vector<Entry> batch_;
  int num_in_batch_ = 0;
  FaultCounts counts_;
};

}  // namespace orrery::memory::uvm
