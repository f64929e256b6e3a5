#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/json_text.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/ingest/kineto/row_builder.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/data_types.h"
#include "orrery/trace/enums.h"

// The rows of the device, and of collectives, which both sides describe.

namespace orrery::ingest::kineto {
namespace {

// The three numbers of "[4, 1, 1]".
std::array<std::int32_t, 3> TripleOf(std::string_view token) {
  std::array<std::int32_t, 3> triple{-1, -1, -1};
  std::size_t at = 0;
  for (std::int32_t& number : triple) {
    at = token.find_first_of("0123456789-", at);
    if (at == std::string_view::npos) {
      break;
    }
    const char* const begin = token.data() + at;
    const auto [stop, error] = std::from_chars(begin, token.data() + token.size(), number);
    if (error != std::errc()) {
      number = -1;
      break;
    }
    at += static_cast<std::size_t>(stop - begin);
  }
  return triple;
}

trace::SyncKind SyncKindOf(std::string_view name) {
  if (name == "Stream Sync") {
    return trace::SyncKind::kStream;
  }
  if (name == "Context Sync" || name == "Context Synchronize") {
    return trace::SyncKind::kContext;
  }
  if (name == "Event Sync") {
    return trace::SyncKind::kEvent;
  }
  return name == "Stream Wait Event" ? trace::SyncKind::kStreamWaitEvent
                                     : trace::SyncKind::kUnknown;
}

}  // namespace

void RowBuilder::AddActivity(EventTokens& event, Times times, trace::ActivityKind kind) {
  constexpr std::uint64_t kShape = ArgKeySet({ArgKey::kGrid, ArgKey::kBlock, ArgKey::kRegisters,
                                              ArgKey::kSharedMemory, ArgKey::kOccupancy});
  // The bandwidth of a copy is its bytes over its time: nothing to keep.
  constexpr std::uint64_t kUsed =
      ArgKeySet({ArgKey::kExternalId, ArgKey::kCorrelation, ArgKey::kDevice, ArgKey::kStream,
                 ArgKey::kBytes, ArgKey::kGraphNode, ArgKey::kBandwidth});
  if (times.begin_ns == 0) {
    chunk_.rows.problems.Note("GPU activity at time 0, where the profiler puts times it clamps");
  }
  const bool is_collective = event.Has(ArgKey::kCollectiveName);
  const bool has_shape = (event.present & kShape) != 0;
  const RowId collective = is_collective ? AddCollective(event) : kNoRow;
  const StringId extra =
      Extra(event, kUsed | kShape | (is_collective ? kCollectiveKeys : std::uint64_t{0}));
  chunk_.rows.activities.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = Text(event.name),
      .track = DeviceTrack(event),
      .kind = kind,
      .correlation = Integer(event, ArgKey::kCorrelation, -1),
      .external_id = Integer(event, ArgKey::kExternalId, -1),
      .bytes = Integer(event, ArgKey::kBytes, -1),
      .graph_node = Integer(event, ArgKey::kGraphNode, -1),
      .shape = has_shape ? LaunchShape(event) : kNoRow,
      .collective = collective,
      .extra = has_shape ? StringId::kEmpty : extra,
  });
}

void RowBuilder::AddSync(EventTokens& event, Times times, bool is_record) {
  constexpr std::uint64_t kUsed =
      ArgKeySet({ArgKey::kCorrelation, ArgKey::kDevice, ArgKey::kStream, ArgKey::kWaitOnStream,
                 ArgKey::kRecordCorrelation, ArgKey::kWaitOnEvent, ArgKey::kEventId});
  const StringId name = Text(event.name);
  chunk_.rows.syncs.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = name,
      .track = DeviceTrack(event),
      .kind = is_record ? trace::SyncKind::kEventRecord : SyncKindOf(chunk_.rows.Text(name)),
      .device = Narrow(Integer(event, ArgKey::kDevice, -1)),
      .stream = Integer(event, ArgKey::kStream, -1),
      .correlation = Integer(event, ArgKey::kCorrelation, -1),
      .event_id = Integer(event, is_record ? ArgKey::kEventId : ArgKey::kWaitOnEvent, -1),
      .wait_on_stream = Integer(event, ArgKey::kWaitOnStream, -1),
      .record_correlation = Integer(event, ArgKey::kRecordCorrelation, -1),
      .extra = Extra(event, kUsed),
  });
}

RowId RowBuilder::AddCollective(const EventTokens& event) {
  const auto integer = [&](ArgKey key) { return IntegerOf(event.Arg(key)).value_or(-1); };
  const StringId name = Text(event.Arg(ArgKey::kCollectiveName));
  const std::string_view name_text = chunk_.rows.Text(name);
  const trace::DataType type = trace::ParseDataType(Unquoted(event.Arg(ArgKey::kDataType)));
  std::int64_t peer = integer(ArgKey::kDestinationRank);
  peer = peer < 0 ? integer(ArgKey::kSourceRank) : peer;
  chunk_.features.group_sequence |= event.Has(ArgKey::kGroupSequence);
  return chunk_.rows.collectives.Append({
      .name = name,
      .kind = trace::ParseCollectiveName(name_text).value_or(trace::CollectiveKind::kUnknown),
      .group = AddProcessGroup(event),
      .data_type = type,
      .in_elements = integer(ArgKey::kInElements),
      .out_elements = integer(ArgKey::kOutElements),
      .in_bytes = trace::SizeInBytes(integer(ArgKey::kInElements), type),
      .out_bytes = trace::SizeInBytes(integer(ArgKey::kOutElements), type),
      .in_splits = Text(event.Arg(ArgKey::kInSplits)),
      .out_splits = Text(event.Arg(ArgKey::kOutSplits)),
      .sequence = integer(ArgKey::kGroupSequence),
      .comms_id = UnsignedOf(event.Arg(ArgKey::kCommsId)).value_or(0),
      .peer = Narrow(peer),
      .is_async = static_cast<std::uint8_t>(event.Arg(ArgKey::kIsAsync) == "true" ||
                                            event.Arg(ArgKey::kIsAsync) == "1"),
  });
}

RowId RowBuilder::AddProcessGroup(const EventTokens& event) {
  std::string key;
  for (const ArgKey part :
       {ArgKey::kGroupName, ArgKey::kGroupDescription, ArgKey::kGroupRanks, ArgKey::kGroupSize}) {
    key += event.Arg(part);
    key += '\n';
  }
  if (key.size() == 4) {
    return kNoRow;
  }
  if (const auto known = groups_.find(key); known != groups_.end()) {
    return known->second;
  }
  const auto integer = [&](ArgKey part) { return Narrow(IntegerOf(event.Arg(part)).value_or(-1)); };
  const StringId ranks =
      chunk_.rows.strings.Intern(WithoutBlanks(TextOf(event.Arg(ArgKey::kGroupRanks), unescaped_)));
  const bool is_cut = chunk_.rows.Text(ranks).find("...") != std::string_view::npos;
  const RowId row = chunk_.rows.process_groups.Append({
      .name = Text(event.Arg(ArgKey::kGroupName)),
      .description = Text(event.Arg(ArgKey::kGroupDescription)),
      .num_ranks = integer(ArgKey::kGroupSize),
      .ranks = ranks,
      .ranks_cut = static_cast<std::uint8_t>(is_cut),
      .rank_start = integer(ArgKey::kRankStart),
      .rank_stride = integer(ArgKey::kRankStride),
  });
  groups_.emplace(std::move(key), row);
  return row;
}

RowId RowBuilder::LaunchShape(EventTokens& event) {
  std::string key;
  for (const ArgKey part : {ArgKey::kGrid, ArgKey::kBlock, ArgKey::kRegisters,
                            ArgKey::kSharedMemory, ArgKey::kOccupancy}) {
    key += event.Arg(part);
    key += '\n';
  }
  key += event.extra;
  if (const auto known = shapes_.find(key); known != shapes_.end()) {
    return known->second;
  }
  const auto grid = TripleOf(event.Arg(ArgKey::kGrid));
  const auto block = TripleOf(event.Arg(ArgKey::kBlock));
  const RowId row = chunk_.rows.launch_shapes.Append({
      .grid_x = grid[0],
      .grid_y = grid[1],
      .grid_z = grid[2],
      .block_x = block[0],
      .block_y = block[1],
      .block_z = block[2],
      .registers_per_thread = Narrow(Integer(event, ArgKey::kRegisters, -1)),
      .shared_memory_bytes = Integer(event, ArgKey::kSharedMemory, -1),
      .occupancy_percent = Narrow(Integer(event, ArgKey::kOccupancy, -1)),
      .extra = Json(event.extra),
  });
  shapes_.emplace(std::move(key), row);
  return row;
}

RowId RowBuilder::DeviceTrack(const EventTokens& event) {
  const std::string_view device = event.Has(ArgKey::kDevice)     ? event.Arg(ArgKey::kDevice)
                                  : event.Has(ArgKey::kInDevice) ? event.Arg(ArgKey::kInDevice)
                                                                 : event.process;
  const std::string_view stream =
      event.Has(ArgKey::kStream) ? event.Arg(ArgKey::kStream) : event.thread;
  return Track(trace::TrackKind::kDevice, device, stream);
}

}  // namespace orrery::ingest::kineto
