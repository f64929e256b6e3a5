#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/overlap/from_traces/derived_pairs.h"
#include "orrery/overlap/nsight_compute.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::overlap::from_traces {
namespace {

std::int64_t KnownProduct(const std::array<std::int64_t, 3>& numbers) {
  std::int64_t product = 1;
  for (const std::int64_t number : numbers) {
    product *= std::clamp<std::int64_t>(number, 0, 1 << 20);
  }
  return product;
}

RunKernel KernelOf(const trace::Trace& trace, RowId activity) {
  RunKernel kernel{.name = std::string(trace.Text(trace.activities.name[activity])),
                   .begin_ns = trace.activities.begin_ns[activity],
                   .duration_ns = trace.activities.duration_ns[activity]};
  if (const RowId track = trace.activities.track[activity]; track != kNoRow) {
    kernel.device = std::max(trace.tracks.device[track], 0);
    kernel.stream = trace.tracks.thread[track];
  }
  const trace::LaunchShapes& shapes = trace.launch_shapes;
  if (const RowId row = trace.activities.shape[activity]; row != kNoRow) {
    kernel.grid = {shapes.grid_x[row], shapes.grid_y[row], shapes.grid_z[row]};
    kernel.block = {shapes.block_x[row], shapes.block_y[row], shapes.block_z[row]};
    kernel.shape = {
        .blocks = KnownProduct(kernel.grid),
        .threads = static_cast<int>(std::min<std::int64_t>(KnownProduct(kernel.block), 1 << 20)),
        .registers = std::max(shapes.registers_per_thread[row], 0),
        .shared_bytes = static_cast<int>(
            std::clamp<std::int64_t>(shapes.shared_memory_bytes[row], 0, 1 << 30))};
  }
  return kernel;
}

/// "RING" and "LL" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage…)": words
/// between underscores before the parameters.
std::string WordOf(std::string_view name, std::initializer_list<std::string_view> words) {
  for (const auto part : name.substr(0, name.find('(')) | std::views::split('_')) {
    const std::string word(part.begin(), part.end());
    if (std::ranges::find(words, word) != words.end()) {
      return word;
    }
  }
  return {};
}

void AddCollective(const trace::Trace& trace, RowId collective, RunCommunication& communication) {
  if (collective == kNoRow) {
    return;
  }
  const trace::Collectives& calls = trace.collectives;
  if (calls.kind[collective] != CollectiveKind::kUnknown) {
    communication.collective = CollectiveKindName(calls.kind[collective]);
  }
  communication.bytes = std::max(calls.in_bytes[collective], calls.out_bytes[collective]);
  if (const RowId group = calls.group[collective]; group != kNoRow) {
    communication.ranks = trace.process_groups.num_ranks[group];
  }
}

RunCommunication CommunicationOf(const trace::Trace& trace, RowId activity) {
  const RunKernel kernel = KernelOf(trace, activity);
  RunCommunication communication{
      .name = kernel.name,
      .algorithm = WordOf(kernel.name, {"RING", "TREE", "NVLS", "COLLNET", "PAT"}),
      .protocol = WordOf(kernel.name, {"LL", "LL128", "SIMPLE"}),
      .channels = kernel.shape.blocks,
      .threads = kernel.shape.threads,
      .device = kernel.device,
      .begin_ns = kernel.begin_ns,
      .duration_ns = kernel.duration_ns};
  const auto told = trace::ClassifyCommunicationKernel(kernel.name);
  if (told && told->kind != CollectiveKind::kUnknown) {
    communication.collective = CollectiveKindName(told->kind);
  }
  AddCollective(trace, trace.activities.collective[activity], communication);
  return communication;
}

/// Tools write anonymous namespaces differently; their parentheses are not parameters.
std::string WithoutAnonymous(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string rest(name);
  for (std::size_t at = rest.find(kAnonymous); at != std::string::npos;
       at = rest.find(kAnonymous)) {
    rest.erase(at, kAnonymous.size());
  }
  return rest;
}

// Memory grows with the square of the edits; with more, the recordings are not of the same steps.
constexpr std::size_t kMostEdits = 6'000;
constexpr std::size_t kNamed = 10;

class Labels {
 public:
  explicit Labels(JoinBy by) : by_(by) {}

  std::uint64_t Of(const RunKernel& kernel) {
    const std::string name = by_ == JoinBy::kWholeName ? kernel.name : FunctionName(kernel.name);
    return numbers_.emplace(Key{name, kernel.grid, kernel.block}, numbers_.size()).first->second;
  }

 private:
  using Size = std::array<std::int64_t, 3>;
  using Key = std::tuple<std::string, Size, Size>;

  JoinBy by_;
  std::map<Key, std::uint64_t> numbers_;
};

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
  std::iota(all.begin(), all.end(), std::uint32_t{0});
  return all;
}

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
  return Invalid(
      "{:.1f} % of the kernels of both runs match and {:.0f} % are needed; "
      "record the same steps of the same program in both{}{}",
      100 * join.MatchedShare(), 100 * kLeastMatched, Named(alone, join.only_alone, "alone"),
      Named(together, join.only_together, "together"));
}

}  // namespace

RunKernels KernelsOf(const trace::Trace& trace) {
  const std::vector<trace::KernelClass> classes = trace::ClassifyActivities(trace);
  RunKernels run;
  for (RowId activity = 0; activity < trace.activities.size(); ++activity) {
    if (trace.activities.kind[activity] != trace::ActivityKind::kKernel ||
        trace.activities.duration_ns[activity] <= 0) {
      continue;
    }
    if (classes[activity] == trace::KernelClass::kCommunication) {
      run.communications.push_back(CommunicationOf(trace, activity));
    } else {
      run.kernels.push_back(KernelOf(trace, activity));
    }
  }
  return run;
}

RunKernels KernelsOf(const CountedKernels& counted) {
  RunKernels run;
  std::int64_t begin_ns = 0;
  for (const CountedKernel& kernel : counted.kernels) {
    if (!(kernel.duration_us > 0) || kernel.duration_us > 1e12 ||
        trace::ClassifyCommunicationKernel(kernel.name)) {
      continue;
    }
    const std::int64_t duration_ns =
        std::max<std::int64_t>(std::llround(kernel.duration_us * 1e3), 1);
    run.kernels.push_back({.name = kernel.name,
                           .grid = kernel.grid,
                           .block = kernel.block,
                           .shape = kernel.shape,
                           .begin_ns = begin_ns,
                           .duration_ns = duration_ns});
    begin_ns += duration_ns;
  }
  return run;
}

std::string FunctionName(std::string_view kernel) {
  const std::string name = WithoutAnonymous(kernel);
  std::string flat;  // without angle brackets and their contents
  int depth = 0;
  for (const char c : name) {
    depth += c == '<' ? 1 : 0;
    if (depth == 0) {
      if (c == '(') {
        break;
      }
      flat += c;
    }
    depth -= c == '>' && depth > 0 ? 1 : 0;
  }
  flat.erase(flat.find_last_not_of(' ') + 1);
  const std::size_t begin = flat.find_last_of(" :");
  const std::string function = begin == std::string::npos ? flat : flat.substr(begin + 1);
  return function.empty() ? std::string(kernel) : function;
}

double Join::MatchedShare() const {
  const auto matched_kernels = 2.0 * static_cast<double>(matched.size());
  const auto rest = static_cast<double>(only_alone.size() + only_together.size());
  return matched_kernels + rest > 0 ? matched_kernels / (matched_kernels + rest) : 0;
}

Result<Join> JoinKernels(const RunKernels& alone, const RunKernels& together, JoinBy by) {
  if (alone.kernels.empty() || together.kernels.empty()) {
    return Invalid("the run {} communication has no compute kernels",
                   alone.kernels.empty() ? "without" : "with");
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
