#include "orrery/memory/timeline/comparison.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/base/text/number_list.h"
#include "orrery/memory/timeline/attribution.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::memory::timeline {
namespace {

constexpr std::size_t kMaxEdits = 20'000;

/// Highest values of a timeline in parts that follow each other; a part begins with what the one
/// before it left.
class HighestByPart {
 public:
  explicit HighestByPart(std::size_t num_parts) : highest_(num_parts, -1), last_(num_parts, -1) {}

  void Add(std::size_t part, std::int64_t bytes) {
    highest_[part] = std::max(highest_[part], bytes);
    last_[part] = bytes;
  }

  [[nodiscard]] std::vector<std::int64_t> Finish() {
    std::int64_t carried = 0;
    for (std::size_t part = 0; part < highest_.size(); ++part) {
      highest_[part] = std::max(highest_[part], carried);
      carried = last_[part] < 0 ? carried : last_[part];
    }
    return std::move(highest_);
  }

 private:
  std::vector<std::int64_t> highest_;
  std::vector<std::int64_t> last_;
};

/// The steps of a recording, else all of it.
std::pair<std::int64_t, std::int64_t> WindowOf(const AlignedSide& side) {
  const trace::Steps& steps = side.trace->steps;
  if (!steps.empty()) {
    const RowId last = static_cast<RowId>(steps.size() - 1);
    return {steps.begin_ns.front(), steps.begin_ns[last] + steps.duration_ns[last]};
  }
  const std::vector<Point>& points = side.timeline->points;
  return {points.front().time_ns, points.back().time_ns};
}

std::vector<std::int64_t> ByProgress(const AlignedSide& side, std::size_t num_moments) {
  const auto [begin_ns, end_ns] = WindowOf(side);
  const auto length = static_cast<double>(std::max<std::int64_t>(end_ns - begin_ns, 1));
  HighestByPart highest(num_moments);
  for (const Point& point : side.timeline->points) {
    const double share =
        std::clamp(static_cast<double>(point.time_ns - begin_ns) / length, 0.0, 1.0);
    const auto part = static_cast<std::size_t>(share * static_cast<double>(num_moments));
    highest.Add(std::min(part, num_moments - 1), point.Of(side.timeline->main_layer));
  }
  return highest.Finish();
}

Alignment AlignByProgress(const AlignedSide& first, const AlignedSide& second,
                          std::size_t num_moments) {
  const std::vector<std::int64_t> of_first = ByProgress(first, num_moments);
  const std::vector<std::int64_t> of_second = ByProgress(second, num_moments);
  Alignment alignment;
  for (std::size_t moment = 0; moment < num_moments; ++moment) {
    const double percent = 100 * static_cast<double>(moment + 1) / static_cast<double>(num_moments);
    alignment.moments.push_back({.label = fmt::format("{:.0f} %", percent),
                                 .first_bytes = of_first[moment],
                                 .second_bytes = of_second[moment]});
  }
  return alignment;
}

/// Outermost operators of a side, with the highest that was in use while each ran.
struct OperatorSequence {
  std::vector<std::uint64_t> names;
  std::vector<std::string_view> texts;
  std::vector<std::int64_t> highest;
};

OperatorSequence SequenceOf(const AlignedSide& side, StringTable& names) {
  OperatorSequence sequence;
  const OperatorIndex operators(*side.trace);
  for (const RowId row : operators.outermost()) {
    const std::string_view text = side.trace->Text(side.trace->host_ops.name[row]);
    sequence.texts.push_back(text);
    sequence.names.push_back(static_cast<std::uint64_t>(names.Intern(text)));
  }
  HighestByPart highest(sequence.names.size());
  for (const Point& point : side.timeline->points) {
    if (!sequence.names.empty()) {
      highest.Add(static_cast<std::size_t>(std::max<std::int64_t>(point.operator_number, 0)),
                  point.Of(side.timeline->main_layer));
    }
  }
  sequence.highest = highest.Finish();
  return sequence;
}

Result<Alignment> AlignByOperator(const AlignedSide& first, const AlignedSide& second) {
  StringTable names;
  const OperatorSequence of_first = SequenceOf(first, names);
  const OperatorSequence of_second = SequenceOf(second, names);
  if (of_first.names.empty() || of_second.names.empty()) {
    return Fail(Error::Kind::kNotFound,
                fmt::format("the {} recording has no operators to align by (align by progress)",
                            of_first.names.empty() ? "first" : "second"));
  }
  const auto pairs = LongestCommonSubsequence(of_first.names, of_second.names, kMaxEdits);
  if (!pairs) {
    return Fail(Error::Kind::kNotFound,
                "the sequences of operators differ too much to be aligned (align by progress)");
  }
  Alignment alignment{.by = AlignBy::kOperator,
                      .moments = {},
                      .num_only_first = of_first.names.size() - pairs->size(),
                      .num_only_second = of_second.names.size() - pairs->size()};
  for (const IndexPair& pair : *pairs) {
    alignment.moments.push_back({.label = std::string(of_first.texts[pair.first]),
                                 .first_bytes = of_first.highest[pair.first],
                                 .second_bytes = of_second.highest[pair.second]});
  }
  return alignment;
}

Alignment AlignByEvent(const AlignedSide& first, const AlignedSide& second) {
  const std::vector<Point>& of_first = first.timeline->points;
  const std::vector<Point>& of_second = second.timeline->points;
  const std::size_t num_common = std::min(of_first.size(), of_second.size());
  Alignment alignment{.by = AlignBy::kEvent,
                      .moments = {},
                      .num_only_first = of_first.size() - num_common,
                      .num_only_second = of_second.size() - num_common};
  for (std::size_t i = 0; i < num_common; ++i) {
    alignment.moments.push_back({.label = fmt::format("{}", i),
                                 .first_bytes = of_first[i].Of(first.timeline->main_layer),
                                 .second_bytes = of_second[i].Of(second.timeline->main_layer)});
  }
  return alignment;
}

using PeakOfRank = std::map<std::int32_t, std::int64_t>;

double PercentAbove(std::int64_t largest, std::int64_t smallest) {
  return smallest <= 0 ? 0
                       : 100 * (static_cast<double>(largest) / static_cast<double>(smallest) - 1);
}

// Returns the memory events of a rank without their times.
std::vector<std::int64_t> ShapeOf(const Timeline& timeline) {
  std::vector<std::int64_t> shape;
  for (const Point& point : timeline.points) {
    shape.insert(shape.end(), point.bytes.begin(), point.bytes.end());
  }
  return shape;
}

double SpreadAmong(const std::vector<std::int32_t>& ranks, const PeakOfRank& peaks) {
  std::int64_t smallest = -1;
  std::int64_t largest = 0;
  for (const std::int32_t rank : ranks) {
    if (const auto found = peaks.find(rank); found != peaks.end()) {
      smallest = smallest < 0 ? found->second : std::min(smallest, found->second);
      largest = std::max(largest, found->second);
    }
  }
  return PercentAbove(largest, smallest);
}

std::vector<GroupSpread> SpreadOfGroups(std::span<const trace::Trace* const> ranks_of_run,
                                        const PeakOfRank& peaks) {
  std::set<std::pair<std::string, std::vector<std::int32_t>>> groups;
  for (const trace::Trace* const rank : ranks_of_run) {
    const trace::Trace& trace = *rank;
    for (RowId row = 0; row < trace.process_groups.size(); ++row) {
      const std::string kind(trace.Text(trace.process_groups.description[row]));
      auto ranks = NumbersIn<std::int32_t>(trace.Text(trace.process_groups.ranks[row]));
      std::ranges::sort(ranks);
      if (!kind.empty() && ranks.size() > 1) {
        groups.emplace(kind, std::move(ranks));
      }
    }
  }
  std::vector<GroupSpread> spreads;
  for (const auto& [kind, ranks] : groups) {
    if (spreads.empty() || spreads.back().kind != kind) {
      spreads.push_back({.kind = kind});
    }
    ++spreads.back().num_groups;
    spreads.back().largest_percent =
        std::max(spreads.back().largest_percent, SpreadAmong(ranks, peaks));
  }
  return spreads;
}

}  // namespace

const AlignedMoment& Alignment::Furthest() const {
  return *std::ranges::max_element(
      moments, {}, [](const AlignedMoment& moment) { return std::abs(moment.Difference()); });
}

double Alignment::MeanDifference() const {
  double sum = 0;
  for (const AlignedMoment& moment : moments) {
    sum += static_cast<double>(moment.Difference());
  }
  return moments.empty() ? 0 : sum / static_cast<double>(moments.size());
}

Result<Alignment> Align(const AlignedSide& first, const AlignedSide& second, AlignBy by,
                        std::size_t num_moments) {
  for (const AlignedSide* side : {&first, &second}) {
    if (side->timeline->points.empty()) {
      return Fail(Error::Kind::kNotFound, "a recording without memory events cannot be aligned");
    }
  }
  if (by == AlignBy::kOperator) {
    return AlignByOperator(first, second);
  }
  return by == AlignBy::kEvent ? AlignByEvent(first, second)
                               : AlignByProgress(first, second, num_moments);
}

double RankSpread::Percent() const {
  return PercentAbove(largest_bytes, smallest_bytes);
}

RankSpread SpreadOf(std::span<const trace::Trace* const> ranks,
                    const std::vector<Timeline>& timelines) {
  RankSpread spread;
  PeakOfRank peaks;
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Timeline& timeline : timelines) {
    if (timeline.place.kind == trace::DeviceKind::kCpu) {
      continue;
    }
    const std::int64_t bytes = timeline.peak.bytes;
    if (spread.smallest_rank < 0 || bytes < spread.smallest_bytes) {
      spread.smallest_bytes = bytes;
      spread.smallest_rank = timeline.rank;
    }
    if (spread.largest_rank < 0 || bytes > spread.largest_bytes) {
      spread.largest_bytes = bytes;
      spread.largest_rank = timeline.rank;
    }
    peaks[timeline.rank] = std::max(peaks[timeline.rank], bytes);
    std::vector<std::int64_t> shape = ShapeOf(timeline);
    const auto known = std::find(shapes.begin(), shapes.end(), shape);
    if (known == shapes.end()) {
      shapes.push_back(std::move(shape));
      spread.alike.push_back({timeline.rank});
    } else {
      spread.alike[static_cast<std::size_t>(known - shapes.begin())].push_back(timeline.rank);
    }
  }
  spread.groups = SpreadOfGroups(ranks, peaks);
  return spread;
}

}  // namespace orrery::memory::timeline
