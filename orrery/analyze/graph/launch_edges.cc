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


constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// What takes longer is not launching: calls of that name never met a stream that was ready.
constexpr std::int64_t kLongestLatencyNs = 30'000;

// The smallest latency of each kind of call.
class LaunchLatencies {
 public:
  explicit LaunchLatencies(const trace::Trace& trace) : smallest_ns_(trace.strings.size(), kNever) {
    for (RowId row = 0; row < trace.activities.size(); ++row) {
      const RowId call = trace.activities.launch[row];
      if (call != kNoRow) {
        Observe(trace.runtime_calls.name[call],
                trace.activities.begin_ns[row] - trace.runtime_calls.begin_ns[call]);
      }
    }
  }

  [[nodiscard]] std::int64_t Of(StringId name) const {
    const std::int64_t latency_ns = smallest_ns_[static_cast<std::size_t>(name)];
    if (latency_ns <= kLongestLatencyNs) {
      return latency_ns;
    }
    return smallest_of_all_ns_ <= kLongestLatencyNs ? smallest_of_all_ns_ : 0;
  }

 private:
  void Observe(StringId name, std::int64_t latency_ns) {
    if (latency_ns >= 0) {
      std::int64_t& smallest_ns = smallest_ns_[static_cast<std::size_t>(name)];
      smallest_ns = std::min(smallest_ns, latency_ns);
      smallest_of_all_ns_ = std::min(smallest_of_all_ns_, latency_ns);
    }
  }

  std::vector<std::int64_t> smallest_ns_;
  std::int64_t smallest_of_all_ns_ = kNever;
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
