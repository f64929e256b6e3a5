#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/memory/patterns/pattern_search.h"
#include "orrery/memory/patterns/patterns.h"

namespace orrery::memory::patterns {
namespace {

// Pages that see less than a tenth of the mean are cold.
constexpr double kColdShare = 0.1;

double Percent(std::int64_t part, std::int64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<AddressRange> TouchedOf(const ObjectUses& uses, const Use& use) {
  std::vector<AddressRange> touched;
  for (const Access& access : use.accesses) {
    const std::vector<AddressRange> reach = ReachOf(uses, use, access);
    touched.insert(touched.end(), reach.begin(), reach.end());
  }
  return Joined(std::move(touched));
}

void FindOverallocation(PatternSearch& search, const Use& use) {
  const std::int64_t bytes = search.uses().BytesOf(use);
  const std::int64_t touched = BytesOf(TouchedOf(search.uses(), use));
  if (Percent(touched, bytes) < search.options().touched_percent) {
    search.Add(Pattern::kOverallocation, use, bytes - touched, search.WholeLife(use)).detail =
        fmt::format("{:.1f} % of it is touched", Percent(touched, bytes));
  }
}

/// Accesses of each byte's page, added up over a life.
struct CountedRange {
  std::int64_t bytes = 0;
  std::int64_t accesses = 0;
};

std::vector<CountedRange> CountsOf(const ObjectUses& uses, const Use& use) {
  std::map<std::uint64_t, std::int64_t> change_at;
  for (const Access& access : use.accesses) {
    for (const AddressRange& range : PagesOf(uses, use, access)) {
      if (range.accesses > 0) {
        change_at[range.begin] += range.accesses;
        change_at[range.end] -= range.accesses;
      }
    }
  }
  std::vector<CountedRange> counts;
  std::int64_t accesses = 0;
  for (auto change = change_at.begin(); change != change_at.end(); ++change) {
    accesses += change->second;
    const auto next = std::next(change);
    if (accesses > 0 && next != change_at.end()) {
      counts.push_back({static_cast<std::int64_t>(next->first - change->first), accesses});
    }
  }
  return counts;
}

// Mean and deviation over the bytes that are touched.
void FindUnevenAccess(PatternSearch& search, const Use& use) {
  const std::vector<CountedRange> counts = CountsOf(search.uses(), use);
  double bytes = 0;
  double sum = 0;
  double squares = 0;
  for (const CountedRange& range : counts) {
    const auto size = static_cast<double>(range.bytes);
    const auto accesses = static_cast<double>(range.accesses);
    bytes += size;
    sum += size * accesses;
    squares += size * accesses * accesses;
  }
  if (bytes == 0) {
    return;
  }
  const double mean = sum / bytes;
  const double variation = std::sqrt(std::max(squares / bytes - mean * mean, 0.0)) / mean;
  if (variation <= search.options().uneven_variation) {
    return;
  }
  std::int64_t cold = 0;
  for (const CountedRange& range : counts) {
    cold += static_cast<double>(range.accesses) < kColdShare * mean ? range.bytes : 0;
  }
  search.Add(Pattern::kUnevenAccess, use, cold, search.WholeLife(use)).detail =
      fmt::format("deviation over mean {:.2f}", variation);
}

/// Slices of an object that launches use, as long as none overlaps another.
class Slices {
 public:
  /// Returns false when the ranges overlap a slice without being it.
  bool Add(const std::vector<AddressRange>& ranges) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> slice;
    for (const AddressRange& range : ranges) {
      slice.emplace_back(range.begin, range.end);
    }
    const auto first = slice_at_.find(slice.front().first);
    if (first != slice_at_.end() && slices_[first->second] == slice) {
      return true;
    }
    for (const auto& [begin, end] : slice) {
      if (OverlapsAny(begin, end)) {
        return false;
      }
    }
    for (const auto& [begin, end] : slice) {
      slice_at_[begin] = slices_.size();
      end_of_[begin] = end;
    }
    slices_.push_back(std::move(slice));
    largest_bytes_ = std::max(largest_bytes_, BytesOf(ranges));
    return true;
  }

  [[nodiscard]] std::size_t size() const { return slices_.size(); }

  [[nodiscard]] std::int64_t largest_bytes() const { return largest_bytes_; }

 private:
  [[nodiscard]] bool OverlapsAny(std::uint64_t begin, std::uint64_t end) const {
    const auto after = end_of_.lower_bound(begin);
    if (after != end_of_.end() && after->first < end) {
      return true;
    }
    return after != end_of_.begin() && std::prev(after)->second > begin;
  }

  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> slices_;
  std::map<std::uint64_t, std::size_t> slice_at_;
  std::map<std::uint64_t, std::uint64_t> end_of_;
  std::int64_t largest_bytes_ = 0;
};

// All accesses must have pages or an extent of their own.
void FindStructuredAccess(PatternSearch& search, const Use& use) {
  const ObjectUses& uses = search.uses();
  const std::int64_t bytes = uses.BytesOf(use);
  Slices slices;
  for (const Access& access : use.accesses) {
    const std::vector<AddressRange> reach = ReachOf(uses, use, access);
    if (BytesOf(reach) == bytes || !slices.Add(reach)) {
      return;
    }
  }
  if (slices.size() > 1) {
    search
        .Add(Pattern::kStructuredAccess, use, bytes - slices.largest_bytes(), search.WholeLife(use))
        .detail = fmt::format("{} slices that no launch mixes", slices.size());
  }
}

}  // namespace

void FindPagePatterns(PatternSearch& search) {
  for (const Use& use : search.uses().all()) {
    if (!use.accesses.empty() && search.IsLargeEnough(use)) {
      FindOverallocation(search, use);
      FindUnevenAccess(search, use);
      FindStructuredAccess(search, use);
    }
  }
}

}  // namespace orrery::memory::patterns
