#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace orrery::memory {

/// Addresses from `begin` up to, not including, `end`.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::int64_t size() const {
    return end > begin ? static_cast<std::int64_t>(end - begin) : 0;
  }

  bool operator==(const ByteRange&) const = default;
};

/// Returns the range of `bytes` from `address`; it ends with the address space.
[[nodiscard]] ByteRange RangeOf(std::uint64_t address, std::int64_t bytes);

/// Returns the range of pages from `address`, whatever numbers a damaged file has.
[[nodiscard]] ByteRange RangeOfPages(std::uint64_t address, std::int64_t num_pages,
                                     std::int64_t page_bytes);

/// Returns what two ranges share; empty if nothing.
[[nodiscard]] ByteRange Intersection(const ByteRange& a, const ByteRange& b);

/// Returns how many different bytes lie in the ranges. Costs a sort; reorders them.
[[nodiscard]] std::int64_t UnionBytes(std::vector<ByteRange>& ranges);

/// Counts the different bytes in ranges that are added and removed. Adding or removing costs a step
/// for each end of another range inside, so ranges in ranges are cheap to change from the inside.
class CoveredBytes {
 public:
  void Add(const ByteRange& range);

  /// The range must have been added.
  void Remove(const ByteRange& range);

  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  using Depths = std::map<std::uint64_t, std::int64_t>;

  Depths::iterator SplitAt(std::uint64_t address);
  Depths::iterator SplitBehind(Depths::iterator part, std::uint64_t end);
  void Join(Depths::iterator at);
  void Change(const ByteRange& range, std::int64_t by);

  // The number of ranges that hold the bytes from a key to the next.
  Depths depth_from_;
  std::int64_t size_ = 0;
};

}  // namespace orrery::memory
