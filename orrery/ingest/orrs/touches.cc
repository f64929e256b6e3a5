#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/core.h>
#include <tsl/robin_map.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/row_numbers.h"
#include "orrery/ingest/object_rows.h"
#include "orrery/ingest/orrs/assemble.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::orrs {
namespace {

using trace::Coverage;

class Linker {
 public:
  Linker(Recording& recording, Replay& replay, const DeviceRows& device_rows)
      : recording_(recording),
        trace_(*recording.trace),
        lifetimes_(replay.memory.all()),
        replay_(replay),
        device_rows_(device_rows),
        operator_of_event_(trace_.host_ops.external_id) {}

  void Link() {
    AppendLifetimes();
    ResolveKeys();
    InheritCoverage();
    AppendMoves();
    AppendReachable();
    NameOperators();
  }

 private:
  void AppendLifetimes() {
    std::vector<trace::MemoryObjects::Row> rows;
    for (const MemoryLifetime& life : lifetimes_) {
      rows.push_back(
          {.begin_ns = life.birth_ns,
           .duration_ns = life.death_order < 0 ? -1 : Elapsed(life.birth_ns, life.death_ns),
           .id = Signed(life.id),
           .address = life.address,
           .bytes = Signed(life.bytes),
           .requested_bytes = life.requested_bytes,
           .memory_class = life.memory_class,
           .device = Small(life.device),
           .stream = Signed(life.stream),
           .birth_order = life.birth_order,
           .death_order = life.death_order,
           .name = recording_.names.Text(life.name),
           .call_stack = recording_.names.Stack(life.stack),
           .host_op = OperatorRow(life.operator_begin),
           .parent = life.parent == kNoLifetime ? kNoRow : static_cast<RowId>(life.parent)});
    }
    row_of_lifetime_ = AppendObjects(rows, trace_.memory_objects);
    for (RowId row = 0; row < trace_.memory_objects.size(); ++row) {
      row_of_object_[static_cast<std::uint64_t>(trace_.memory_objects.id[row])] = row;
    }
  }

  RowId OperatorRow(std::uint64_t begin) const {
    return begin == 0 ? kNoRow : operator_of_event_.First(Signed(begin));
  }

  void ResolveKeys() {
    const std::vector<RowId> activities = RowsOfLaunches();
    std::vector<RowId> objects;
    for (const std::uint64_t object : recording_.objects.keys()) {
      objects.push_back(ObjectRow(object));
    }
    Renumber(trace_.touches.activity, activities);
    Renumber(trace_.touches.object, objects);
    Renumber(trace_.page_runs.activity, activities);
    Renumber(trace_.page_runs.object, objects);
    Renumber(trace_.accesses.activity, activities);
    Renumber(trace_.coverage_counts.activity, activities);
  }

  // Number 0 is no launch.
  std::vector<RowId> RowsOfLaunches() {
    std::vector<RowId> rows;
    std::int64_t num_missing = 0;
    for (const std::uint64_t launch : recording_.launches.keys()) {
      rows.push_back(launch == 0 ? kNoRow : ActivityRow(launch));
      num_missing += launch != 0 && rows.back() == kNoRow ? 1 : 0;
    }
    trace_.problems.Loss("launch that is referenced but not in the stream", num_missing);
    return rows;
  }

  RowId ActivityRow(std::uint64_t event) const {
    return FindOr(device_rows_.activity_of_event, event, kNoRow);
  }

  // Number 0 is no object. One that a lost chunk defined is a row with its number and nothing else.
  RowId ObjectRow(std::uint64_t object) {
    if (object == 0) {
      return kNoRow;
    }
    const auto known = row_of_object_.find(object);
    if (known != row_of_object_.end()) {
      return known->second;
    }
    trace_.problems.Loss("object that is referenced but not in the stream");
    const std::int64_t begin_ns =
        trace_.memory_objects.empty() ? 0 : trace_.memory_objects.begin_ns.back();
    return row_of_object_[object] =
               trace_.memory_objects.Append({.begin_ns = begin_ns, .id = Signed(object)});
  }

  // A touch without coverage of its own has that of its launch. What was counted although
  // the launch says nothing of having been watched is at least a part.
  void InheritCoverage() {
    coverage_of_activity_.resize(trace_.activities.size(), Coverage::kUnseen);
    for (RowId row = 0; row < trace_.observations.size(); ++row) {
      coverage_of_activity_[trace_.observations.activity[row]] = trace_.observations.coverage[row];
    }
    MarkReceivers();
    for (RowId row = 0; row < trace_.touches.size(); ++row) {
      const RowId activity = trace_.touches.activity[row];
      if (trace_.touches.coverage[row] == Coverage::kUnseen) {
        const bool is_exact =
            activity != kNoRow && coverage_of_activity_[activity] == Coverage::kExact;
        trace_.touches.coverage[row] = is_exact ? Coverage::kExact : Coverage::kPartial;
      }
    }
  }

  // Marks launches whose counters include those of other launches. The other launches are marked by
  // their own records.
  void MarkReceivers() {
    std::vector<std::int64_t> num_merged(trace_.activities.size(), 0);
    for (RowId row = 0; row < trace_.coverage_counts.size(); ++row) {
      const RowId activity = trace_.coverage_counts.activity[row];
      if (trace_.coverage_counts.kind[row] == trace::CoverageKind::kLaunchesMerged &&
          activity != kNoRow) {
        num_merged[activity] += trace_.coverage_counts.count[row];
      }
    }
    for (RowId row = 0; row < trace_.observations.size(); ++row) {
      const RowId activity = trace_.observations.activity[row];
      if (num_merged[activity] > 0) {
        coverage_of_activity_[activity] = Coverage::kPartial;
        trace_.observations.reason[row] = trace_.strings.Intern(
            fmt::format("counts of {} more launch{} merged into it", num_merged[activity],
                        num_merged[activity] == 1 ? "" : "es"));
      }
    }
  }

  void AppendMoves() {
    const auto append = [&](std::uint64_t event, std::size_t life, std::uint64_t address,
                            std::uint64_t extent, std::int64_t read, std::int64_t written) {
      trace_.touches.Append({.activity = ActivityRow(event),
                             .object = life == kNoLifetime ? kNoRow : row_of_lifetime_[life],
                             .read_bytes = read,
                             .write_bytes = written,
                             .atomic_bytes = 0,
                             .address = address,
                             .extent_bytes = Signed(extent)});
    };
    const auto& copies = recording_.All<stream::Copy>();
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const stream::Copy& copy = copies[i];
      const std::int64_t bytes = Signed(MovedBytes(copy));
      append(copy.sequence, replay_.of_copy[i].source, copy.source,
             ExtentOf(copy.width_bytes, NumRows(copy), copy.source_pitch), bytes, 0);
      append(copy.sequence, replay_.of_copy[i].destination, copy.destination,
             ExtentOf(copy.width_bytes, NumRows(copy), copy.destination_pitch), 0, bytes);
    }
    const auto& sets = recording_.All<stream::Set>();
    for (std::size_t i = 0; i < sets.size(); ++i) {
      append(sets[i].sequence, replay_.of_set[i].destination, sets[i].address,
             ExtentOf(sets[i].width_bytes, sets[i].height, sets[i].pitch), 0,
             Signed(MovedBytes(sets[i])));
    }
  }

  // Appends the memory that launches can reach by their arguments, apart from counted accesses.
  void AppendReachable() {
    tsl::robin_map<std::uint64_t, const MapExtent*> map_by_id;
    for (const MapExtent& map : recording_.maps) {
      map_by_id[map.id] = &map;
    }
    for (const stream::LaunchMap& use : recording_.All<stream::LaunchMap>()) {
      const auto map = map_by_id.find(use.map);
      const bool is_known = map != map_by_id.end();
      AppendReach({.activity = ActivityRow(use.launch),
                   .object = ObjectRow(use.object),
                   .coverage = Coverage::kByDescriptor,
                   .address = is_known ? map->second->address : 0,
                   .extent_bytes = is_known ? Signed(map->second->bytes) : -1});
    }
    for (const stream::LaunchArgument& use : recording_.All<stream::LaunchArgument>()) {
      const RowId object = ObjectRow(use.object);
      AppendReach({.activity = ActivityRow(use.launch),
                   .object = object,
                   .coverage = Coverage::kByArgument,
                   .address = use.address,
                   .extent_bytes = BytesFrom(object, use.address)});
    }
    for (RowId row = 0; row < trace_.observations.size(); ++row) {
      trace_.observations.coverage[row] = coverage_of_activity_[trace_.observations.activity[row]];
    }
  }

  // A launch that was not watched is still known by what it was given; a descriptor says more than
  // an argument.
  void AppendReach(const trace::Touches::Row& row) {
    if (row.activity == kNoRow) {
      trace_.problems.Loss("argument of a launch that is not in the stream");
      return;
    }
    trace_.touches.Append(row);
    Coverage& coverage = coverage_of_activity_[row.activity];
    if (coverage == Coverage::kUnseen ||
        (coverage == Coverage::kByArgument && row.coverage == Coverage::kByDescriptor)) {
      coverage = row.coverage;
    }
  }

  [[nodiscard]] std::int64_t BytesFrom(RowId object, std::uint64_t address) const {
    if (object == kNoRow) {
      return -1;
    }
    const std::uint64_t offset = address - trace_.memory_objects.address[object];
    const auto bytes = static_cast<std::uint64_t>(trace_.memory_objects.bytes[object]);
    return offset < bytes ? Signed(bytes - offset) : -1;
  }

  // By the order of events: exact where times of host and device differ.
  void NameOperators() {
    for (RowId row = 0; row < trace_.activities.size(); ++row) {
      const auto found = replay_.operator_of_event.find(device_rows_.event_of_activity[row]);
      if (found != replay_.operator_of_event.end()) {
        trace_.activities.host_op[row] = OperatorRow(found->second);
      }
    }
  }

  Recording& recording_;
  trace::Trace& trace_;
  const std::vector<MemoryLifetime>& lifetimes_;
  const Replay& replay_;
  const DeviceRows& device_rows_;
  trace::RowIndex operator_of_event_;
  std::vector<RowId> row_of_lifetime_;
  tsl::robin_map<std::uint64_t, RowId> row_of_object_;
  std::vector<Coverage> coverage_of_activity_;
};

}  // namespace

void LinkMemory(Recording& recording, Replay& replay, const DeviceRows& device_rows) {
  Linker(recording, replay, device_rows).Link();
}

}  // namespace orrery::ingest::orrs
