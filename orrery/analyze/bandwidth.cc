#include "orrery/analyze/bandwidth.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/statistics.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/summary.h"

namespace orrery::analyze {
namespace {

// Whether all members sit on one node: by the card, else by their host names.
std::optional<bool> IsInsideNode(const RunView& run, const CollectiveRecord& record) {
  if (!record.is_matched) {
    const auto per_node = CardInteger(*run.set, "count_per_node");
    return per_node && record.num_ranks > 0 ? std::optional(record.num_ranks <= *per_node)
                                            : std::nullopt;
  }
  const auto per_node = CardInteger(*run.set, "count_per_node");
  std::optional<std::int64_t> node;
  std::string host;
  bool same_node = true;
  bool hosts_known = true;
  for (const std::uint32_t member : run.matched.MembersOf(record.instance)) {
    const std::uint32_t rank_index = run.matched.members.rank_index[member];
    const std::string& member_host = run.set->ranks[rank_index].info.host_name;
    const std::int64_t member_node = per_node ? trace::RankOf(*run.set, rank_index) / *per_node : 0;
    hosts_known &= !member_host.empty();
    same_node &= !node || (per_node ? *node == member_node : host == member_host);
    node = member_node;
    host = member_host;
  }
  return per_node || hosts_known ? std::optional(same_node) : std::nullopt;
}

struct SizeClass {
  std::int64_t bytes = 0;
  std::vector<double> bus;
  std::vector<double> algorithm;
};

}  // namespace

std::vector<CollectiveRecord> LargeRecords(const RunView& run, trace::CollectiveKind kind) {
  std::vector<CollectiveRecord> all;
  std::vector<CollectiveRecord> large;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (IsKind(record.kind, kind) && record.BusBandwidth()) {
      all.push_back(record);
      if (record.bytes >= run.options.min_bytes) {
        large.push_back(record);
      }
    }
  }
  return large.empty() ? all : large;
}

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

}  // namespace orrery::analyze
