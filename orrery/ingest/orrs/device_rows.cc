#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/orrs/assemble.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/stream/codes.h"  // IWYU pragma: keep (enumerators through an alias)
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;
using trace::ActivityKind;

// Parts of 10^9, as the stream writes probabilities.
constexpr double kAllPpb = 1e9;

struct Work {
  std::uint64_t sequence = 0;
  trace::Activities::Row activity;
  trace::Observations::Row seen;
};

constexpr auto kCopyKinds = std::to_array<std::pair<std::uint64_t, trace::CopyKind>>(
    {{codes::kHostToDevice, trace::CopyKind::kHostToDevice},
     {codes::kDeviceToHost, trace::CopyKind::kDeviceToHost},
     {codes::kDeviceToDevice, trace::CopyKind::kDeviceToDevice},
     {codes::kHostToHost, trace::CopyKind::kHostToHost},
     {codes::kPeerToPeer, trace::CopyKind::kPeerToPeer}});

class WorkList {
 public:
  explicit WorkList(Recording& recording) : recording_(recording) {}

  // Takes all device work, in order of events, with what is recorded after a launch: device times
  // and results.
  std::vector<Work> Take() {
    const auto add = [this](const auto& records) {
      for (const auto& record : records) {
        Add(record);
      }
    };
    add(recording_.All<stream::Launch>());
    add(recording_.All<stream::Copy>());
    add(recording_.All<stream::Set>());
    add(recording_.All<stream::GraphLaunch>());
    std::ranges::sort(all_, {}, &Work::sequence);
    ApplyTimes();
    ApplyEnds();
    CountWithoutTime();
    return std::move(all_);
  }

 private:
  Work& New(const auto& event) {
    Work& work = all_.emplace_back();
    work.sequence = event.sequence;
    work.activity.begin_ns = event.time_ns;
    work.activity.duration_ns = event.duration_ns;
    work.activity.track = recording_.DeviceTrack(event.device, event.context, event.stream);
    work.activity.correlation = event.correlation == 0 ? -1 : Signed(event.correlation);
    work.seen.order = Signed(event.sequence);
    return work;
  }

  void Add(const stream::Launch& launch) {
    Work& work = New(launch);
    work.activity.name = recording_.names.Function(launch.function);
    work.activity.shape = ShapeOf(launch);
    work.activity.graph_node = launch.graph_node == 0 ? -1 : Signed(launch.graph_node);
    work.seen.coverage = CoverageOf(launch.coverage);
    work.seen.reason = recording_.names.Text(launch.reason);
    work.seen.call_stack = recording_.names.Stack(launch.stack);
    if (launch.inclusion_ppb >= 0) {
      work.seen.inclusion_probability = static_cast<double>(launch.inclusion_ppb) / kAllPpb;
    }
  }

  void Add(const stream::Copy& copy) {
    Work& work = New(copy);
    work.activity.kind = ActivityKind::kMemcpy;
    work.activity.copy_kind = LookUp(kCopyKinds, copy.kind).value_or(trace::CopyKind::kUnknown);
    work.activity.name = recording_.trace->strings.Intern(MemcpyName(work.activity.copy_kind));
    work.activity.bytes = Signed(MovedBytes(copy));
  }

  void Add(const stream::Set& set) {
    Work& work = New(set);
    work.activity.name = recording_.trace->strings.Intern("Memset");
    work.activity.kind = ActivityKind::kMemset;
    work.activity.bytes = Signed(MovedBytes(set));
  }

  void Add(const stream::GraphLaunch& graph) {
    Work& work = New(graph);
    work.activity.name = recording_.trace->strings.Intern(fmt::format("graph {}", graph.graph));
    work.activity.kind = ActivityKind::kOther;
    work.seen.coverage = trace::Coverage::kUnseen;
  }

  RowId ShapeOf(const stream::Launch& launch) {
    const std::string cluster = launch.cluster_x == 0
                                    ? ""
                                    : fmt::format(R"("cluster":[{},{},{}])", launch.cluster_x,
                                                  launch.cluster_y, launch.cluster_z);
    const trace::LaunchShapes::Row row{
        .grid_x = Small(launch.grid_x),
        .grid_y = Small(launch.grid_y),
        .grid_z = Small(launch.grid_z),
        .block_x = Small(launch.block_x),
        .block_y = Small(launch.block_y),
        .block_z = Small(launch.block_z),
        .registers_per_thread = launch.registers == 0 ? -1 : Small(launch.registers),
        .shared_memory_bytes = Signed(launch.shared_bytes),
        .extra = recording_.trace->strings.Intern(cluster)};
    const auto key =
        std::tuple(row.grid_x, row.grid_y, row.grid_z, row.block_x, row.block_y, row.block_z,
                   row.registers_per_thread, row.shared_memory_bytes, row.extra);
    return FindOrAdd(shapes_, key, [&] { return recording_.trace->launch_shapes.Append(row); });
  }

  Work* Find(std::uint64_t sequence) {
    const auto found = std::ranges::lower_bound(all_, sequence, {}, &Work::sequence);
    return found != all_.end() && found->sequence == sequence ? &*found : nullptr;
  }

  void ApplyTimes() {
    std::int64_t num_unknown = 0;
    for (const stream::DeviceTime& time : recording_.All<stream::DeviceTime>()) {
      if (Work* const work = Find(time.work)) {
        work->activity.begin_ns = time.time_ns;
        work->activity.duration_ns = time.duration_ns;
      } else {
        ++num_unknown;
      }
    }
    recording_.trace->problems.Note("device time of work that is not in the stream", num_unknown);
  }

  void ApplyEnds() {
    std::int64_t num_unknown = 0;
    tsl::robin_map<std::uint64_t, bool> is_ended;
    for (const stream::LaunchEnd& end : recording_.All<stream::LaunchEnd>()) {
      Work* const work = Find(end.launch);
      if (work == nullptr) {
        ++num_unknown;
        continue;
      }
      is_ended[end.launch] = true;
      if (end.coverage != 0) {
        work->seen.coverage = CoverageOf(end.coverage);
      }
    }
    recording_.trace->problems.Note("end of a launch whose begin is not in the stream",
                                    num_unknown);
    // A recorder that writes no ends at all leaves none out.
    if (!recording_.All<stream::LaunchEnd>().empty()) {
      recording_.trace->problems.Note(
          "launch whose end is not in the stream",
          static_cast<std::int64_t>(recording_.All<stream::Launch>().size() - is_ended.size()));
    }
  }

  void CountWithoutTime() {
    std::int64_t num_without = 0;
    for (Work& work : all_) {
      num_without += work.activity.duration_ns < 0 ? 1 : 0;
      work.activity.duration_ns = std::max<std::int64_t>(work.activity.duration_ns, 0);
    }
    recording_.trace->problems.Note(
        "device activity without a duration: only the time of its launch was recorded",
        num_without);
  }

  using ShapeKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                              std::int32_t, std::int32_t, std::int64_t, StringId>;

  Recording& recording_;
  std::vector<Work> all_;
  std::map<ShapeKey, RowId> shapes_;
};

}  // namespace

DeviceRows AppendDeviceRows(Recording& recording) {
  std::vector<Work> all = WorkList(recording).Take();
  // The order of SortRows, so that rows stay where they are appended.
  std::ranges::sort(all, {}, [](const Work& work) {
    return std::tuple(work.activity.begin_ns, -work.activity.duration_ns, work.sequence);
  });
  DeviceRows rows;
  for (Work& work : all) {
    work.seen.activity = recording.trace->activities.Append(work.activity);
    rows.activity_of_event[work.sequence] = work.seen.activity;
    rows.event_of_activity.push_back(work.sequence);
  }
  std::ranges::sort(all, {}, &Work::sequence);
  for (const Work& work : all) {
    recording.trace->observations.Append(work.seen);
  }
  return rows;
}

}  // namespace orrery::ingest::orrs
