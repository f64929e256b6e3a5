#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/bandwidth.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_names.h"

namespace orrery::analyze::collective_bandwidth {
namespace {

Value RowOf(const RunView& run, const CollectiveRecord& record, double bus) {
  const auto peak = LinkPeak(run, record);
  return Value::Object()
      .Set("kind", trace::CollectiveKindName(record.kind))
      .Set("begin_ns", record.begin_ns)
      .Set("ranks", static_cast<std::int64_t>(record.num_ranks))
      .Set("bytes", record.bytes)
      .Set("transfer_us", static_cast<double>(record.transfer_ns) / 1e3)
      .Set("algbw_GB_per_s",
           static_cast<double>(record.bytes) / static_cast<double>(record.transfer_ns))
      .Set("busbw_GB_per_s", bus / 1e9)
      .Set("share_of_link_peak", peak ? Value(bus / *peak) : Value());
}

MetricResult Compute(const RunView& run) {
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
  return {{.name = "collective_bandwidth",
           .meaning = "Bus and algorithm bandwidth of each collective against the link's peak",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
           .definition = "Message size (* bus factor) / shortest duration over ranks of every "
                         "communication; the number is the median bus bandwidth",
           .compute = &Compute,
           .better = Better::kHigher}};
}

}  // namespace orrery::analyze::collective_bandwidth
