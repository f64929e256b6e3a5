#include "orrery/analyze/graph/launch_edges.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

using trace::kNoRow;
using trace::RowId;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The smallest latency of each kind of call.
class LaunchLatencies {
 public:
  explicit LaunchLatencies(const trace::Trace& trace)
      : idle_ns_(trace.strings.size(), kNever), any_ns_(trace.strings.size(), kNever) {
    const trace::Activities& activities = trace.activities;
    std::vector<std::int64_t> busy_until_ns(trace.tracks.size() + 1,
                                            std::numeric_limits<std::int64_t>::min());
    for (RowId row = 0; row < activities.size(); ++row) {
      const RowId track = activities.track[row];
      std::int64_t& busy_ns = busy_until_ns[track == kNoRow ? trace.tracks.size() : track];
      if (activities.launch[row] != kNoRow) {
        Observe(trace, row, busy_ns);
      }
      busy_ns = std::max(busy_ns, activities.begin_ns[row] + activities.duration_ns[row]);
    }
  }

  /// Never on an idle stream: the smallest of all, which is an upper bound.
  [[nodiscard]] std::int64_t Of(StringId name) const {
    const auto index = static_cast<std::size_t>(name);
    const std::int64_t latency_ns = idle_ns_[index] == kNever ? any_ns_[index] : idle_ns_[index];
    return latency_ns == kNever ? 0 : latency_ns;
  }

 private:
  void Observe(const trace::Trace& trace, RowId activity, std::int64_t busy_until_ns) {
    const RowId call = trace.activities.launch[activity];
    const std::int64_t call_ns = trace.runtime_calls.begin_ns[call];
    const std::int64_t latency_ns = trace.activities.begin_ns[activity] - call_ns;
    if (latency_ns < 0) {
      return;
    }
    const auto index = static_cast<std::size_t>(trace.runtime_calls.name[call]);
    any_ns_[index] = std::min(any_ns_[index], latency_ns);
    if (busy_until_ns <= call_ns) {
      idle_ns_[index] = std::min(idle_ns_[index], latency_ns);
    }
  }

  std::vector<std::int64_t> idle_ns_;
  std::vector<std::int64_t> any_ns_;
};

void AddLaunch(RankPart& part, const LaunchLatencies& latencies, NodeId start) {
  const RowId call = part.trace->activities.launch[part.row[start]];
  const NodeId call_start = call == kNoRow ? kNoNode : part.call_start.Find(call);
  if (call_start == kNoNode) {
    ++part.counts.without_launch;
    return;
  }
  part.AddEdge({.from = call_start,
                .to = start,
                .weight_ns = latencies.Of(part.trace->runtime_calls.name[call]),
                .kind = EdgeKind::kLaunch,
                .time_class = TimeClass::kLaunch});
}

}  // namespace

void AddLaunchEdges(RankPart& part) {
  const LaunchLatencies latencies(*part.trace);
  const trace::Activities& activities = part.trace->activities;
  for (const Lane& lane : part.streams) {
    RowId last_launch = kNoRow;
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      const RowId launch = activities.launch[part.row[start]];
      const bool follows_in_graph = launch != kNoRow && launch == last_launch;
      part.counts.graph_activities += activities.graph_node[part.row[start]] >= 0 ? 1 : 0;
      if (!follows_in_graph) {
        AddLaunch(part, latencies, start);
      }
      last_launch = launch;
    }
  }
}

}  // namespace orrery::analyze
