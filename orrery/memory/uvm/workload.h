#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"

// The input of the simulator of managed memory: plain numbers, built from a recording (collect.h)
// or by hand (WorkloadBuilder). Each piece of driver memory has pages of its own, so that memory
// that is freed and memory that takes its address later are never confused.

namespace orrery::memory::uvm {

/// The pages of one block as bits, the first page lowest. A block of 2 MiB has 512 pages of 4 KiB.
class PageMask {
 public:
  static constexpr int kMaxPages = 512;

  /// Pages from `begin` up to `end`, without it.
  [[nodiscard]] static PageMask Range(int begin, int end) {
    PageMask mask;
    mask.pages_.set();
    mask.pages_ >>= static_cast<std::size_t>(kMaxPages - (end - begin));
    mask.pages_ <<= static_cast<std::size_t>(begin);
    return mask;
  }

  [[nodiscard]] int count() const { return static_cast<int>(pages_.count()); }

  [[nodiscard]] bool any() const { return pages_.any(); }

  [[nodiscard]] bool Has(int page) const { return pages_[static_cast<std::size_t>(page)]; }

  /// The lowest `count` of its pages, or all where there are fewer.
  [[nodiscard]] PageMask First(int count) const {
    PageMask first = *this;
    int excess = this->count() - count;
    for (std::size_t page = kMaxPages; excess > 0 && page-- > 0;) {
      excess -= first.pages_[page] ? 1 : 0;
      first.pages_.reset(page);
    }
    return first;
  }

  PageMask& operator|=(const PageMask& other) {
    pages_ |= other.pages_;
    return *this;
  }

  friend PageMask operator|(PageMask lhs, const PageMask& rhs) { return lhs |= rhs; }

  friend PageMask operator&(PageMask lhs, const PageMask& rhs) {
    lhs.pages_ &= rhs.pages_;
    return lhs;
  }

  /// Its pages that are not in `other`.
  [[nodiscard]] PageMask Without(const PageMask& other) const {
    PageMask rest = *this;
    rest.pages_ &= ~other.pages_;
    return rest;
  }

  bool operator==(const PageMask&) const = default;

 private:
  std::bitset<kMaxPages> pages_;
};

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

/// A unit of prefetching: a tensor, a segment, an allocation.
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

/// Bytes at an address of the recorded process.
struct AddressRange {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
};

/// Puts a workload together: roots and objects first, then works in order with their touches.
class WorkloadBuilder {
 public:
  WorkloadBuilder(std::int64_t page_bytes, std::int64_t block_bytes);

  /// Gives the memory pages of its own, at the same place in a block as its address has.
  std::size_t AddRoot(const AddressRange& memory, RowId row = kNoRow);

  /// Adds the part of the memory that is inside the root. Returns nothing if there is none.
  std::optional<std::size_t> AddObject(std::size_t root, const AddressRange& memory,
                                       RowId row = kNoRow);

  /// Sets the object that policies at object level use in place of `object`.
  void SetContainer(std::size_t object, std::size_t container) {
    workload_.objects[object].container = container;
  }

  /// Says that the object holds data from the begin.
  void Fill(std::size_t object) { workload_.filled.push_back(workload_.objects[object].pages); }

  /// The root is freed before the next work.
  void EndRoot(std::size_t root) { workload_.roots[root].end_work = workload_.works.size(); }

  /// Begins an occurrence of an operator; its place among those of its name is counted.
  std::size_t AddOperator(std::string_view name);

  /// Works come in order; the first of an operator is where it begins.
  void AddWork(std::size_t op, std::int64_t duration_ns);

  /// Adds a touch of the last work.
  void AddTouch(std::size_t object, const AddressRange& memory);
  void AddTouch(std::size_t object);

  [[nodiscard]] Workload& workload() { return workload_; }

  /// Orders what operators touch. The builder is empty then.
  [[nodiscard]] Workload Finish();

 private:
  void AddTouch(std::size_t object, const PageRange& pages);
  [[nodiscard]] PageRange PagesOf(std::size_t root, const AddressRange& memory) const;

  std::int64_t block_bytes_;
  Workload workload_;
  std::vector<AddressRange> memory_of_root_;
  std::map<std::string, std::int64_t, std::less<>> occurrences_;
};

}  // namespace orrery::memory::uvm
