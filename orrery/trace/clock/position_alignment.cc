#include "orrery/trace/clock/position_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/math/statistics.h"
#include "orrery/base/text/common_subsequence.h"

namespace orrery::trace {
namespace {

using Items = std::span<const SequenceItem>;

constexpr std::int64_t kFirstRadius = 16;
constexpr std::size_t kMaxScoredShifts = 512;
constexpr std::int64_t kMaxSamples = 1024;
constexpr std::size_t kMaxEdits = 2048;
constexpr double kSameJitterNs = 20'000;  // ends of one collective differ by this much anyway
constexpr double kWithin = 1.2;
constexpr double kTightShareOfInterval = 0.1;

std::int64_t Length(Items items) {
  return static_cast<std::int64_t>(items.size());
}

std::vector<std::uint64_t> Signatures(Items items) {
  std::vector<std::uint64_t> signatures;
  signatures.reserve(items.size());
  for (const SequenceItem& item : items) {
    signatures.push_back(item.signature);
  }
  return signatures;
}

// For each position of `text`: how many items from there on equal the first ones of `pattern`
// (the Z function of pattern and text in one).
std::vector<std::int64_t> PrefixMatches(Items pattern, Items text) {
  std::vector<std::uint64_t> joined = Signatures(pattern);
  const std::vector<std::uint64_t> tail = Signatures(text);
  joined.insert(joined.end(), tail.begin(), tail.end());
  std::vector<std::int64_t> matches(joined.size(), 0);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::size_t i = 1; i < joined.size(); ++i) {
    std::size_t match =
        i < end ? std::min(end - i, static_cast<std::size_t>(matches[i - begin])) : 0;
    while (i + match < joined.size() && joined[match] == joined[i + match]) {
      ++match;
    }
    if (i + match > end) {
      begin = i;
      end = i + match;
    }
    matches[i] = static_cast<std::int64_t>(match);
  }
  matches.erase(matches.begin(), matches.begin() + Length(pattern));
  return matches;
}

// The items of `other` that have a counterpart in the reference.
struct Overlap {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t length() const { return end - begin; }
};

Overlap OverlapOf(Items reference, Items other, std::int64_t shift) {
  return {std::max<std::int64_t>(0, -shift), std::min(Length(other), Length(reference) - shift)};
}

// Few pairs scatter little by chance, so a shift must leave three or half of the shorter sequence.
std::int64_t LeastOverlap(Items reference, Items other) {
  const std::int64_t shorter = std::min(Length(reference), Length(other));
  return std::min(shorter, std::max<std::int64_t>(3, (shorter + 1) / 2));
}

struct Candidate {
  std::int64_t shift = 0;
  double jitter_ns = 0;  // mean distance of the end differences from their median
  double offset_ns = 0;  // that median, without its sign
};

Candidate Score(Items reference, Items other, std::int64_t shift) {
  const Overlap overlap = OverlapOf(reference, other, shift);
  const std::int64_t num_samples = std::min(kMaxSamples, overlap.length());
  std::vector<double> differences;
  differences.reserve(static_cast<std::size_t>(num_samples));
  for (std::int64_t sample = 0; sample < num_samples; ++sample) {
    const std::int64_t item = overlap.begin + sample * overlap.length() / num_samples;
    differences.push_back(
        static_cast<double>(other[static_cast<std::size_t>(item)].end_ns -
                            reference[static_cast<std::size_t>(item + shift)].end_ns));
  }
  const double median = Median(differences);
  double distance = 0;
  for (const double difference : differences) {
    distance += std::abs(difference - median);
  }
  return {shift, distance / static_cast<double>(num_samples), std::abs(median)};
}

double TypicalInterval(Items items) {
  std::vector<double> intervals;
  const std::int64_t stride = std::max<std::int64_t>(1, Length(items) / kMaxSamples);
  for (std::int64_t i = 1; i < Length(items); i += stride) {
    const auto item = static_cast<std::size_t>(i);
    intervals.push_back(static_cast<double>(items[item].end_ns - items[item - 1].end_ns));
  }
  return intervals.empty() ? 0 : Median(intervals);
}

class ShiftSearch {
 public:
  ShiftSearch(Items reference, Items other)
      : reference_(reference),
        other_(other),
        in_reference_(PrefixMatches(other, reference)),
        in_other_(PrefixMatches(reference, other)),
        tight_ns_(kTightShareOfInterval * TypicalInterval(reference)) {}

  // Collects the agreeing shifts up to `radius`; returns whether one of them fits in time.
  bool Extend(std::int64_t radius) {
    for (; next_distance_ <= radius; ++next_distance_) {
      Try(next_distance_);
      if (next_distance_ > 0) {
        Try(-next_distance_);
      }
    }
    return has_tight_;
  }

  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

  [[nodiscard]] bool cut() const { return cut_; }

 private:
  void Try(std::int64_t shift) {
    if (!Agrees(shift)) {
      return;
    }
    if (candidates_.size() == kMaxScoredShifts) {
      cut_ = true;
      return;
    }
    candidates_.push_back(Score(reference_, other_, shift));
    has_tight_ = has_tight_ || candidates_.back().jitter_ns <= tight_ns_;
  }

  [[nodiscard]] bool Agrees(std::int64_t shift) const {
    const std::int64_t length = OverlapOf(reference_, other_, shift).length();
    if (length < LeastOverlap(reference_, other_)) {
      return false;
    }
    return shift >= 0 ? in_reference_[static_cast<std::size_t>(shift)] >= length
                      : in_other_[static_cast<std::size_t>(-shift)] >= length;
  }

  Items reference_;
  Items other_;
  std::vector<std::int64_t> in_reference_;
  std::vector<std::int64_t> in_other_;
  double tight_ns_;
  std::vector<Candidate> candidates_;
  std::int64_t next_distance_ = 0;
  bool has_tight_ = false;
  bool cut_ = false;
};

// Keeps the candidates that scatter about as little as the best, smallest offset first.
std::vector<Candidate> Plausible(std::vector<Candidate> candidates) {
  double least = candidates.front().jitter_ns;
  for (const Candidate& candidate : candidates) {
    least = std::min(least, candidate.jitter_ns);
  }
  const double limit = std::max(kWithin * least, kSameJitterNs);
  std::erase_if(candidates, [&](const Candidate& c) { return c.jitter_ns > limit; });
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.offset_ns < b.offset_ns; });
  return candidates;
}

PositionAlignment Choose(const std::vector<Candidate>& candidates, const StepHints& hints) {
  std::vector<Candidate> rivals = Plausible(candidates);
  const double limit = kWithin * rivals.front().offset_ns;
  std::erase_if(rivals, [&](const Candidate& c) { return c.offset_ns > limit; });
  PositionAlignment alignment{.method = PositionAlignment::Method::kShift,
                              .ambiguous = rivals.size() > 1,
                              .shift = rivals.front().shift};
  for (const Candidate& rival : rivals) {
    if (alignment.ambiguous && hints.shift_by_steps == rival.shift) {
      alignment.ambiguous = false;
      alignment.shift = rival.shift;
    }
  }
  return alignment;
}

std::size_t NumDisagreements(Items reference, Items other) {
  std::size_t disagreements = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    disagreements += reference[i].signature != other[i].signature ? 1 : 0;
  }
  return disagreements;
}

PositionAlignment FromPairs(std::span<const IndexPair> pairs, Items reference, Items other) {
  PositionAlignment alignment;
  if (2 * pairs.size() < std::min(reference.size(), other.size())) {
    return alignment;
  }
  alignment.method = PositionAlignment::Method::kSubsequence;
  alignment.positions.assign(other.size(), kNoPosition);
  for (const IndexPair& pair : pairs) {
    alignment.positions[pair.second] = pair.first;
  }
  return alignment;
}

// A pair that disagrees counts as two edits; as many pairs as edits explain, stay as they stand.
PositionAlignment AlignWithGaps(Items reference, Items other) {
  const bool same_length = reference.size() == other.size();
  const std::size_t pairs_as_edits = same_length ? 2 * NumDisagreements(reference, other) : 0;
  const auto pairs = LongestCommonSubsequence(Signatures(reference), Signatures(other), kMaxEdits);
  const std::size_t edits =
      pairs ? reference.size() + other.size() - 2 * pairs->size() : kMaxEdits + 1;
  if (same_length && pairs_as_edits <= edits && pairs_as_edits <= reference.size()) {
    return {.method = PositionAlignment::Method::kShift};
  }
  if (!pairs) {
    return {.search_cut = true};
  }
  return FromPairs(*pairs, reference, other);
}

}  // namespace

std::int64_t PositionAlignment::PositionOf(std::size_t item) const {
  switch (method) {
    case Method::kShift:
      return static_cast<std::int64_t>(item) + shift;
    case Method::kSubsequence:
      return positions[item];
    case Method::kNone:
      break;
  }
  return kNoPosition;
}

PositionAlignment AlignPositions(Items reference, Items other, const StepHints& hints) {
  if (reference.empty() || other.empty()) {
    return {};
  }
  ShiftSearch search(reference, other);
  const std::int64_t any = std::max(Length(reference), Length(other)) - 1;
  for (const std::int64_t radius : {kFirstRadius, hints.items_per_step, any}) {
    if (search.Extend(std::min(radius, any))) {
      break;
    }
  }
  if (search.candidates().empty()) {
    return AlignWithGaps(reference, other);
  }
  PositionAlignment alignment = Choose(search.candidates(), hints);
  alignment.search_cut = search.cut();
  return alignment;
}

}  // namespace orrery::trace
