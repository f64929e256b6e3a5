#include "orrery/analyze/link_counters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

// "NVLink RX Requests User Data [Throughput %]": requests and responses add up; protocol data is
// what carrying them costs.
std::optional<LinkDirection> UserDataDirection(std::string_view name) {
  if (name.find("User Data") == std::string_view::npos) {
    return std::nullopt;
  }
  return name.starts_with("NVLink TX")   ? std::optional(LinkDirection::kSent)
         : name.starts_with("NVLink RX") ? std::optional(LinkDirection::kReceived)
                                         : std::nullopt;
}

struct PercentSample {
  std::int64_t time_ns = 0;
  std::uint32_t round = 0;
  double percent = 0;
};

// The samples of one device; counters come in order of time.
struct DeviceSamples {
  std::vector<PercentSample> sent;
  std::vector<PercentSample> received;
  std::uint32_t num_rounds = 0;
  std::int64_t latest_ns = 0;

  void Add(LinkDirection direction, std::int64_t time_ns, double percent) {
    if (num_rounds == 0 || time_ns != latest_ns) {
      ++num_rounds;
      latest_ns = time_ns;
    }
    auto& samples = direction == LinkDirection::kSent ? sent : received;
    if (samples.empty() || samples.back().time_ns != time_ns) {
      samples.push_back({.time_ns = time_ns, .round = num_rounds});
    }
    samples.back().percent += percent;
  }
};

LinkSeries SeriesOf(LinkDirection direction, const std::vector<PercentSample>& samples,
                    double peak_bytes_per_second) {
  LinkSeries series{.direction = direction};
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    const Interval time{samples[i].time_ns, samples[i + 1].time_ns};
    if (!std::isfinite(samples[i].percent) || samples[i].percent < 0) {
      ++series.num_failed;
      continue;
    }
    const double rate = samples[i].percent / 100 * peak_bytes_per_second;
    series.intervals.push_back({.time = time,
                                .bytes = rate * static_cast<double>(time.length_ns()) / 1e9,
                                .round = samples[i].round});
  }
  return series;
}

std::map<std::int32_t, DeviceSamples> SamplesByDevice(const trace::Trace& trace) {
  std::map<StringId, std::optional<LinkDirection>> direction_of_name;
  std::map<std::int32_t, DeviceSamples> by_device;
  const trace::Counters& counters = trace.counters;
  for (RowId row = 0; row < counters.size(); ++row) {
    const auto [entry, is_new] = direction_of_name.try_emplace(counters.name[row]);
    if (is_new) {
      entry->second = UserDataDirection(trace.Text(counters.name[row]));
    }
    if (entry->second) {
      by_device[counters.device[row]].Add(*entry->second, counters.begin_ns[row],
                                          counters.value[row]);
    }
  }
  return by_device;
}

bool HasIntervals(const GpuTraffic& traffic) {
  return !traffic.sent.intervals.empty() || !traffic.received.intervals.empty();
}

LinkTraffic TrafficOfRecordings(const RunView& run) {
  LinkTraffic traffic;
  std::string links;
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format != "NVF1") {
      continue;
    }
    GpuTraffic gpu = TrafficOfRecording(measurement, run.options.link);
    for (const LinkSeries& series : gpu.links) {
      links += series.direction == LinkDirection::kSent ? fmt::format(" {}", *series.link) : "";
    }
    if (HasIntervals(gpu)) {
      traffic.gpus.push_back(std::move(gpu));
    }
  }
  if (traffic.gpus.empty()) {
    traffic.reason = !run.options.link ? "no two samples of the NVLink counters follow each other"
                     : links.empty()   ? "the NVLink counters are sums over all links"
                                       : fmt::format("no counters of link {}; there are links{}",
                                                     *run.options.link, links);
  }
  std::ranges::stable_sort(traffic.gpus, {}, &GpuTraffic::gpu);
  return traffic;
}

LinkTraffic TrafficOfMetrics(const RunView& run) {
  LinkTraffic traffic{.gpus = {}, .reason = "no samples of NVLink user data"};
  if (run.options.link) {
    traffic.reason = "GPU metrics do not separate links";
    return traffic;
  }
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    const trace::Trace& trace = run.set->ranks[place];
    if (SamplesByDevice(trace).empty()) {
      continue;
    }
    const auto peak = NvlinkPeak(trace);
    if (!peak) {
      traffic.reason =
          fmt::format("no NVLink rate of {} in the hardware catalogue", trace::DeviceName(trace));
      continue;
    }
    std::ranges::copy_if(TrafficOfTrace(trace, place, *peak), std::back_inserter(traffic.gpus),
                         HasIntervals);
  }
  return traffic;
}

// Calls `visit(interval, overlap_ns)` for what of a series lies inside a time.
template <typename Visit>
void ForEachWithin(const LinkSeries& series, Interval time, Visit&& visit) {
  auto at = std::ranges::upper_bound(series.intervals, time.begin_ns, {},
                                     [](const LinkInterval& i) { return i.time.end_ns; });
  for (; at != series.intervals.end() && at->time.begin_ns < time.end_ns; ++at) {
    visit(*at, std::min(at->time.end_ns, time.end_ns) - std::max(at->time.begin_ns, time.begin_ns));
  }
}

// NVML's link number for the sum over all links.
constexpr std::int64_t kAllLinks = -1;
// In 2096: later times are damage, and differences of earlier ones always fit.
constexpr std::int64_t kLatestUs = 4'000'000'000'000'000;

struct Sample {
  std::int64_t time_ns = 0;
  std::int64_t kib = 0;
};

// One counter of the recording, by polling round; nothing where it has no value.
using Counter = std::vector<std::optional<Sample>>;
using CounterKey = std::pair<LinkDirection, std::int64_t>;  // direction and link

std::optional<std::int64_t> IntegerAt(const Table& rows, std::size_t row,
                                      std::optional<std::size_t> column) {
  const auto* const value = column ? std::get_if<std::int64_t>(&rows.At(row, *column)) : nullptr;
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// The samples of a recording, sorted into polling rounds.
class Rounds {
 public:
  explicit Rounds(const Table& rows) {
    const auto direction = rows.FindColumn("direction");
    const auto raw = rows.FindColumn("raw");
    const auto link = rows.FindColumn("link");
    const auto time = rows.FindColumn("time_us");
    const auto kib = rows.FindColumn("kib");
    for (std::size_t row = 0; direction && row < rows.num_rows(); ++row) {
      if (IntegerAt(rows, row, raw).value_or(0) != 0) {
        continue;
      }
      const auto* const word = std::get_if<std::string>(&rows.At(row, *direction));
      const bool is_sent = word != nullptr && *word == "tx";
      Add({is_sent ? LinkDirection::kSent : LinkDirection::kReceived,
           IntegerAt(rows, row, link).value_or(kAllLinks)},
          IntegerAt(rows, row, time), IntegerAt(rows, row, kib));
    }
    for (auto& [key, counter] : counters_) {
      counter.resize(num_rounds_);
    }
  }

  // The counters of a direction that have values: those of one link; without one the sum that the
  // GPU itself gives, else all links.
  [[nodiscard]] std::vector<const Counter*> Of(LinkDirection direction,
                                               std::optional<std::int64_t> link) const {
    const Counter* const chosen = Find({direction, link.value_or(kAllLinks)});
    if (chosen != nullptr) {
      return {chosen};
    }
    std::vector<const Counter*> all;
    for (const std::int64_t each : link ? std::vector<std::int64_t>() : Links(direction)) {
      all.push_back(Find({direction, each}));
    }
    return all;
  }

  // Links of a direction with values.
  [[nodiscard]] std::vector<std::int64_t> Links(LinkDirection direction) const {
    std::vector<std::int64_t> links;
    for (const auto& [key, counter] : counters_) {
      if (key.first == direction && key.second != kAllLinks && Find(key) != nullptr) {
        links.push_back(key.second);
      }
    }
    return links;
  }

  [[nodiscard]] std::size_t size() const { return num_rounds_; }

 private:
  void Add(CounterKey key, std::optional<std::int64_t> time_us, std::optional<std::int64_t> kib) {
    Counter& counter = counters_[key];
    if (counter.size() == num_rounds_) {
      ++num_rounds_;
    }
    counter.resize(num_rounds_);
    if (time_us && kib && *time_us >= 0 && *time_us <= kLatestUs && *kib >= 0) {
      counter.back() = Sample{.time_ns = *time_us * 1000, .kib = *kib};
    }
  }

  [[nodiscard]] const Counter* Find(const CounterKey& key) const {
    const auto found = counters_.find(key);
    const bool has_values =
        found != counters_.end() &&
        std::ranges::any_of(found->second, [](const auto& sample) { return sample.has_value(); });
    return has_values ? &found->second : nullptr;
  }

  std::map<CounterKey, Counter> counters_;
  std::size_t num_rounds_ = 0;
};

// All counters of a direction in one polling round.
struct RoundSum {
  bool is_whole = true;
  bool has_reset = false;  // since the round before
  std::int64_t time_ns = 0;
  double bytes = 0;  // since the round before
};

RoundSum SumRound(std::span<const Counter* const> counters, std::size_t round) {
  RoundSum sum{.time_ns = kLatestUs * 1000};
  for (const Counter* const counter : counters) {
    const auto& sample = (*counter)[round];
    if (!sample) {
      return {.is_whole = false};
    }
    sum.time_ns = std::min(sum.time_ns, sample->time_ns);
    const auto& before = (*counter)[round == 0 ? 0 : round - 1];
    const std::int64_t kib = before ? sample->kib - before->kib : 0;
    sum.has_reset |= kib < 0;
    sum.bytes += static_cast<double>(kib) * 1024;
  }
  return sum;
}

void AddInterval(const RoundSum& from, const RoundSum& to, std::size_t round, LinkSeries& series) {
  if (!from.is_whole || !to.is_whole) {
    ++series.num_failed;
  } else if (to.has_reset) {
    ++series.num_resets;
  } else if (to.time_ns <= from.time_ns) {
    ++series.num_timeless;
  } else {
    series.intervals.push_back({.time = {from.time_ns, to.time_ns},
                                .bytes = to.bytes,
                                .round = static_cast<std::uint32_t>(round)});
  }
}

LinkSeries SeriesOf(const Rounds& rounds, LinkDirection direction,
                    std::optional<std::int64_t> link) {
  LinkSeries series{.direction = direction, .link = link};
  const std::vector<const Counter*> counters = rounds.Of(direction, link);
  if (counters.empty() || rounds.size() == 0) {
    return series;
  }
  RoundSum before = SumRound(counters, 0);
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    const RoundSum current = SumRound(counters, round);
    AddInterval(before, current, round, series);
    before = current;
  }
  return series;
}

}  // namespace

double LinkSeries::total_bytes() const {
  double sum = 0;
  for (const LinkInterval& interval : intervals) {
    sum += interval.bytes;
  }
  return sum;
}

std::int64_t LinkSeries::observed_ns() const {
  std::int64_t sum = 0;
  for (const LinkInterval& interval : intervals) {
    sum += interval.time.length_ns();
  }
  return sum;
}

double LinkSeries::BytesWithin(Interval time) const {
  double bytes = 0;
  ForEachWithin(*this, time, [&](const LinkInterval& interval, std::int64_t overlap_ns) {
    bytes += interval.bytes * static_cast<double>(overlap_ns) /
             static_cast<double>(interval.time.length_ns());
  });
  return bytes;
}

std::int64_t LinkSeries::ObservedWithin(Interval time) const {
  std::int64_t observed_ns = 0;
  ForEachWithin(*this, time, [&](const LinkInterval& /*interval*/, std::int64_t overlap_ns) {
    observed_ns += overlap_ns;
  });
  return observed_ns;
}

LinkTraffic LinkTrafficOf(const RunView& run) {
  const bool has_recording = std::ranges::any_of(
      run.measurements, [](const Measurement& table) { return table.format == "NVF1"; });
  return has_recording ? TrafficOfRecordings(run) : TrafficOfMetrics(run);
}

std::vector<GpuTraffic> TrafficOfTrace(const trace::Trace& trace, std::uint32_t rank_index,
                                       double peak_bytes_per_second) {
  std::vector<GpuTraffic> gpus;
  for (const auto& [device, samples] : SamplesByDevice(trace)) {
    GpuTraffic& gpu = gpus.emplace_back();
    gpu.gpu = device;
    gpu.source = "GPU metrics";
    gpu.file = trace.info.files.empty() ? "" : trace.info.files.front();
    gpu.rank_index = rank_index;
    gpu.sent = SeriesOf(LinkDirection::kSent, samples.sent, peak_bytes_per_second);
    gpu.received = SeriesOf(LinkDirection::kReceived, samples.received, peak_bytes_per_second);
  }
  return gpus;
}

std::optional<double> NvlinkPeak(const trace::Trace& trace) {
  const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(trace));
  return gpu == nullptr || gpu->link.bytes_per_second <= 0
             ? std::nullopt
             : std::optional(gpu->link.bytes_per_second);
}

const DeviceView* DeviceOfTraffic(const RunView& run, const GpuTraffic& traffic) {
  const auto find = [&](auto&& test) -> const DeviceView* {
    const auto found = std::ranges::find_if(run.devices, test);
    return found == run.devices.end() ? nullptr : &*found;
  };
  const auto has_number = [&](const DeviceView& device) { return device.device == traffic.gpu; };
  if (traffic.rank_index) {
    return find([&](const DeviceView& device) {
      return device.rank_index == *traffic.rank_index && has_number(device);
    });
  }
  if (std::ranges::count_if(run.devices, has_number) == 1) {
    return find(has_number);
  }
  return find([&](const DeviceView& device) { return device.rank == traffic.gpu; });
}

bool ShareClock(const RunView& run, const GpuTraffic& traffic, std::uint32_t rank_index) {
  return traffic.rank_index
             ? *traffic.rank_index == rank_index
             : run.set->ranks[rank_index].info.time_origin == trace::TimeOrigin::kEpoch;
}

std::string_view DirectionName(LinkDirection direction) {
  return direction == LinkDirection::kReceived ? "rx" : "tx";
}

GpuTraffic TrafficOfRecording(const Measurement& recording, std::optional<std::int64_t> link) {
  const Rounds rounds(*recording.rows);
  GpuTraffic traffic{.source = "NVF1", .file = recording.file};
  if (recording.rows->num_rows() > 0) {
    traffic.gpu = static_cast<std::int32_t>(recording.rows->Integer(0, "gpu").value_or(-1));
  }
  traffic.sent = SeriesOf(rounds, LinkDirection::kSent, link);
  traffic.received = SeriesOf(rounds, LinkDirection::kReceived, link);
  for (const LinkDirection direction : {LinkDirection::kSent, LinkDirection::kReceived}) {
    for (const std::int64_t each : rounds.Links(direction)) {
      traffic.links.push_back(SeriesOf(rounds, direction, each));
    }
  }
  return traffic;
}

}  // namespace orrery::analyze
