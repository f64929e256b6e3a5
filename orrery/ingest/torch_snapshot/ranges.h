#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace orrery::ingest::torch_snapshot {

/// An address range with a value of type T.
template <typename T>
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  T value = {};
};

/// Address ranges that do not overlap. Segments that grow and shrink page by page are added and
/// removed in other pieces than they came in, so removing may split them.
template <typename T>
class Ranges {
 public:
  /// Adds [begin, end) and removes what was there.
  void Add(std::uint64_t begin, std::uint64_t end, T value) {
    Remove(begin, end);
    if (begin < end) {
      range_at_[begin] = {begin, end, std::move(value)};
    }
  }

  /// Removes [begin, end); returns the pieces that were cut, whole as they were before. What of
  /// them lies outside stays, with the same value.
  std::vector<Range<T>> Remove(std::uint64_t begin, std::uint64_t end) {
    std::vector<Range<T>> cut;
    if (begin >= end) {
      return cut;
    }
    auto next = range_at_.upper_bound(begin);
    if (next != range_at_.begin() && std::prev(next)->second.end > begin) {
      --next;
    }
    while (next != range_at_.end() && next->first < end) {
      cut.push_back(next->second);
      next = range_at_.erase(next);
    }
    for (const Range<T>& piece : cut) {
      if (piece.begin < begin) {
        range_at_[piece.begin] = {piece.begin, begin, piece.value};
      }
      if (piece.end > end) {
        range_at_[end] = {end, piece.end, piece.value};
      }
    }
    return cut;
  }

  /// Returns the piece that holds `address`, or null.
  [[nodiscard]] Range<T>* Find(std::uint64_t address) {
    const auto next = range_at_.upper_bound(address);
    if (next == range_at_.begin()) {
      return nullptr;
    }
    Range<T>& piece = std::prev(next)->second;
    return address < piece.end ? &piece : nullptr;
  }

  /// All pieces by address.
  [[nodiscard]] std::map<std::uint64_t, Range<T>>& all() { return range_at_; }

 private:
  std::map<std::uint64_t, Range<T>> range_at_;
};

}  // namespace orrery::ingest::torch_snapshot
