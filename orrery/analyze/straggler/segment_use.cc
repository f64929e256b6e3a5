#include "orrery/analyze/straggler/segment_use.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {
namespace {

using enum SegmentUse;

SegmentUse UseOf(IdleCause cause) {
  switch (cause) {
    case IdleCause::kUnknown:
      return kUnknownGap;
    case IdleCause::kHostWait:
      return kHostWait;
    case IdleCause::kLaunchOverhead:
      return kLaunchOverhead;
    case IdleCause::kDependency:
      return kDependency;
    case IdleCause::kOther:
      return kOtherGap;
  }
  return kOtherGap;
}

std::int64_t& At(SegmentTimes& times, SegmentUse use) {
  return times[static_cast<std::size_t>(use)];
}

// Calls `visit(gap, begin, end)` for the parts of gaps inside a segment.
template <typename Visit>
void ForEachGap(const std::vector<IdleGap>& gaps, Interval segment, Visit&& visit) {
  auto gap = std::ranges::upper_bound(gaps, segment.begin_ns, {},
                                      [](const IdleGap& g) { return g.time.end_ns; });
  for (; gap != gaps.end() && gap->time.begin_ns < segment.end_ns; ++gap) {
    visit(*gap, std::min(gap->time.end_ns, segment.end_ns) -
                    std::max(gap->time.begin_ns, segment.begin_ns));
  }
}

}  // namespace

std::string_view SegmentUseName(SegmentUse use) {
  constexpr std::array<std::string_view, kNumSegmentUses> kNames{
      "compute",     "memory",    "wait of another group", "transfer of another group",
      "unknown gap", "host_wait", "launch_overhead",       "dependency",
      "other"};
  return kNames[static_cast<std::size_t>(use)];
}

SegmentSplitter::SegmentSplitter(const RunView& run, const DeviceView& device)
    : device_(device), gaps_(FindIdleGaps(run, device)) {
  std::vector<Interval> waits;
  std::vector<Interval> transfers;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    waits.push_back({part.time.begin_ns, part.useful_ns});
    transfers.push_back({part.useful_ns, part.time.end_ns});
  }
  memory_ = Difference(device.memory, device.compute);
  const IntervalSet working = Union(device.compute, device.memory);
  communication_ = Difference(device.communication, working);
  waits_ = Difference(Difference(IntervalSet::Of(waits), IntervalSet::Of(transfers)), working);
}

SegmentTimes SegmentSplitter::Split(Interval segment) const {
  SegmentTimes times{};
  const auto within = [&](const IntervalSet& set) {
    return set.LengthWithin(segment.begin_ns, segment.end_ns);
  };
  At(times, kCompute) = within(device_.compute);
  At(times, kMemory) = within(memory_);
  At(times, kOtherGroupWait) = within(waits_);
  At(times, kOtherGroupTransfer) = within(communication_) - At(times, kOtherGroupWait);
  ForEachGap(gaps_, segment, [&](const IdleGap& gap, std::int64_t inside_ns) {
    At(times, UseOf(gap.cause)) += inside_ns;
  });
  return times;
}

const IdleGap* SegmentSplitter::LongestHostWait(Interval segment) const {
  const IdleGap* longest = nullptr;
  ForEachGap(gaps_, segment, [&](const IdleGap& gap, std::int64_t) {
    if (gap.cause == IdleCause::kHostWait &&
        (longest == nullptr || gap.time.length_ns() > longest->time.length_ns())) {
      longest = &gap;
    }
  });
  return longest;
}

}  // namespace orrery::analyze
