#include "orrery/memory/uvm/residency.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "orrery/base/check.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

PageMask LeavesOf(const PrefetchTree& tree, const PageMask& pages) {
  PageMask leaves;
  for (int begin = 0; begin < tree.pages_per_block; begin += tree.pages_per_leaf) {
    const PageMask leaf = PageMask::Range(begin, begin + tree.pages_per_leaf);
    if ((leaf & pages).any()) {
      leaves |= leaf;
    }
  }
  return leaves;
}

}  // namespace

Movement& Movement::operator+=(const Movement& other) {
  pages_in += other.pages_in;
  pages_copied += other.pages_copied;
  pages_out += other.pages_out;
  evictions += other.evictions;
  bounces += other.bounces;
  return *this;
}

Residency::Residency(const Workload& workload, std::int64_t capacity_bytes)
    : workload_(&workload),
      capacity_bytes_(capacity_bytes),
      blocks_(workload.NumBlocks()),
      of_root_(workload.roots.size()) {
  ORRERY_CHECK(capacity_bytes >= workload.page_bytes * workload.pages_per_block,
               "the capacity holds one block");
  for (std::size_t root = 0; root < workload.roots.size(); ++root) {
    ForEachBlock(workload.roots[root].pages, workload.pages_per_block,
                 [&](std::size_t block, const PageMask& pages) {
                   blocks_[block].extent = pages;
                   blocks_[block].root = root;
                 });
  }
  for (const PageRange& range : workload.filled) {
    ForEachBlock(range, workload.pages_per_block, [&](std::size_t block, const PageMask& pages) {
      blocks_[block].has_data |= pages;
    });
  }
}

Movement Residency::Bring(std::size_t number, const PageMask& pages) {
  Block& block = blocks_[number];
  const PageMask missing = Missing(number, pages & block.extent);
  // The driver orders only chunks of whole blocks by their last request.
  if (block.has_chunk && block.extent.count() == workload_->pages_per_block) {
    eviction_order_.splice(eviction_order_.end(), eviction_order_, block.place);
  }
  if (!missing.any()) {
    return {};
  }
  Movement moved = block.has_chunk ? Movement() : GiveChunk(number);
  const Movement in{.pages_in = missing.count(),
                    .pages_copied = (missing & block.has_data).count()};
  of_root_[block.root] += in;
  moved += in;
  block.resident |= missing;
  block.has_data |= missing;
  return moved;
}

Movement Residency::GiveChunk(std::size_t number) {
  Block& block = blocks_[number];
  Movement moved;
  while (used_bytes_ + ChunkBytes(block) > capacity_bytes_) {
    moved += EvictOldest();
  }
  used_bytes_ += ChunkBytes(block);
  block.has_chunk = true;
  block.place = eviction_order_.insert(eviction_order_.end(), number);
  if (block.was_evicted) {
    const Movement back{.bounces = 1};
    block.has_bounced = true;
    block.was_evicted = false;
    of_root_[block.root] += back;
    moved += back;
  }
  return moved;
}

Movement Residency::EvictOldest() {
  Block& block = blocks_[eviction_order_.front()];
  const Movement out{.pages_out = block.resident.count(), .evictions = 1};
  of_root_[block.root] += out;
  block.was_evicted = true;
  TakeChunk(block);
  return out;
}

void Residency::TakeChunk(Block& block) {
  used_bytes_ -= ChunkBytes(block);
  block.has_chunk = false;
  eviction_order_.erase(block.place);
  block.resident = {};
}

void Residency::Release(std::size_t root) {
  ForEachBlock(workload_->roots[root].pages, workload_->pages_per_block,
               [&](std::size_t number, const PageMask&) {
                 Block& block = blocks_[number];
                 if (block.has_chunk) {
                   TakeChunk(block);
                 }
                 block.has_data = {};
                 block.was_evicted = false;
               });
}

std::int64_t Residency::NumBouncedBlocks() const {
  return std::ranges::count(blocks_, true, &Block::has_bounced);
}

PageMask PagesToFetch(const PrefetchTree& tree, const PageMask& extent, const PageMask& resident,
                      const PageMask& faulted) {
  const PageMask wanted = LeavesOf(tree, faulted) & extent;
  const PageMask present = wanted | resident;
  PageMask fetched = wanted;
  for (int size = 2 * tree.pages_per_leaf; size <= tree.pages_per_block; size *= 2) {
    for (int begin = 0; begin < tree.pages_per_block; begin += size) {
      const PageMask subtree = PageMask::Range(begin, begin + size) & extent;
      const bool has_fault = (subtree & wanted).any();
      if (has_fault &&
          (subtree & present).count() * 100 > subtree.count() * tree.threshold_percent) {
        fetched |= subtree;
      }
    }
  }
  return fetched.Without(resident);
}

FaultCounts& FaultCounts::operator+=(const FaultCounts& other) {
  faults += other.faults;
  batches += other.batches;
  blocks += other.blocks;
  moved += other.moved;
  return *this;
}

FaultServer::FaultServer(int max_faults_per_batch, std::optional<PrefetchTree> tree,
                         Residency& residency)
    : max_faults_(max_faults_per_batch), tree_(tree), residency_(residency) {}

FaultCounts FaultServer::Serve(std::span<const Touch> touches, int pages_per_block) {
  counts_ = {};
  for (const Touch& touch : touches) {
    ForEachBlock(touch.pages, pages_per_block, [&](std::size_t block, const PageMask& pages) {
      if (residency_.Missing(block, pages).any()) {
        TouchBlock(block, pages);
      }
    });
  }
  ServeBatch();
  return counts_;
}

void FaultServer::TouchBlock(std::size_t block, const PageMask& pages) {
  PageMask untouched = pages;
  while (true) {
    PageMask& asked = AskedOf(block);
    const PageMask missing = residency_.Missing(block, untouched).Without(asked);
    const PageMask taken = missing.First(max_faults_ - num_in_batch_);
    asked |= taken;
    num_in_batch_ += taken.count();
    if (num_in_batch_ < max_faults_) {
      return;
    }
    ServeBatch();
    untouched = missing.Without(taken);
    if (!untouched.any()) {
      return;
    }
  }
}

// Touches of one work may overlap: a page faults once in a batch.
PageMask& FaultServer::AskedOf(std::size_t block) {
  const auto known = std::ranges::find(batch_, block, &Entry::block);
  return known != batch_.end() ? known->pages : batch_.emplace_back(Entry{block, {}}).pages;
}

void FaultServer::ServeBatch() {
  for (const auto& [block, pages] : batch_) {
    if (!pages.any()) {
      continue;
    }
    counts_.faults += pages.count();
    ++counts_.blocks;
    const PageMask prefetched =
        tree_ ? PagesToFetch(*tree_, residency_.extent(block), residency_.resident(block), pages)
              : PageMask();
    counts_.moved += residency_.Bring(block, pages | prefetched);
  }
  counts_.batches += num_in_batch_ > 0 ? 1 : 0;
  batch_.clear();
  num_in_batch_ = 0;
}

}  // namespace orrery::memory::uvm
