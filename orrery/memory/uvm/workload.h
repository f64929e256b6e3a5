#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "orrery/memory/uvm/page_mask.h"
#include "orrery/base/columns.h"

// What the simulator of managed memory simulates: plain numbers, made of a recording (collect.h) or by
// hand (workload_builder.h). Each piece of driver memory has pages of its own, so that memory that
// is freed and memory that takes its address later are never confused.

namespace orrery::memory::uvm {

inline constexpr std::size_t kNoIndex = std::numeric_limits<std::size_t>::max();

/// Pages of the simulated address space. Blocks begin at multiples of the pages of a block.
struct PageRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t end() const { return first + count; }

  bool operator==(const PageRange&) const = default;
};

/// A piece of managed memory that lies in no other.
struct Root {
  PageRange pages;
  std::size_t end_work = kNoIndex;  // freed before this work; kNoIndex: never
  RowId row = kNoRow;
};

/// What is prefetched as one: a tensor, a segment, an allocation.
struct Object {
  PageRange pages;
  std::size_t root = 0;
  std::size_t container = kNoIndex;     // Objects: what prefetch at object level takes in its place
  std::size_t first_operator = 0;       // alive when operators from here …
  std::size_t end_operator = kNoIndex;  // … to before this one begin
  RowId row = kNoRow;
};

struct Touch {
  PageRange pages;
  std::size_t object = 0;
};

/// A launch, copy or set.
struct Work {
  std::size_t op = 0;
  std::int64_t duration_ns = 0;
  std::size_t first_touch = 0;
  std::size_t num_touches = 0;
};

/// One occurrence of an operator, in the order of their first work.
struct Operator {
  std::string name;
  std::int64_t occurrence = 0;  // among those of its name, from 0
  std::size_t first_work = 0;
  std::vector<std::size_t> objects = {};  // the union over its works, each once, ascending
};

struct Workload {
  std::int64_t page_bytes = 0;
  int pages_per_block = 0;
  std::vector<Root> roots = {};
  std::vector<Object> objects = {};
  std::vector<PageRange> filled = {};  // hold data from the begin, on the host
  std::vector<Operator> operators = {};
  std::vector<Work> works = {};
  std::vector<Touch> touches = {};
  std::int64_t footprint_bytes = 0;  // the most that is alive at once

  [[nodiscard]] std::size_t NumBlocks() const {
    return roots.empty() ? 0
                         : static_cast<std::size_t>(
                               (roots.back().pages.end() + pages_per_block - 1) / pages_per_block);
  }
};

/// Calls `visit(block, mask)` for the blocks that a range lies in, ascending.
template <typename Visit>
void ForEachBlock(const PageRange& range, int pages_per_block, Visit&& visit) {
  std::int64_t page = range.first;
  while (page < range.end()) {
    const std::int64_t block = page / pages_per_block;
    const std::int64_t base = block * pages_per_block;
    const std::int64_t end =
        range.end() < base + pages_per_block ? range.end() : base + pages_per_block;
    visit(static_cast<std::size_t>(block),
          PageMask::Range(static_cast<int>(page - base), static_cast<int>(end - base)));
    page = end;
  }
}

}  // namespace orrery::memory::uvm
