#include "orrery/memory/join/launch_match.h"

#include <algorithm>
#include <optional>

#include "orrery/memory/join/launch_sequence.h"

namespace orrery::memory {
namespace {


using Values = std::span<const std::uint64_t>;

// A search for more edits would cost much memory, and runs that differ so much are not the same.
constexpr std::size_t kMaxEdits = 4096;
// How far the longer rest is looked at beyond the length of the shorter one.
constexpr std::size_t kSlack = 1024;

std::size_t CommonPrefix(Values first, Values second) {
  return static_cast<std::size_t>(std::ranges::mismatch(first, second).in1 - first.begin());
}

std::size_t CommonSuffix(Values first, Values second) {
  const std::size_t most = std::min(first.size(), second.size());
  std::size_t length = 0;
  while (length < most && first[first.size() - 1 - length] == second[second.size() - 1 - length]) {
    ++length;
  }
  return length;
}

class Aligner {
 public:
  Aligner(Values first, Values second) : first_(first), second_(second) {}

  SequenceAlignment Align() {
    const std::size_t prefix = CommonPrefix(first_, second_);
    AddRun(0, 0, prefix);
    const Values first_rest = Rest(first_, prefix, second_.size() - prefix);
    const Values second_rest = Rest(second_, prefix, first_.size() - prefix);
    const bool is_whole = prefix + first_rest.size() == first_.size() &&
                          prefix + second_rest.size() == second_.size();
    const std::size_t suffix = is_whole ? CommonSuffix(first_rest, second_rest) : 0;
    const Values first_middle = first_rest.first(first_rest.size() - suffix);
    const Values second_middle = second_rest.first(second_rest.size() - suffix);
    AddMiddle(first_middle, second_middle, prefix);
    AddRun(prefix + first_middle.size(), prefix + second_middle.size(), suffix);
    return std::move(result_);
  }

 private:
  // What comes behind the common beginning, not much longer than that of the other.
  static Values Rest(Values values, std::size_t prefix, std::size_t length_of_other) {
    const Values rest = values.subspan(prefix);
    return rest.first(std::min(rest.size(), length_of_other + kSlack));
  }

  void AddRun(std::size_t first, std::size_t second, std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) {
      Add(first + i, second + i);
    }
  }

  void AddMiddle(Values first, Values second, std::size_t offset) {
    if (first.empty() || second.empty()) {
      return;
    }
    const auto common = LongestCommonSubsequence(first, second, kMaxEdits);
    result_.is_cut = !common.has_value();
    for (const IndexPair& pair : common.value_or(std::vector<IndexPair>())) {
      Add(offset + pair.first, offset + pair.second);
    }
  }

  void Add(std::size_t first, std::size_t second) {
    result_.pairs.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(second)});
  }

  Values first_;
  Values second_;
  SequenceAlignment result_;
};

}  // namespace

SequenceAlignment AlignSequences(Values first, Values second) {
  return Aligner(first, second).Align();
}

LaunchMatch MatchLaunches(const trace::Trace& first, const trace::Trace& second) {
  LaunchMatch match{.partners = std::vector<RowId>(first.activities.size(), kNoRow),
                    .num_only_second = static_cast<std::int64_t>(second.activities.size())};
  for (const SequencePair& pair : PairSequences(first, second)) {
    const SequenceAlignment aligned = AlignSequences(pair.first.signatures, pair.second.signatures);
    for (const IndexPair& same : aligned.pairs) {
      match.partners[pair.first.rows[same.first]] = pair.second.rows[same.second];
    }
    match.num_only_second -= std::ssize(aligned.pairs);
    match.is_cut = match.is_cut || aligned.is_cut;
  }
  return match;
}

}  // namespace orrery::memory
