#include "orrery/base/text/common_subsequence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace orrery {
namespace {

using Values = std::span<const std::uint64_t>;

// The furthest position in the first sequence on each diagonal (first - second position) with a
// given number of edits; diagonals -edits, -edits + 2, … edits.
using Reach = std::vector<std::int64_t>;

class EditSearch {
 public:
  EditSearch(Values first, Values second) : first_(first), second_(second) {}

  // Returns whether both ends were reached within the edits.
  bool Run(std::int64_t max_edits) {
    for (std::int64_t edits = 0; edits <= max_edits; ++edits) {
      reaches_.emplace_back();
      reaches_.back().reserve(static_cast<std::size_t>(edits) + 1);
      for (std::int64_t diagonal = -edits; diagonal <= edits; diagonal += 2) {
        const std::int64_t reached = Slide(Start(edits, diagonal), diagonal);
        reaches_.back().push_back(reached);
        if (reached >= Length(first_) && reached - diagonal >= Length(second_)) {
          return true;
        }
      }
    }
    return false;
  }

  // The equal pairs on the path found by Run, last first.
  std::vector<IndexPair> PairsBackwards() const {
    std::vector<IndexPair> pairs;
    std::int64_t reached = Length(first_);
    std::int64_t diagonal = Length(first_) - Length(second_);
    for (auto edits = static_cast<std::int64_t>(reaches_.size()) - 1; edits >= 0; --edits) {
      const std::int64_t start = Start(edits, diagonal);
      for (; reached > start; --reached) {
        pairs.push_back({static_cast<std::uint32_t>(reached - 1),
                         static_cast<std::uint32_t>(reached - 1 - diagonal)});
      }
      if (edits > 0) {
        const bool stepped_in_second = StepsInSecond(edits, diagonal);
        diagonal += stepped_in_second ? 1 : -1;
        reached = stepped_in_second ? start : start - 1;
      }
    }
    return pairs;
  }

 private:
  static std::int64_t Length(Values values) { return static_cast<std::int64_t>(values.size()); }

  std::int64_t Reached(std::int64_t edits, std::int64_t diagonal) const {
    if (diagonal < -edits || diagonal > edits) {
      return -1;
    }
    return reaches_[static_cast<std::size_t>(edits)]
                   [static_cast<std::size_t>((diagonal + edits) / 2)];
  }

  // Returns true if the best path to the diagonal skips a value of the second sequence.
  bool StepsInSecond(std::int64_t edits, std::int64_t diagonal) const {
    return diagonal == -edits || (diagonal != edits && Reached(edits - 1, diagonal - 1) <
                                                           Reached(edits - 1, diagonal + 1));
  }

  // Returns the position on the diagonal after the last edit, where the search continues.
  std::int64_t Start(std::int64_t edits, std::int64_t diagonal) const {
    if (edits == 0) {
      return 0;
    }
    return StepsInSecond(edits, diagonal) ? Reached(edits - 1, diagonal + 1)
                                          : Reached(edits - 1, diagonal - 1) + 1;
  }

  std::int64_t Slide(std::int64_t position, std::int64_t diagonal) const {
    while (position < Length(first_) && position - diagonal < Length(second_) &&
           first_[static_cast<std::size_t>(position)] ==
               second_[static_cast<std::size_t>(position - diagonal)]) {
      ++position;
    }
    return position;
  }

  Values first_;
  Values second_;
  std::vector<Reach> reaches_;
};

}  // namespace

std::optional<std::vector<IndexPair>> LongestCommonSubsequence(Values first, Values second,
                                                               std::size_t max_edits) {
  EditSearch search(first, second);
  const std::size_t useful_edits = std::min(max_edits, first.size() + second.size());
  if (!search.Run(static_cast<std::int64_t>(useful_edits))) {
    return std::nullopt;
  }
  std::vector<IndexPair> pairs = search.PairsBackwards();
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

}  // namespace orrery
