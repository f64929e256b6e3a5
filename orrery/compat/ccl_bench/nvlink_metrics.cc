#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/fields.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::compat::ccl_bench {

namespace {

using analyze::LinkDirection;
using trace::Trace;

/// The time between two samples of one link and direction.
struct LinkInterval {
  std::string direction;   // "tx", "rx"
  std::int64_t link = -1;  // -1: the sum over links
  std::int64_t begin_us = 0;
  std::int64_t duration_us = 0;
  std::int64_t bytes = 0;

  [[nodiscard]] double GigabytesPerSecond() const {
    return static_cast<double>(bytes) * 1e6 / static_cast<double>(duration_us) / 1e9;
  }
};

struct Sample {
  std::int64_t time_us = 0;
  std::int64_t kib = 0;
};

using SamplesOfLink = std::map<std::pair<std::string, std::int64_t>, std::vector<Sample>>;

bool IsSelected(const AnalyzeOptions& options, std::string_view direction, std::int64_t link) {
  const bool is_other_direction =
      (options.direction == LinkDirection::kSent && direction != "tx") ||
      (options.direction == LinkDirection::kReceived && direction != "rx");
  return !is_other_direction && (!options.link || *options.link == link);
}

SamplesOfLink SelectedSamples(const Run& run, const Table& table) {
  SamplesOfLink samples;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const std::string direction(table.Text(row, "direction").value_or(""));
    const std::int64_t link = table.Integer(row, "link").value_or(-1);
    const auto time_us = table.Integer(row, "time_us");
    const bool is_raw = table.Integer(row, "raw").value_or(0) != 0;
    if (time_us && !is_raw && IsSelected(run.options, direction, link)) {
      samples[{direction, link}].push_back(
          {.time_us = *time_us, .kib = table.Integer(row, "kib").value_or(0)});
    }
  }
  return samples;
}

// Returns the intervals of the first counter file that the options select, direction by direction
// and link by link in order of time. As in the suite, a failed sample counts as 0 (so a huge
// interval follows it) and a falling counter as no bytes.
std::vector<LinkInterval> LinkIntervals(const Run& run) {
  std::vector<LinkInterval> intervals;
  const Table* table = FindTable(run, "NVF1");
  if (table == nullptr) {
    return intervals;
  }
  for (auto& [key, samples] : SelectedSamples(run, *table)) {
    std::ranges::stable_sort(samples, {}, &Sample::time_us);
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const std::int64_t duration_us = samples[i].time_us - samples[i - 1].time_us;
      if (duration_us > 0) {
        const std::int64_t kib = std::max<std::int64_t>(samples[i].kib - samples[i - 1].kib, 0);
        intervals.push_back({.direction = key.first,
                             .link = key.second,
                             .begin_us = samples[i - 1].time_us,
                             .duration_us = duration_us,
                             .bytes = kib * 1024});
      }
    }
  }
  return intervals;
}

constexpr std::string_view kNoCounters = "no NVLink counters";

Value DescribeInterval(const LinkInterval& interval) {
  return Value::Object()
      .Set("max_throughput_gbps", interval.GigabytesPerSecond())
      .Set("link_id", interval.link)
      .Set("direction", interval.direction)
      .Set("timestamp_us", interval.begin_us)
      .Set("interval_duration_us", interval.duration_us)
      .Set("interval_bytes", interval.bytes);
}

// The `count` fastest intervals, the fastest first; equal ones in order of direction, link, time.
std::vector<LinkInterval> FastestIntervals(const Run& run, std::size_t count) {
  std::vector<LinkInterval> intervals = LinkIntervals(run);
  std::ranges::stable_sort(intervals, std::ranges::greater{}, &LinkInterval::GigabytesPerSecond);
  intervals.resize(std::min(intervals.size(), count));
  return intervals;
}

// A kernel that runs during an interval.
struct OverlappingKernel {
  std::string_view name;
  double overlap_us = 0;
};

// Counters have wall-clock times, so kernels must have them too.
const Trace* FindGpu(const Run& run) {
  for (std::size_t index = 0; index < run.set->ranks.size(); ++index) {
    const bool has_wall_clock = run.set->ranks[index].info.time_origin == trace::TimeOrigin::kEpoch;
    if (has_wall_clock && trace::RankOf(*run.set, index) == run.options.gpu) {
      return &run.set->ranks[index];
    }
  }
  return nullptr;
}

constexpr NameTest kNccl{"nccl"};

Value DescribePeak(const Run& run, const Trace& trace, const LinkInterval& interval) {
  PerName is_nccl(trace, kNccl);
  const std::int64_t begin_ns = interval.begin_us * 1000;
  const std::int64_t end_ns = begin_ns + interval.duration_us * 1000;
  std::vector<OverlappingKernel> kernels;
  for (const RowId row : KernelRows(trace)) {
    const std::int64_t overlap_ns =
        std::min(end_ns, EndNs(trace, row)) - std::max(begin_ns, trace.activities.begin_ns[row]);
    if (overlap_ns > 0 && (!run.options.nccl_only || is_nccl(trace.activities.name[row]))) {
      kernels.push_back({trace.Text(trace.activities.name[row]), Microseconds(overlap_ns)});
    }
  }
  std::ranges::stable_sort(kernels, std::ranges::greater{}, &OverlappingKernel::overlap_us);
  Value rows = Value::List();
  std::int64_t num_nccl = 0;
  for (const OverlappingKernel& kernel : kernels) {
    num_nccl += kNccl(kernel.name) ? 1 : 0;
    rows.Add(Value::Object()
                 .Set("name", kernel.name)
                 .Set("overlap_us", kernel.overlap_us)
                 .Set("overlap_pct",
                      kernel.overlap_us / static_cast<double>(interval.duration_us) * 100.0)
                 .Set("is_nccl", kNccl(kernel.name)));
  }
  return DescribeInterval(interval)
      .Set("num_kernels", kernels.size())
      .Set("num_nccl_kernels", num_nccl)
      .Set("kernels", std::move(rows));
}

void AddSamples(const Trace& trace, std::string_view counter, std::vector<double>& percents) {
  // From the start of the model to the processing of its logits.
  PerName is_start(trace, NameTest{"model.model"});
  PerName is_end(trace, NameTest{"logits_processor"});
  IntervalSet windows;
  std::optional<std::int64_t> begin_ns;
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    const std::int64_t at_ns = trace.annotations.begin_ns[row];
    if (is_end(trace.annotations.name[row])) {
      windows.Append(begin_ns.value_or(at_ns), at_ns);
      begin_ns.reset();
    } else if (is_start(trace.annotations.name[row]) && !begin_ns) {
      begin_ns = at_ns;
    }
  }
  PerName is_selected(trace, [&](std::string_view name) { return name.starts_with(counter); });
  for (RowId row = 0; row < trace.counters.size(); ++row) {
    const std::int64_t at_ns = trace.counters.begin_ns[row];
    if (trace.counters.value[row] != 0 && is_selected(trace.counters.name[row]) &&
        windows.LengthWithin(at_ns, at_ns + 1) > 0) {
      percents.push_back(trace.counters.value[row]);
    }
  }
}

}  // namespace

MetricResult MaxThroughput(const Run& run) {
  const std::vector<LinkInterval> fastest = FastestIntervals(run, 1);
  if (fastest.empty()) {
    return Fails(kNoCounters);
  }
  MetricResult result = Number(fastest.front().GigabytesPerSecond());
  result.detail = DescribeInterval(fastest.front());
  return result;
}

MetricResult AvgThroughput(const Run& run) {
  const std::vector<LinkInterval> intervals = LinkIntervals(run);
  double weighted = 0;
  std::int64_t total_us = 0;
  std::int64_t num_active = 0;
  for (const LinkInterval& interval : intervals) {
    weighted += interval.GigabytesPerSecond() * static_cast<double>(interval.duration_us);
    total_us += interval.duration_us;
    num_active += interval.bytes > 0 ? 1 : 0;
  }
  if (intervals.empty()) {
    return Fails(kNoCounters);
  }
  MetricResult result = Number(weighted / static_cast<double>(total_us));
  result.detail.Set("total_duration_us", total_us)
      .Set("num_intervals", intervals.size())
      .Set("num_active_intervals", num_active);
  return result;
}

MetricResult TotalCommunication(const Run& run) {
  const std::vector<LinkInterval> intervals = LinkIntervals(run);
  if (intervals.empty()) {
    return Fails(kNoCounters);
  }
  std::int64_t received = 0;
  std::int64_t sent = 0;
  for (const LinkInterval& interval : intervals) {
    (interval.direction == "rx" ? received : sent) += interval.bytes;
  }
  const bool is_both = run.options.direction == LinkDirection::kBoth;
  const std::int64_t total = is_both ? (received + sent) / 2 : received + sent;
  MetricResult result = Number(static_cast<double>(total));
  result.detail.Set("total_bytes", total)
      .Set("total_gb", static_cast<double>(total) / 1e9)
      .Set("rx_bytes", received)
      .Set("tx_bytes", sent);
  return result;
}

MetricResult NvlinkAll(const Run& run) {
  MetricResult result = MaxThroughput(run);
  if (result.value) {
    Value parts = Value::Object();
    parts.Set("max_throughput", std::move(result.detail))
        .Set("avg_throughput",
             AvgThroughput(run).detail.Set("avg_throughput_gbps", *AvgThroughput(run).value))
        .Set("total_communication", TotalCommunication(run).detail);
    result.detail = std::move(parts);
  }
  return result;
}

MetricResult PeakKernels(const Run& run) {
  const auto count = static_cast<std::size_t>(std::max(run.options.top, 1));
  const std::vector<LinkInterval> fastest = FastestIntervals(run, count);
  const Trace* trace = FindGpu(run);
  if (fastest.empty() || trace == nullptr) {
    return Fails(fastest.empty() ? kNoCounters : "no kernels of the GPU with wall-clock times");
  }
  MetricResult result = Number(fastest.front().GigabytesPerSecond());
  if (count == 1) {
    result.detail = DescribePeak(run, *trace, fastest.front());
    return result;
  }
  Value peaks = Value::List();
  for (const LinkInterval& interval : fastest) {
    peaks.Add(DescribePeak(run, *trace, interval));
  }
  result.detail.Set("peaks", std::move(peaks));
  return result;
}

// `bandwidth_utilization_peertopeer_group_6`: link counters of nsys while the model runs.
MetricResult PeerToPeerBandwidth(const Run& run) {
  const auto family = FamilyOfGroup6(run);
  if (SourceOf(run) != Source::kNsys || !family || analyze::CardParallelSize(*run.set, "pp") <= 1) {
    return NotANumber();
  }
  std::vector<double> percents;
  for (const Trace& trace : run.set->ranks) {
    AddSamples(trace, IsPcieFamily(*family) ? "PCIe TX" : "NVLink TX Responses User Data",
               percents);
  }
  return NumberOrNaN(SequentialMean(percents));
}

}  // namespace orrery::compat::ccl_bench
