#include "orrery/analyze/link_throughput.h"

#include <algorithm>

namespace orrery::analyze {
namespace {

// Bytes and time of one direction in one stretch.
struct Sum {
  double bytes = 0;
  std::int64_t observed_ns = 0;

  [[nodiscard]] std::optional<double> Rate() const {
    return observed_ns == 0 ? std::nullopt
                            : std::optional(bytes * 1e9 / static_cast<double>(observed_ns));
  }
};

struct Stretch {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Sum sent;
  Sum received;
};

void AddToStretches(const LinkSeries& series, std::uint32_t first_round, std::uint32_t rounds_each,
                    std::vector<Stretch>& stretches) {
  for (const LinkInterval& interval : series.intervals) {
    Stretch& stretch = stretches[(interval.round - first_round) / rounds_each];
    const bool is_first = stretch.sent.observed_ns + stretch.received.observed_ns == 0;
    stretch.begin_ns =
        is_first ? interval.time.begin_ns : std::min(stretch.begin_ns, interval.time.begin_ns);
    stretch.end_ns =
        is_first ? interval.time.end_ns : std::max(stretch.end_ns, interval.time.end_ns);
    Sum& sum = series.direction == LinkDirection::kSent ? stretch.sent : stretch.received;
    sum.bytes += interval.bytes;
    sum.observed_ns += interval.time.length_ns();
  }
}

}  // namespace

std::vector<ThroughputPoint> ThroughputOverTime(const GpuTraffic& gpu, std::size_t max_points) {
  std::uint32_t first_round = UINT32_MAX;
  std::uint32_t last_round = 0;
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    if (!series->intervals.empty()) {
      first_round = std::min(first_round, series->intervals.front().round);
      last_round = std::max(last_round, series->intervals.back().round);
    }
  }
  if (first_round > last_round) {
    return {};
  }
  const std::size_t num_rounds = last_round - first_round + 1;
  const std::size_t rounds_each = (num_rounds + max_points - 1) / max_points;
  std::vector<Stretch> stretches((num_rounds + rounds_each - 1) / rounds_each);
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    AddToStretches(*series, first_round, static_cast<std::uint32_t>(rounds_each), stretches);
  }
  std::vector<ThroughputPoint> points;
  for (const Stretch& stretch : stretches) {
    if (stretch.sent.observed_ns + stretch.received.observed_ns > 0) {
      points.push_back({.begin_ns = stretch.begin_ns,
                        .end_ns = stretch.end_ns,
                        .sent_bytes_per_second = stretch.sent.Rate(),
                        .received_bytes_per_second = stretch.received.Rate()});
    }
  }
  return points;
}

}  // namespace orrery::analyze
