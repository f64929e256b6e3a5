#include "orrery/overlap/from_traces/join.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace orrery::overlap::from_traces {
namespace {

// Memory grows with the square of the edits; with more, the recordings are not of the same steps.
constexpr std::size_t kMostEdits = 6'000;
constexpr std::size_t kNamed = 10;

/// Numbers kernels by identity.
class Labels {
 public:
  explicit Labels(JoinBy by) : by_(by) {}

  [[nodiscard]] std::uint64_t Of(const RunKernel& kernel) {
    const std::string name = by_ == JoinBy::kWholeName ? kernel.name : FunctionName(kernel.name);
    return numbers_.emplace(Key{name, kernel.grid, kernel.block}, numbers_.size()).first->second;
  }

 private:
  using Size = std::array<std::int64_t, 3>;
  using Key = std::tuple<std::string, Size, Size>;

  JoinBy by_;
  std::map<Key, std::uint64_t> numbers_;
};

/// Positions of the kernels of one stream, in order of begin.
using Stream = std::vector<std::uint32_t>;
using StreamPair = std::pair<Stream, Stream>;

/// By index of the device among the used ones, so that rank 3 on GPU 3 matches rank 0 on GPU 0, and
/// number of the stream.
std::map<std::pair<std::size_t, std::int64_t>, Stream> StreamsOf(const RunKernels& run) {
  std::map<std::int32_t, std::size_t> place_of_device;
  for (const RunKernel& kernel : run.kernels) {
    place_of_device.emplace(kernel.device, 0);
  }
  std::size_t place = 0;
  for (auto& [device, of_device] : place_of_device) {
    of_device = place++;
  }
  std::map<std::pair<std::size_t, std::int64_t>, Stream> streams;
  for (std::uint32_t at = 0; at < run.kernels.size(); ++at) {
    const RunKernel& kernel = run.kernels[at];
    streams[{place_of_device[kernel.device], kernel.stream}].push_back(at);
  }
  return streams;
}

Stream WholeRun(const RunKernels& run) {
  Stream all(run.kernels.size());
  for (std::uint32_t at = 0; at < all.size(); ++at) {
    all[at] = at;
  }
  return all;
}

/// Longest first; equal ones in order of their first kernel.
void SortByLength(std::vector<Stream>& streams) {
  std::ranges::stable_sort(streams,
                           [](const Stream& a, const Stream& b) { return a.size() > b.size(); });
}

std::vector<StreamPair> PairStreams(const RunKernels& alone, const RunKernels& together) {
  auto of_alone = StreamsOf(alone);
  auto of_together = StreamsOf(together);
  if (of_alone.size() == 1 || of_together.size() == 1) {
    return {{WholeRun(alone), WholeRun(together)}};
  }
  std::vector<StreamPair> pairs;
  std::vector<Stream> rest_alone;
  for (auto& [key, stream] : of_alone) {
    if (const auto same = of_together.find(key); same != of_together.end()) {
      pairs.emplace_back(std::move(stream), std::move(same->second));
      of_together.erase(same);
    } else {
      rest_alone.push_back(std::move(stream));
    }
  }
  std::vector<Stream> rest_together;
  for (auto& [key, stream] : of_together) {
    rest_together.push_back(std::move(stream));
  }
  SortByLength(rest_alone);
  SortByLength(rest_together);
  rest_alone.resize(std::max(rest_alone.size(), rest_together.size()));
  rest_together.resize(rest_alone.size());
  for (std::size_t i = 0; i < rest_alone.size(); ++i) {
    pairs.emplace_back(std::move(rest_alone[i]), std::move(rest_together[i]));
  }
  return pairs;
}

std::vector<std::uint64_t> LabelsOf(const RunKernels& run, const Stream& stream, Labels& labels) {
  std::vector<std::uint64_t> of_stream;
  for (const std::uint32_t at : stream) {
    of_stream.push_back(labels.Of(run.kernels[at]));
  }
  return of_stream;
}

std::vector<std::uint32_t> Unmatched(std::size_t count, std::vector<std::uint32_t> matched) {
  std::ranges::sort(matched);
  std::vector<std::uint32_t> rest;
  for (std::uint32_t at = 0; at < count; ++at) {
    if (!std::ranges::binary_search(matched, at)) {
      rest.push_back(at);
    }
  }
  return rest;
}

std::string Named(const RunKernels& run, std::span<const std::uint32_t> positions,
                  std::string_view side) {
  std::string text;
  for (const std::uint32_t at : positions.first(std::min(positions.size(), kNamed))) {
    const RunKernel& kernel = run.kernels[at];
    text += fmt::format("\n  only {}: {} grid {}x{}x{}, number {} of its run", side,
                        FunctionName(kernel.name), kernel.grid[0], kernel.grid[1], kernel.grid[2],
                        at + 1);
  }
  if (positions.size() > kNamed) {
    text += fmt::format("\n  … and {} more", positions.size() - kNamed);
  }
  return text;
}

Status CheckShare(const Join& join, const RunKernels& alone, const RunKernels& together) {
  if (join.MatchedShare() >= kLeastMatched) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{:.1f} % of the kernels of both runs match and {:.0f} % are needed; "
                          "record the same steps of the same program in both{}{}",
                          100 * join.MatchedShare(), 100 * kLeastMatched,
                          Named(alone, join.only_alone, "alone"),
                          Named(together, join.only_together, "together")));
}

}  // namespace

double Join::MatchedShare() const {
  const auto matched_kernels = 2.0 * static_cast<double>(matched.size());
  const auto rest = static_cast<double>(only_alone.size() + only_together.size());
  return matched_kernels + rest > 0 ? matched_kernels / (matched_kernels + rest) : 0;
}

Result<Join> JoinKernels(const RunKernels& alone, const RunKernels& together, JoinBy by) {
  if (alone.kernels.empty() || together.kernels.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("the run {} communication has no compute kernels",
                            alone.kernels.empty() ? "without" : "with"));
  }
  Labels labels(by);
  Join join;
  for (const auto& [first, second] : PairStreams(alone, together)) {
    const auto common = LongestCommonSubsequence(LabelsOf(alone, first, labels),
                                                 LabelsOf(together, second, labels), kMostEdits);
    for (const IndexPair& pair : common.value_or(std::vector<IndexPair>{})) {
      join.matched.push_back({.first = first[pair.first], .second = second[pair.second]});
    }
  }
  std::ranges::sort(join.matched, {}, &IndexPair::second);
  std::vector<std::uint32_t> matched_alone;
  std::vector<std::uint32_t> matched_together;
  for (const IndexPair& pair : join.matched) {
    matched_alone.push_back(pair.first);
    matched_together.push_back(pair.second);
  }
  join.only_alone = Unmatched(alone.kernels.size(), std::move(matched_alone));
  join.only_together = Unmatched(together.kernels.size(), std::move(matched_together));
  ORRERY_TRY_STATUS(CheckShare(join, alone, together));
  return join;
}

}  // namespace orrery::overlap::from_traces
