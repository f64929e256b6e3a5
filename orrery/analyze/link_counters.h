#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// The traffic over the links between two samples of their counters.
struct LinkInterval {
  Interval time;
  double bytes = 0;
  std::uint32_t round = 0;  // of polling; intervals of one round are concurrent

  [[nodiscard]] double BytesPerSecond() const {
    return bytes * 1e9 / static_cast<double>(time.length_ns());
  }

  bool operator==(const LinkInterval&) const = default;
};

/// The traffic of one direction over time: of one link, or of all links of a GPU together.
struct LinkSeries {
  LinkDirection direction = LinkDirection::kSent;  // never kBoth
  std::optional<std::int64_t> link = {};           // nothing: all links
  std::vector<LinkInterval> intervals = {};        // in order, disjoint
  std::int64_t num_failed = 0;                     // left out: a sample is missing or was refused
  std::int64_t num_resets = 0;                     // left out: a counter went back
  std::int64_t num_timeless = 0;                   // left out: the clock did not advance

  [[nodiscard]] double total_bytes() const;
  [[nodiscard]] std::int64_t observed_ns() const;

  /// Returns the bytes between two times; an interval that is met in part counts in proportion.
  [[nodiscard]] double BytesWithin(Interval time) const;
  [[nodiscard]] std::int64_t ObservedWithin(Interval time) const;

  bool operator==(const LinkSeries&) const = default;
};

struct GpuTraffic {
  std::int32_t gpu = -1;  // as the machine numbers it; -1: the file does not say
  std::string source;     // "NVF1" or "GPU metrics"
  std::string file;
  /// The rank whose trace holds the counters, and whose clock their times are of; nothing: the
  /// times are nanoseconds since 1970.
  std::optional<std::uint32_t> rank_index = {};
  LinkSeries sent = {.direction = LinkDirection::kSent};
  LinkSeries received = {.direction = LinkDirection::kReceived};
  std::vector<LinkSeries> links =
      {};  // each link and direction, where they are recorded separately

  [[nodiscard]] const LinkSeries& Of(LinkDirection direction) const {
    return direction == LinkDirection::kReceived ? received : sent;
  }

  bool operator==(const GpuTraffic&) const = default;
};

/// All counters of a run, or why there are none to use.
struct LinkTraffic {
  std::vector<GpuTraffic> gpus;
  std::string reason = {};  // follows "n/a: ", when there is no interval
};

/// Returns the traffic over NVLink of each GPU, of the chosen link (`options.link`) or of all:
/// from NVF1 recordings, else from the percentages in a trace times the GPU's peak. Linear in the
/// samples.
[[nodiscard]] LinkTraffic LinkTrafficOf(const RunView& run);

/// Returns the traffic of one NVF1 recording. A polling round is a part of the file in which no
/// counter occurs twice; an interval lies between two rounds in a row in which every counter of the
/// direction has a value. Links that never have one do not count.
[[nodiscard]] GpuTraffic TrafficOfRecording(const Measurement& recording,
                                            std::optional<std::int64_t> link);

/// Returns the traffic in the GPU metrics of a trace, one entry for each device that has any. A
/// sample holds until the next one.
[[nodiscard]] std::vector<GpuTraffic> TrafficOfTrace(const trace::Trace& trace,
                                                     std::uint32_t rank_index,
                                                     double peak_bytes_per_second);

/// Returns the peak of all NVLinks of a rank's GPU, one direction, or nothing when the catalogue
/// does not know it.
[[nodiscard]] std::optional<double> NvlinkPeak(const trace::Trace& trace);

/// Returns the device whose kernels go with the counters of a GPU: the one of the same trace and
/// number, else the only one with this number, else the one of the rank with this number.
[[nodiscard]] const DeviceView* DeviceOfTraffic(const RunView& run, const GpuTraffic& traffic);

[[nodiscard]] bool ShareClock(const RunView& run, const GpuTraffic& traffic,
                              std::uint32_t rank_index);

[[nodiscard]] std::string_view DirectionName(LinkDirection direction);

// The numbers of NVLink traffic. Where no direction is chosen, the larger one counts.

struct TrafficPeak {
  const GpuTraffic* gpu = nullptr;
  const LinkSeries* series = nullptr;
  const LinkInterval* interval = nullptr;
};

/// Returns the chosen direction, or both, sent first.
[[nodiscard]] std::vector<LinkDirection> ChosenDirections(const AnalyzeOptions& options);

/// Returns the intervals with the highest rates of one GPU, highest first (ties: the earlier), at
/// most `count`, all of the direction that holds the highest.
[[nodiscard]] std::vector<TrafficPeak> HighestIntervals(const GpuTraffic& gpu,
                                                        const AnalyzeOptions& options,
                                                        std::size_t count);

/// The largest rate of any GPU, in GB/s; detail: when, how long, how many bytes, by link.
[[nodiscard]] MetricResult MaxThroughput(const LinkTraffic& traffic, const AnalyzeOptions& options);

/// Bytes over observed time of each GPU, the mean over GPUs, in GB/s; detail: both directions.
[[nodiscard]] MetricResult AverageThroughput(const LinkTraffic& traffic,
                                             const AnalyzeOptions& options);

/// Bytes of all GPUs: of the chosen direction, else half of both, as what one GPU sends another
/// receives.
[[nodiscard]] MetricResult TotalCommunication(const LinkTraffic& traffic,
                                              const AnalyzeOptions& options);

/// A part of a series, for drawing.
struct ThroughputPoint {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<double> sent_bytes_per_second = {};
  std::optional<double> received_bytes_per_second = {};
};

/// Returns the traffic of a GPU in at most `max_points` parts of equally many polling rounds;
/// nothing where a direction was not observed.
[[nodiscard]] std::vector<ThroughputPoint> ThroughputOverTime(const GpuTraffic& gpu,
                                                              std::size_t max_points);

struct KernelInPeak {
  RowId activity = kNoRow;
  std::int64_t overlap_ns = 0;
};

/// One of the intervals with the highest rates and what ran during it.
struct PeakWithKernels {
  TrafficPeak peak;
  const DeviceView* device = nullptr;
  std::int64_t communication_ns = 0;       // of the interval, covered by communication kernels
  std::vector<KernelInPeak> kernels = {};  // longest overlap first (ties: the earlier)
};

/// The highest peaks of a GPU, or why they are not available.
struct PeakList {
  std::vector<PeakWithKernels> peaks;
  std::string reason = {};  // follows "n/a: "
};

/// Finds the `count` intervals with the highest rates of a GPU and the kernels that overlap them;
/// with `options.nccl_only` communication kernels only. The peaks point into `traffic`. Costs a
/// pass over the device's kernels for each interval.
[[nodiscard]] PeakList FindPeakKernels(const RunView& run, const LinkTraffic& traffic,
                                       std::int32_t gpu, std::size_t count);

}  // namespace orrery::analyze
