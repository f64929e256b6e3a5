#include "orrery/memory/uvm/residency.h"

#include <algorithm>

#include "orrery/base/check.h"

namespace orrery::memory::uvm {

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
      extent_(workload.NumBlocks()),
      resident_(workload.NumBlocks()),
      has_data_(workload.NumBlocks()),
      root_(workload.NumBlocks(), 0),
      has_chunk_(workload.NumBlocks(), 0),
      was_evicted_(workload.NumBlocks(), 0),
      has_bounced_(workload.NumBlocks(), 0),
      order_(workload.NumBlocks()),
      of_root_(workload.roots.size()) {
  ORRERY_CHECK(capacity_bytes >= workload.page_bytes * workload.pages_per_block,
               "the capacity holds one block");
  for (std::size_t root = 0; root < workload.roots.size(); ++root) {
    ForEachBlock(workload.roots[root].pages, workload.pages_per_block,
                 [&](std::size_t block, const PageMask& pages) {
                   extent_[block] = pages;
                   root_[block] = root;
                 });
  }
  for (const PageRange& range : workload.filled) {
    ForEachBlock(range, workload.pages_per_block,
                 [&](std::size_t block, const PageMask& pages) { has_data_[block] |= pages; });
  }
}

Movement Residency::Bring(std::size_t block, const PageMask& pages) {
  const PageMask missing = Missing(block, pages & extent_[block]);
  if (has_chunk_[block] != 0) {
    MarkUsed(block);
  }
  if (!missing.any()) {
    return {};
  }
  Movement moved = has_chunk_[block] == 0 ? GiveChunk(block) : Movement();
  Movement in{.pages_in = missing.count(), .pages_copied = (missing & has_data_[block]).count()};
  of_root_[root_[block]] += in;
  moved += in;
  resident_[block] |= missing;
  has_data_[block] |= missing;
  return moved;
}

Movement Residency::GiveChunk(std::size_t block) {
  Movement moved;
  while (used_bytes_ + ChunkBytes(block) > capacity_bytes_) {
    moved += EvictOldest();
  }
  used_bytes_ += ChunkBytes(block);
  has_chunk_[block] = 1;
  order_.Append(block);
  if (was_evicted_[block] != 0) {
    const Movement back{.bounces = 1};
    has_bounced_[block] = 1;
    was_evicted_[block] = 0;
    of_root_[root_[block]] += back;
    moved += back;
  }
  return moved;
}

void Residency::MarkUsed(std::size_t block) {
  if (IsWhole(block)) {
    order_.Remove(block);
    order_.Append(block);
  }
}

Movement Residency::EvictOldest() {
  const std::size_t block = order_.Oldest();
  const Movement out{.pages_out = resident_[block].count(), .evictions = 1};
  of_root_[root_[block]] += out;
  was_evicted_[block] = 1;
  TakeChunk(block);
  return out;
}

void Residency::TakeChunk(std::size_t block) {
  used_bytes_ -= ChunkBytes(block);
  has_chunk_[block] = 0;
  order_.Remove(block);
  resident_[block] = {};
}

void Residency::Release(std::size_t root) {
  ForEachBlock(workload_->roots[root].pages, workload_->pages_per_block,
               [&](std::size_t block, const PageMask&) {
                 if (has_chunk_[block] != 0) {
                   TakeChunk(block);
                 }
                 has_data_[block] = {};
                 was_evicted_[block] = 0;
               });
}

std::int64_t Residency::NumBouncedBlocks() const {
  return std::ranges::count(has_bounced_, std::uint8_t{1});
}

}  // namespace orrery::memory::uvm
