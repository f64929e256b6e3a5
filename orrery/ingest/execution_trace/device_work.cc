#include "orrery/ingest/execution_trace/device_work.h"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "orrery/ingest/json_value.h"
#include "orrery/ingest/kineto/adjust.h"
#include "orrery/ingest/kineto/categories.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::ActivityKind;
using trace::Trace;

ActivityKind KindOf(std::string_view category) {
  switch (kineto::FindCategory(category)) {
    case kineto::Category::kKernel:
      return ActivityKind::kKernel;
    case kineto::Category::kCopy:
      return ActivityKind::kMemcpy;
    case kineto::Category::kSet:
      return ActivityKind::kMemset;
    default:
      return ActivityKind::kOther;
  }
}

class ActivityBuilder {
 public:
  explicit ActivityBuilder(Trace& trace) : trace_(trace) {}

  void Add(RowId node) {
    const auto keys = text_.ParseFields(trace_.Text(trace_.graph_nodes.attributes[node]));
    const auto args = Field(keys, "args");
    trace::Activities::Row row;
    row.begin_ns = trace_.graph_nodes.begin_ns[node];
    row.duration_ns = trace_.graph_nodes.duration_ns[node];
    row.name = trace_.graph_nodes.name[node];
    row.kind = KindOf(Text(Field(keys, "cat")).value_or(""));
    row.correlation = Integer(Field(args, "correlation")).value_or(-1);
    row.external_id = Integer(Field(args, "External id")).value_or(-1);
    row.bytes = Integer(Field(args, "bytes")).value_or(-1);
    row.track = TrackOf(Integer(Field(keys, "pid")).value_or(0), trace_.graph_nodes.thread[node],
                        SmallInteger(Field(args, "device")));
    row.shape = row.kind == ActivityKind::kKernel ? ShapeOf(args) : kNoRow;
    trace_.activities.Append(row);
  }

 private:
  RowId TrackOf(std::int64_t process, std::int64_t stream, std::int32_t device) {
    const auto [found, is_new] = tracks_.try_emplace({process, stream}, kNoRow);
    if (is_new) {
      found->second = trace_.tracks.Append({.kind = trace::TrackKind::kDevice,
                                            .process = process,
                                            .thread = stream,
                                            .device = device});
    }
    return found->second;
  }

  RowId ShapeOf(const std::optional<JsonElement>& args) {
    const auto grid = Field(args, "grid");
    const auto block = Field(args, "block");
    const trace::LaunchShapes::Row shape{
        .grid_x = SmallInteger(ElementAt(grid, 0)),
        .grid_y = SmallInteger(ElementAt(grid, 1)),
        .grid_z = SmallInteger(ElementAt(grid, 2)),
        .block_x = SmallInteger(ElementAt(block, 0)),
        .block_y = SmallInteger(ElementAt(block, 1)),
        .block_z = SmallInteger(ElementAt(block, 2)),
        .registers_per_thread = SmallInteger(Field(args, "registers per thread")),
        .shared_memory_bytes = Integer(Field(args, "shared memory")).value_or(-1),
        .occupancy_percent = SmallInteger(Field(args, "est. achieved occupancy %")),
    };
    const auto [found, is_new] =
        shapes_.try_emplace(std::tuple(shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x,
                                       shape.block_y, shape.block_z, shape.registers_per_thread,
                                       shape.shared_memory_bytes, shape.occupancy_percent),
                            kNoRow);
    if (is_new) {
      found->second = trace_.launch_shapes.Append(shape);
    }
    return found->second;
  }

  using ShapeKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                              std::int32_t, std::int32_t, std::int64_t, std::int32_t>;

  Trace& trace_;
  JsonText text_;
  std::map<std::pair<std::int64_t, std::int64_t>, RowId> tracks_;
  std::map<ShapeKey, RowId> shapes_;
};

}  // namespace

void AddActivities(Trace& trace) {
  ActivityBuilder builder(trace);
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    if (trace.graph_nodes.kind[node] != trace::GraphNodeKind::kDeviceWork) {
      continue;
    }
    if (trace.graph_nodes.begin_ns[node] < 0) {
      trace.problems.Note("device work without a time: only a graph node");
      continue;
    }
    builder.Add(node);
  }
  kineto::ClassifyCopies(trace);
}

}  // namespace orrery::ingest::execution_trace
