#include "orrery/memory/uvm/faults.h"

#include <algorithm>

namespace orrery::memory::uvm {

FaultFigures& FaultFigures::operator+=(const FaultFigures& other) {
  faults += other.faults;
  batches += other.batches;
  blocks += other.blocks;
  moved += other.moved;
  return *this;
}

FaultServer::FaultServer(int max_faults_per_batch, std::optional<PrefetchTree> tree,
                         Residency& residency)
    : max_faults_(max_faults_per_batch), tree_(tree), residency_(residency) {}

FaultFigures FaultServer::Serve(std::span<const Touch> touches, int pages_per_block) {
  figures_ = {};
  for (const Touch& touch : touches) {
    ForEachBlock(touch.pages, pages_per_block, [&](std::size_t block, const PageMask& pages) {
      if (residency_.Missing(block, pages).any()) {
        TouchBlock(block, pages);
      }
    });
  }
  ServeBatch();
  return figures_;
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

// Touches of one work may overlap: a page is asked for once a batch.
PageMask& FaultServer::AskedOf(std::size_t block) {
  const auto known = std::ranges::find(batch_, block, &Entry::block);
  return known != batch_.end() ? known->pages : batch_.emplace_back(Entry{block, {}}).pages;
}

void FaultServer::ServeBatch() {
  for (const auto& [block, pages] : batch_) {
    if (!pages.any()) {
      continue;
    }
    figures_.faults += pages.count();
    ++figures_.blocks;
    const PageMask prefetched =
        tree_ ? PagesToFetch(*tree_, residency_.extent(block), residency_.resident(block), pages)
              : PageMask();
    figures_.moved += residency_.Bring(block, pages | prefetched);
  }
  figures_.batches += num_in_batch_ > 0 ? 1 : 0;
  batch_.clear();
  num_in_batch_ = 0;
}

}  // namespace orrery::memory::uvm
