#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/interval_set.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// What went over the links between two samples of their counters.
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
  /// Returns how much of a time was observed.
  [[nodiscard]] std::int64_t ObservedWithin(Interval time) const;

  bool operator==(const LinkSeries&) const = default;
};

/// What was counted on the links of one GPU.
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

/// Returns whether times of the counters and of a rank's trace can be compared.
[[nodiscard]] bool ShareClock(const RunView& run, const GpuTraffic& traffic,
                              std::uint32_t rank_index);

/// Returns "tx" or "rx".
[[nodiscard]] std::string_view DirectionName(LinkDirection direction);

}  // namespace orrery::analyze
