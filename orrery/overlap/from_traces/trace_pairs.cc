#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/from_traces/derived_pairs.h"

namespace orrery::overlap::from_traces {
namespace {

constexpr std::int64_t kShortestOverlapNs = 5'000;
constexpr double kLeastRatio = 0.05;
constexpr double kClockTolerance = 0.02;
// Window of the running median, in kernels without overlap.
constexpr std::size_t kWindow = 9;

struct DeviceCommunication {
  IntervalSet united;
  std::vector<std::uint32_t> kernels;  // in order of begin
};

std::map<std::int32_t, DeviceCommunication> CommunicationByDevice(const RunKernels& run) {
  std::map<std::int32_t, DeviceCommunication> by_device;
  for (std::uint32_t at = 0; at < run.communications.size(); ++at) {
    const RunCommunication& communication = run.communications[at];
    DeviceCommunication& device = by_device[communication.device];
    device.united.Append(communication.begin_ns, communication.end_ns());
    device.kernels.push_back(at);
  }
  return by_device;
}

/// Finds the communication with the longest overlap. The search starts at the longest communication
/// kernel's duration before the kernel.
class LongestOverlap {
 public:
  LongestOverlap(const RunKernels& run, const DeviceCommunication& device)
      : run_(run), device_(device) {
    for (const std::uint32_t at : device.kernels) {
      longest_ns_ = std::max(longest_ns_, run.communications[at].duration_ns);
    }
  }

  void Set(const RunKernel& kernel, TracePair& pair) const {
    const auto begin_of = [&](std::uint32_t at) { return run_.communications[at].begin_ns; };
    auto at =
        std::ranges::lower_bound(device_.kernels, kernel.begin_ns - longest_ns_, {}, begin_of);
    std::int64_t most = 0;
    for (; at != device_.kernels.end() && begin_of(*at) < kernel.end_ns(); ++at) {
      const RunCommunication& other = run_.communications[*at];
      const std::int64_t overlap =
          std::min(kernel.end_ns(), other.end_ns()) - std::max(kernel.begin_ns, other.begin_ns);
      if (overlap > most) {
        most = overlap;
        pair.communication = *at;
        pair.since_ns = kernel.begin_ns - other.begin_ns;
      }
    }
  }

 private:
  const RunKernels& run_;
  const DeviceCommunication& device_;
  std::int64_t longest_ns_ = 0;
};

Rejection RejectionOf(const TracePair& pair) {
  if (pair.overlap_ns == 0) {
    return Rejection::kNoOverlap;
  }
  if (pair.overlap_ns < kShortestOverlapNs || pair.OverlapRatio() < kLeastRatio) {
    return Rejection::kShortOverlap;
  }
  return std::isnan(pair.slowdown) ? Rejection::kNoSolution : Rejection::kKept;
}

TracePair PairOf(const RunKernels& alone, const RunKernels& together, const IndexPair& matched) {
  return {.alone = matched.first,
          .together = matched.second,
          .alone_ns = static_cast<double>(alone.kernels[matched.first].duration_ns),
          .together_ns = static_cast<double>(together.kernels[matched.second].duration_ns)};
}

void Finish(TracePair& pair) {
  const double ratio = pair.OverlapRatio();
  pair.echo_slowdown = EchoSlowdown(pair.alone_ns, pair.together_ns, ratio);
  if (pair.overlap_ns > 0) {
    pair.slowdown = ConsistentSlowdown(pair.alone_ns, pair.together_ns, ratio);
  }
  pair.rejection = RejectionOf(pair);
}

/// Pairs without overlap, and the running median of together / alone at each.
struct ClockTrack {
  std::vector<std::size_t> pairs;
  std::vector<double> ratios;
  std::vector<double> medians;
};

ClockTrack TrackClock(const std::vector<TracePair>& pairs) {
  ClockTrack track;
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    if (pairs[at].overlap_ns == 0) {
      track.pairs.push_back(at);
      track.ratios.push_back(pairs[at].together_ns / pairs[at].alone_ns);
    }
  }
  if (track.pairs.size() < kWindow) {
    return {};
  }
  for (std::size_t at = 0; at < track.pairs.size(); ++at) {
    const std::size_t first =
        std::min(at - std::min(at, kWindow / 2), track.pairs.size() - kWindow);
    track.medians.push_back(Median(std::span(track.ratios).subspan(first, kWindow)));
  }
  return track;
}

/// -1: the run together was faster; 1: slower.
int DriftOf(double ratio) {
  return ratio > 1 + kClockTolerance ? 1 : ratio < 1 - kClockTolerance ? -1 : 0;
}

/// Splits where the drift of the running median changes. A segment reaches to the next one's first
/// kernel without overlap, and the first and last to the ends of the run.
std::vector<ClockSegment> SegmentsOf(const ClockTrack& track, std::size_t num_pairs) {
  std::vector<ClockSegment> segments;
  std::vector<double> ratios;
  const auto close = [&](std::size_t last) {
    segments.back().last = last;
    segments.back().ratio = Median(ratios);
    segments.back().kernels = ratios.size();
    ratios.clear();
  };
  for (std::size_t at = 0; at < track.pairs.size(); ++at) {
    if (at == 0 || DriftOf(track.medians[at]) != DriftOf(track.medians[at - 1])) {
      if (at > 0) {
        close(track.pairs[at] - 1);
      }
      segments.push_back({.first = at == 0 ? 0 : track.pairs[at]});
    }
    ratios.push_back(track.ratios[at]);
  }
  if (!segments.empty()) {
    close(num_pairs - 1);
  }
  return segments;
}

void RejectDrifted(TracePairs& result) {
  for (const ClockSegment& segment : result.segments) {
    for (std::size_t at = segment.first; at <= segment.last; ++at) {
      TracePair& pair = result.pairs[at];
      pair.clock_ratio = segment.ratio;
      if (segment.IsDrifted() && pair.rejection == Rejection::kKept) {
        pair.rejection = Rejection::kClock;
      }
    }
  }
}

}  // namespace

std::string_view RejectionName(Rejection rejection) {
  constexpr std::array<std::string_view, 5> kNames = {"", "no overlap", "short overlap",
                                                      "no solution", "clock"};
  return kNames[static_cast<std::size_t>(rejection)];
}

double ConsistentSlowdown(double alone_ns, double together_ns, double overlap_ratio) {
  const double work_overlapped = alone_ns - (1 - overlap_ratio) * together_ns;
  return work_overlapped > 0 ? (together_ns - alone_ns) / work_overlapped : kUnknown;
}

double EchoSlowdown(double alone_ns, double together_ns, double overlap_ratio) {
  return overlap_ratio > 0 ? (together_ns - alone_ns) / (overlap_ratio * alone_ns) : 0;
}

bool ClockSegment::IsDrifted() const {
  return DriftOf(ratio) != 0;
}

TracePairs MakePairs(const RunKernels& alone, const RunKernels& together, const Join& join) {
  const std::map<std::int32_t, DeviceCommunication> by_device = CommunicationByDevice(together);
  std::map<std::int32_t, LongestOverlap> longest;
  for (const auto& [device, communication] : by_device) {
    longest.emplace(device, LongestOverlap(together, communication));
  }
  TracePairs result;
  for (const IndexPair& matched : join.matched) {
    TracePair pair = PairOf(alone, together, matched);
    const RunKernel& kernel = together.kernels[matched.second];
    if (const auto device = by_device.find(kernel.device); device != by_device.end()) {
      pair.overlap_ns = device->second.united.LengthWithin(kernel.begin_ns, kernel.end_ns());
      longest.at(kernel.device).Set(kernel, pair);
    }
    Finish(pair);
    result.pairs.push_back(pair);
  }
  result.segments = SegmentsOf(TrackClock(result.pairs), result.pairs.size());
  RejectDrifted(result);
  return result;
}

}  // namespace orrery::overlap::from_traces
