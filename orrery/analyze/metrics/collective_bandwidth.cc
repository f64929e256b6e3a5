#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/node_placement.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::collective_bandwidth {
namespace {

struct SizeClass {
  std::int64_t bytes = 0;
  std::vector<double> bus;
  std::vector<double> algorithm;
};

// Returns the best rate in bytes per second of the slowest link that a group of ranks uses: from
// the card, else from the catalogue when all ranks are on one host; nothing when unknown.
std::optional<double> LinkPeak(const RunView& run, const CollectiveRecord& record) {
  const auto inside = IsInsideNode(run, record);
  if (inside) {
    if (const auto stated = CardLinkBytesPerSecond(*run.set, *inside)) {
      return stated;
    }
  }
  if (inside.value_or(false)) {
    const hardware::Gpu* const gpu =
        hardware::FindGpu(trace::DeviceName(run.set->ranks[record.rank_index]));
    if (gpu != nullptr && gpu->link.bytes_per_second > 0) {
      return gpu->link.bytes_per_second;
    }
  }
  return std::nullopt;
}

// Returns rows by power of two of the message size: count, bytes, median bus and algorithm
// bandwidth.
Value SizeHistogram(const std::vector<CollectiveRecord>& records) {
  std::map<std::uint64_t, SizeClass> classes;
  for (const CollectiveRecord& record : records) {
    const auto bus = record.BusBandwidth();
    if (!bus || record.bytes <= 0) {
      continue;
    }
    SizeClass& size = classes[std::bit_width(static_cast<std::uint64_t>(record.bytes)) - 1U];
    size.bytes += record.bytes;
    size.bus.push_back(*bus / 1e9);
    size.algorithm.push_back(static_cast<double>(record.bytes) /
                             static_cast<double>(record.transfer_ns));
  }
  Value rows = Value::List();
  for (const auto& [exponent, size] : classes) {
    rows.Add(Value::Object()
                 .Set("from_bytes", std::int64_t{1} << exponent)
                 .Set("count", size.bus.size())
                 .Set("bytes", size.bytes)
                 .Set("busbw_p50_GB_per_s", Median(size.bus))
                 .Set("algbw_p50_GB_per_s", Median(size.algorithm)));
  }
  return rows;
}

template <CollectiveKind kKind>
MetricResult BusBandwidthOf(const RunView& run) {
  // Returns the records with a known bus bandwidth of a kind, those of --min-bytes or more; all of
  // them when none is that large.
  std::vector<CollectiveRecord> all;
  std::vector<CollectiveRecord> large;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (IsKind(record.kind, kKind) && record.BusBandwidth()) {
      all.push_back(record);
      if (record.bytes >= run.options.min_bytes) {
        large.push_back(record);
      }
    }
  }
  const std::vector<CollectiveRecord> records = large.empty() ? all : large;
  if (records.empty()) {
    return NotAvailable(kNoSizesReason);
  }
  std::vector<double> rates;
  for (const CollectiveRecord& record : records) {
    rates.push_back(*record.BusBandwidth() / 1e9);
  }
  MetricResult result{.value = Median(rates)};
  result.detail.Set("min_GB_per_s", *std::ranges::min_element(rates));
  result.detail.Set("max_GB_per_s", *std::ranges::max_element(rates));
  std::vector<double> algorithm;
  std::vector<double> peaks;
  double bus_bytes = 0;
  double seconds = 0;
  for (const CollectiveRecord& record : records) {
    algorithm.push_back(static_cast<double>(record.bytes) /
                        static_cast<double>(record.transfer_ns));
    bus_bytes += *record.BusBytes();
    seconds += static_cast<double>(record.transfer_ns) / 1e9;
    if (const auto peak = LinkPeak(run, record)) {
      peaks.push_back(*peak / 1e9);
    }
  }
  result.detail.Set("collectives", records.size());
  result.detail.Set("algbw_p50_GB_per_s", Median(algorithm));
  result.detail.Set("byte_weighted_mean_GB_per_s", bus_bytes / seconds / 1e9);
  result.detail.Set("link_peak_GB_per_s", peaks.empty() ? Value() : Value(Median(peaks)));
  result.detail.Set("by_size", SizeHistogram(records));
  if (!records.front().is_matched) {
    result.detail.Set("bound", "lower");
    result.detail.Set("note", "one rank only: durations may hold waiting");
  }
  return result;
}

std::vector<MetricAlias> Group6Alias(std::string_view name) {
  return {{name, "ccl-bench takes one rank with its waiting, the input size and GiB/s"}};
}

MetricResult BandwidthUtilization(const RunView& run) {
  std::vector<double> shares;
  std::vector<double> peaks;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    const auto rate = record.BusBandwidth();
    const auto peak = LinkPeak(run, record);
    if (record.kind == CollectiveKind::kAllReduce && rate && peak) {
      shares.push_back(*rate / *peak);
      peaks.push_back(*peak / 1e9);
    }
  }
  if (shares.empty()) {
    return NotAvailable(
        "no all-reduce with a known size and link peak (bandwidth_gbps of the workload card)");
  }
  MetricResult result{.value = Mean(shares)};
  result.detail.Set("collectives", shares.size());
  result.detail.Set("p50", Median(shares));
  result.detail.Set("link_peak_GB_per_s", Median(peaks));
  return result;
}

// The counters of a rank that can be compared with its kernels and with a peak.
struct RankLinks {
  const GpuTraffic* traffic = nullptr;  // nullptr: there are none
  double peak_bytes_per_second = 0;
};

// The traffic over the links during transfers, and their peak in that time.
struct Use {
  double bytes = 0;
  double peak_bytes = 0;
  std::int64_t observed_ns = 0;
  std::size_t transfers = 0;

  [[nodiscard]] std::optional<double> Percent() const {
    return peak_bytes > 0 ? std::optional(100 * bytes / peak_bytes) : std::nullopt;
  }
};

// Returns true if the data of a member moves in the direction: the sender of a pair is the first
// member, an exchange moves both ways.
bool Moves(const RunView& run, std::size_t instance, std::uint32_t member,
           LinkDirection direction) {
  const bool is_first = member == run.matched.instances.first_member[instance];
  return run.matched.instances.kind[instance] != CollectiveKind::kSend ||
         is_first == (direction == LinkDirection::kSent);
}

Use UseOf(const RunView& run, const std::vector<RankLinks>& links_of_rank,
          LinkDirection direction) {
  Use use;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    const bool is_pair = IsKind(run.matched.instances.kind[instance], CollectiveKind::kSendRecv);
    if (!is_pair || !run.Counts(instance)) {
      continue;
    }
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const RankLinks& links = links_of_rank[run.matched.members.rank_index[member]];
      if (links.traffic != nullptr && Moves(run, instance, member, direction)) {
        const LinkSeries& series = links.traffic->Of(direction);
        const Interval transfer{run.matched.members.begin_ns[member] + run.waits.wait_ns[member],
                                run.matched.members.end_ns[member]};
        const std::int64_t observed_ns = series.ObservedWithin(transfer);
        use.bytes += series.BytesWithin(transfer);
        use.peak_bytes += links.peak_bytes_per_second * static_cast<double>(observed_ns) / 1e9;
        use.observed_ns += observed_ns;
        use.transfers += observed_ns > 0 ? 1 : 0;
      }
    }
  }
  return use;
}

MetricResult BandwidthUtilizationPeertopeer(const RunView& run) {
  const LinkTraffic traffic = LinkTrafficOf(run);
  if (traffic.gpus.empty()) {
    return NotAvailable(traffic.reason);
  }
  std::vector<RankLinks> links_of_rank(run.set->ranks.size());
  for (const GpuTraffic& gpu : traffic.gpus) {
    const DeviceView* const device = DeviceOfTraffic(run, gpu);
    const auto peak = device == nullptr ? std::nullopt : NvlinkPeak(run.TraceOf(*device));
    if (peak && ShareClock(run, gpu, device->rank_index)) {
      links_of_rank[device->rank_index] = {.traffic = &gpu, .peak_bytes_per_second = *peak};
    }
  }
  MetricResult result;
  Value rows = Value::List();
  for (const LinkDirection direction : ChosenDirections(run.options)) {
    const Use use = UseOf(run, links_of_rank, direction);
    if (use.Percent() && (!result.value || *use.Percent() > *result.value)) {
      result.value = use.Percent();
    }
    rows.Add(Value::Object()
                 .Set("direction", DirectionName(direction))
                 .Set("percent", use.Percent() ? Value(*use.Percent()) : Value())
                 .Set("bytes", use.bytes)
                 .Set("observed_us", static_cast<double>(use.observed_ns) / 1e3)
                 .Set("transfers", use.transfers));
  }
  if (!result.value) {
    return NotAvailable(
        "no link counters, on the trace's clock and with a known peak, during a "
        "send/receive");
  }
  result.detail.Set("source", traffic.gpus.front().source);
  result.detail.Set("per_direction", std::move(rows));
  return result;
}

Value RowOf(const RunView& run, const CollectiveRecord& record, double bus) {
  const auto peak = LinkPeak(run, record);
  return Value::Object()
      .Set("kind", CollectiveKindName(record.kind))
      .Set("begin_ns", record.begin_ns)
      .Set("ranks", static_cast<std::int64_t>(record.num_ranks))
      .Set("bytes", record.bytes)
      .Set("transfer_us", static_cast<double>(record.transfer_ns) / 1e3)
      .Set("algbw_GB_per_s",
           static_cast<double>(record.bytes) / static_cast<double>(record.transfer_ns))
      .Set("busbw_GB_per_s", bus / 1e9)
      .Set("share_of_link_peak", peak ? Value(bus / *peak) : Value());
}

MetricResult CollectiveBandwidth(const RunView& run) {
  const std::vector<CollectiveRecord> records = CollectiveRecords(run);
  std::vector<double> rates;
  Value rows = Value::List();
  for (const CollectiveRecord& record : records) {
    if (const auto bus = record.BusBandwidth()) {
      rates.push_back(*bus / 1e9);
      rows.Add(RowOf(run, record, *bus));
    }
  }
  if (rates.empty()) {
    return NotAvailable(kNoSizesReason);
  }
  MetricResult result{.value = Median(rates)};
  if (!records.front().is_matched) {
    result.detail.Set("bound", "lower");
  }
  result.detail.Set("by_size", SizeHistogram(records));
  result.detail.Set("collectives", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"busbw_allreduce", "Bus bandwidth of all-reduces", "GB/s",
       &BusBandwidthOf<CollectiveKind::kAllReduce>, Better::kHigher,
       "GPU activity, communication kernels, all_reduce, message sizes",
       Group6Alias("bandwidth_utilization_allreduce_group_6")},
      {"busbw_allgather", "Bus bandwidth of all-gathers", "GB/s",
       &BusBandwidthOf<CollectiveKind::kAllGather>, Better::kHigher,
       "GPU activity, communication kernels, all_gather, message sizes",
       Group6Alias("bandwidth_utilization_allgather_group_6")},
      {"busbw_reducescatter", "Bus bandwidth of reduce-scatters", "GB/s",
       &BusBandwidthOf<CollectiveKind::kReduceScatter>, Better::kHigher,
       "GPU activity, communication kernels, reduce_scatter, message sizes",
       Group6Alias("bandwidth_utilization_reducescatter_group_6")},
      {"busbw_alltoall", "Bus bandwidth of all-to-alls", "GB/s",
       &BusBandwidthOf<CollectiveKind::kAllToAll>, Better::kHigher,
       "GPU activity, communication kernels, all_to_all, message sizes",
       Group6Alias("bandwidth_utilization_alltoall_group_6")},
      {"busbw_broadcast", "Bus bandwidth of broadcasts", "GB/s",
       &BusBandwidthOf<CollectiveKind::kBroadcast>, Better::kHigher,
       "GPU activity, communication kernels, broadcast, message sizes"},
      {"busbw_reduce", "Bus bandwidth of reduces", "GB/s", &BusBandwidthOf<CollectiveKind::kReduce>,
       Better::kHigher, "GPU activity, communication kernels, reduce, message sizes"},
      {"busbw_sendrecv", "Bandwidth of sends and receives", "GB/s",
       &BusBandwidthOf<CollectiveKind::kSendRecv>, Better::kHigher,
       "GPU activity, communication kernels, send_recv, message sizes"},
      {"bandwidth_utilization",
       "Bus bandwidth of all-reduces against the peak of the slowest link they use", "",
       &BandwidthUtilization, Better::kHigher,
       "GPU activity, communication kernels, message sizes"},
      {"bandwidth_utilization_peertopeer_group_6", "NVLink use during sends and receives", "%",
       &BandwidthUtilizationPeertopeer, Better::kNeither,
       "GPU activity, send/receive, link counters"},
      {"collective_bandwidth",
       "Bus and algorithm bandwidth of each collective against the link's peak", "GB/s",
       &CollectiveBandwidth, Better::kHigher,
       "GPU activity, communication kernels, message sizes"}};
}

}  // namespace orrery::analyze::collective_bandwidth
