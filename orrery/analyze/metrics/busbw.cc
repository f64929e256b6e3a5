#include <algorithm>
#include <vector>

#include "orrery/analyze/bandwidth.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::busbw {
namespace {

using trace::CollectiveKind;

void DescribeRecords(const RunView& run, const std::vector<CollectiveRecord>& records,
                     Value& detail) {
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
  detail.Set("collectives", records.size());
  detail.Set("algbw_p50_GB_per_s", Median(algorithm));
  detail.Set("byte_weighted_mean_GB_per_s", bus_bytes / seconds / 1e9);
  detail.Set("link_peak_GB_per_s", peaks.empty() ? Value() : Value(Median(peaks)));
  detail.Set("by_size", SizeHistogram(records));
}

template <CollectiveKind kKind>
MetricResult Compute(const RunView& run) {
  const std::vector<CollectiveRecord> records = LargeRecords(run, kKind);
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
  DescribeRecords(run, records, result.detail);
  if (!records.front().is_matched) {
    result.detail.Set("bound", "lower");
    result.detail.Set("note", "one rank only: durations may hold waiting");
  }
  return result;
}

template <CollectiveKind kKind>
Metric MetricOf(std::string_view name, std::string_view meaning, std::string_view alias) {
  Metric metric{.name = name,
                .meaning = meaning,
                .unit = "GB/s",
                .needs = {{NeedKind::kGpu},
                          {NeedKind::kComm},
                          {.kind = NeedKind::kCollective, .collective = kKind},
                          {NeedKind::kSizes}},
                .definition =
                    "Median over matched collectives of --min-bytes or more of message size "
                    "* bus factor / shortest duration over ranks",
                .compute = &Compute<kKind>,
                .better = Better::kHigher};
  if (!alias.empty()) {
    metric.aliases = {{.name = alias,
                       .difference =
                           "ccl-bench takes one rank with its waiting, the input size and "
                           "GiB/s"}};
  }
  return metric;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      MetricOf<CollectiveKind::kAllReduce>("busbw_allreduce", "Bus bandwidth of all-reduces",
                                           "bandwidth_utilization_allreduce_group_6"),
      MetricOf<CollectiveKind::kAllGather>("busbw_allgather", "Bus bandwidth of all-gathers",
                                           "bandwidth_utilization_allgather_group_6"),
      MetricOf<CollectiveKind::kReduceScatter>("busbw_reducescatter",
                                               "Bus bandwidth of reduce-scatters",
                                               "bandwidth_utilization_reducescatter_group_6"),
      MetricOf<CollectiveKind::kAllToAll>("busbw_alltoall", "Bus bandwidth of all-to-alls",
                                          "bandwidth_utilization_alltoall_group_6"),
      MetricOf<CollectiveKind::kBroadcast>("busbw_broadcast", "Bus bandwidth of broadcasts", ""),
      MetricOf<CollectiveKind::kReduce>("busbw_reduce", "Bus bandwidth of reduces", ""),
      MetricOf<CollectiveKind::kSendRecv>("busbw_sendrecv", "Bandwidth of sends and receives", "")};
}

}  // namespace orrery::analyze::busbw
