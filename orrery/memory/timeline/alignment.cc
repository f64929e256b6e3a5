#include "orrery/memory/timeline/alignment.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/common_subsequence.h"
#include "orrery/memory/timeline/operator_index.h"

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

}  // namespace

const AlignedMoment& Alignment::Furthest() const {
  return *std::max_element(moments.begin(), moments.end(),
                           [](const AlignedMoment& lhs, const AlignedMoment& rhs) {
                             return std::abs(lhs.Difference()) < std::abs(rhs.Difference());
                           });
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
  switch (by) {
    case AlignBy::kProgress:
      return AlignByProgress(first, second, num_moments);
    case AlignBy::kOperator:
      return AlignByOperator(first, second);
    case AlignBy::kEvent:
      break;
  }
  return AlignByEvent(first, second);
}

}  // namespace orrery::memory::timeline
