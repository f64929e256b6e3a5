#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::bandwidth_utilization_peertopeer {
namespace {

// The counters of a rank that can be compared with its kernels and with a peak.
struct RankLinks {
  const GpuTraffic* traffic = nullptr;  // nullptr: there are none
  double peak_bytes_per_second = 0;
};

std::vector<RankLinks> LinksOfRanks(const RunView& run, const LinkTraffic& traffic) {
  std::vector<RankLinks> links(run.set->ranks.size());
  for (const GpuTraffic& gpu : traffic.gpus) {
    const DeviceView* const device = DeviceOfTraffic(run, gpu);
    const auto peak = device == nullptr ? std::nullopt : NvlinkPeak(run.TraceOf(*device));
    if (peak && ShareClock(run, gpu, device->rank_index)) {
      links[device->rank_index] = {.traffic = &gpu, .peak_bytes_per_second = *peak};
    }
  }
  return links;
}

// What went over the links during transfers, and what could have gone.
struct Use {
  double bytes = 0;
  double peak_bytes = 0;
  std::int64_t observed_ns = 0;
  std::size_t transfers = 0;

  [[nodiscard]] std::optional<double> Percent() const {
    return peak_bytes > 0 ? std::optional(100 * bytes / peak_bytes) : std::nullopt;
  }
};

// Which way the data of a member goes: the sender of a pair stands first, an exchange goes both.
bool Moves(const RunView& run, std::size_t instance, std::uint32_t member,
           LinkDirection direction) {
  const bool is_first = member == run.matched.instances.first_member[instance];
  return run.matched.instances.kind[instance] != trace::CollectiveKind::kSend ||
         is_first == (direction == LinkDirection::kSent);
}

void AddMember(const RunView& run, std::uint32_t member, const RankLinks& links,
               LinkDirection direction, Use& use) {
  const LinkSeries& series = links.traffic->Of(direction);
  const Interval transfer{run.matched.members.begin_ns[member] + run.waits.wait_ns[member],
                          run.matched.members.end_ns[member]};
  const std::int64_t observed_ns = series.ObservedWithin(transfer);
  use.bytes += series.BytesWithin(transfer);
  use.peak_bytes += links.peak_bytes_per_second * static_cast<double>(observed_ns) / 1e9;
  use.observed_ns += observed_ns;
  use.transfers += observed_ns > 0 ? 1 : 0;
}

Use UseOf(const RunView& run, const std::vector<RankLinks>& links_of_rank,
          LinkDirection direction) {
  Use use;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    const bool is_pair =
        IsKind(run.matched.instances.kind[instance], trace::CollectiveKind::kSendRecv);
    if (!is_pair || !run.Counts(instance)) {
      continue;
    }
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const RankLinks& links = links_of_rank[run.matched.members.rank_index[member]];
      if (links.traffic != nullptr && Moves(run, instance, member, direction)) {
        AddMember(run, member, links, direction, use);
      }
    }
  }
  return use;
}

Value UseRow(LinkDirection direction, const Use& use) {
  return Value::Object()
      .Set("direction", DirectionName(direction))
      .Set("percent", use.Percent() ? Value(*use.Percent()) : Value())
      .Set("bytes", use.bytes)
      .Set("observed_us", static_cast<double>(use.observed_ns) / 1e3)
      .Set("transfers", use.transfers);
}

MetricResult Compute(const RunView& run) {
  const LinkTraffic traffic = LinkTrafficOf(run);
  if (traffic.gpus.empty()) {
    return NotAvailable(traffic.reason);
  }
  const std::vector<RankLinks> links_of_rank = LinksOfRanks(run, traffic);
  MetricResult result;
  Value rows = Value::List();
  for (const LinkDirection direction : ChosenDirections(run.options)) {
    const Use use = UseOf(run, links_of_rank, direction);
    if (use.Percent() && (!result.value || *use.Percent() > *result.value)) {
      result.value = use.Percent();
    }
    rows.Add(UseRow(direction, use));
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

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "bandwidth_utilization_peertopeer_group_6",
           .meaning = "NVLink use during sends and receives",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kPointToPoint}, {NeedKind::kLinkCounters}},
           .definition = "Counted bytes during the transfer parts of matched sends (tx) and "
                         "receives (rx) / what the links could carry in that time; without "
                         "--direction the larger one",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::bandwidth_utilization_peertopeer
