#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/kineto/event_tokens.h"
#include "orrery/ingest/kineto/row_builder.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"

// The rows of the device, and of collectives, which both sides describe.

namespace orrery::ingest::kineto {
namespace {

using enum ArgKey;

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
  constexpr auto kKinds = std::to_array<std::pair<std::string_view, trace::SyncKind>>(
      {{"Stream Sync", trace::SyncKind::kStream},
       {"Context Sync", trace::SyncKind::kContext},
       {"Context Synchronize", trace::SyncKind::kContext},
       {"Event Sync", trace::SyncKind::kEvent},
       {"Stream Wait Event", trace::SyncKind::kStreamWaitEvent}});
  return LookUp(kKinds, name).value_or(trace::SyncKind::kUnknown);
}

CollectiveKind KindNamed(std::string_view name) {
  std::size_t kind = kNumCollectiveKinds - 1;
  while (kind > 0 && CollectiveKindName(static_cast<CollectiveKind>(kind)) != name) {
    --kind;
  }
  return static_cast<CollectiveKind>(kind);
}

}  // namespace

void RowBuilder::AddActivity(EventTokens& event, Times times, trace::ActivityKind kind) {
  constexpr std::uint64_t kShape =
      ArgKeySet({kGrid, kBlock, kRegisters, kSharedMemory, kOccupancy});
  // The bandwidth of a copy is its bytes over its time: nothing to keep.
  constexpr std::uint64_t kUsed =
      ArgKeySet({kExternalId, kCorrelation, kDevice, kStream, kBytes, kGraphNode, kBandwidth});
  if (times.begin_ns == 0) {
    chunk_.rows.problems.Note("GPU activity at time 0, where the profiler puts times it clamps");
  }
  const bool is_collective = event.Has(kCollectiveName);
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
      .correlation = Integer(event, kCorrelation, -1),
      .external_id = Integer(event, kExternalId, -1),
      .bytes = Integer(event, kBytes, -1),
      .graph_node = Integer(event, kGraphNode, -1),
      .shape = has_shape ? LaunchShape(event) : kNoRow,
      .collective = collective,
      .extra = has_shape ? StringId::kEmpty : extra,
  });
}

void RowBuilder::AddSync(EventTokens& event, Times times, bool is_record) {
  constexpr std::uint64_t kUsed = ArgKeySet(
      {kCorrelation, kDevice, kStream, kWaitOnStream, kRecordCorrelation, kWaitOnEvent, kEventId});
  const StringId name = Text(event.name);
  chunk_.rows.syncs.Append({
      .begin_ns = times.begin_ns,
      .duration_ns = times.duration_ns,
      .name = name,
      .track = DeviceTrack(event),
      .kind = is_record ? trace::SyncKind::kEventRecord : SyncKindOf(chunk_.rows.Text(name)),
      .device = Narrow(Integer(event, kDevice, -1)),
      .stream = Integer(event, kStream, -1),
      .correlation = Integer(event, kCorrelation, -1),
      .event_id = Integer(event, is_record ? kEventId : kWaitOnEvent, -1),
      .wait_on_stream = Integer(event, kWaitOnStream, -1),
      .record_correlation = Integer(event, kRecordCorrelation, -1),
      .extra = Extra(event, kUsed),
  });
}

RowId RowBuilder::AddCollective(const EventTokens& event) {
  const auto integer = [&](ArgKey key) { return IntegerOf(event.Arg(key)).value_or(-1); };
  const StringId name = Text(event.Arg(kCollectiveName));
  const std::string_view name_text = chunk_.rows.Text(name);
  const DataType type = ParseDataType(Unquoted(event.Arg(kDataType)));
  const auto bytes = [&](ArgKey bytes_key, ArgKey elements_key) {
    return event.Has(bytes_key) ? integer(bytes_key) : SizeInBytes(integer(elements_key), type);
  };
  std::int64_t peer = integer(kDestinationRank);
  peer = peer < 0 ? integer(kSourceRank) : peer;
  chunk_.features.group_sequence |= event.Has(kGroupSequence);
  return chunk_.rows.collectives.Append({
      .name = name,
      .kind = event.Has(kCollectiveKind)
                  ? KindNamed(Unquoted(event.Arg(kCollectiveKind)))
                  : trace::ParseCollectiveName(name_text).value_or(CollectiveKind::kUnknown),
      .group = AddProcessGroup(event),
      .data_type = type,
      .in_elements = integer(kInElements),
      .out_elements = integer(kOutElements),
      .in_bytes = bytes(kInMessageBytes, kInElements),
      .out_bytes = bytes(kOutMessageBytes, kOutElements),
      .in_splits = Text(event.Arg(kInSplits)),
      .out_splits = Text(event.Arg(kOutSplits)),
      .sequence = integer(kGroupSequence),
      .comms_id = UnsignedOf(event.Arg(kCommsId)).value_or(0),
      .peer = Narrow(peer),
      .is_async =
          static_cast<std::uint8_t>(event.Arg(kIsAsync) == "true" || event.Arg(kIsAsync) == "1"),
  });
}

RowId RowBuilder::AddProcessGroup(const EventTokens& event) {
  std::string key;
  for (const ArgKey part :
       {kGroupName, kGroupDescription, kGroupRanks, kGroupSize, kCommunicator}) {
    key += event.Arg(part);
    key += '\n';
  }
  if (key.size() == 5) {
    return kNoRow;
  }
  const auto integer = [&](ArgKey part) { return Narrow(IntegerOf(event.Arg(part)).value_or(-1)); };
  return FindOrAdd(groups_, key, [&] {
    const std::string ranks =
        WithoutBlanks(std::string(TextOf(event.Arg(kGroupRanks), unescaped_)));
    const StringId ranks_id = chunk_.rows.strings.Intern(ranks);
    return chunk_.rows.process_groups.Append({
        .name = Text(event.Arg(kGroupName)),
        .description = Text(event.Arg(kGroupDescription)),
        .num_ranks = integer(kGroupSize),
        .ranks = ranks_id,
        .ranks_cut = static_cast<std::uint8_t>(Contains(ranks, "...")),
        .rank_start = integer(kRankStart),
        .rank_stride = integer(kRankStride),
        .communicator = UnsignedOf(event.Arg(kCommunicator)).value_or(0),
    });
  });
}

RowId RowBuilder::LaunchShape(EventTokens& event) {
  std::string key;
  for (const ArgKey part : {kGrid, kBlock, kRegisters, kSharedMemory, kOccupancy}) {
    key += event.Arg(part);
    key += '\n';
  }
  key += event.extra;
  return FindOrAdd(shapes_, key, [&] {
    const auto grid = TripleOf(event.Arg(kGrid));
    const auto block = TripleOf(event.Arg(kBlock));
    return chunk_.rows.launch_shapes.Append({
        .grid_x = grid[0],
        .grid_y = grid[1],
        .grid_z = grid[2],
        .block_x = block[0],
        .block_y = block[1],
        .block_z = block[2],
        .registers_per_thread = Narrow(Integer(event, kRegisters, -1)),
        .shared_memory_bytes = Integer(event, kSharedMemory, -1),
        .occupancy_percent = Narrow(Integer(event, kOccupancy, -1)),
        .extra = Json(event.extra),
    });
  });
}

RowId RowBuilder::DeviceTrack(const EventTokens& event) {
  if (chunk_.has_several_ranks) {
    return Track(trace::TrackKind::kDevice, event.process, event.thread);
  }
  const std::string_view device = event.Has(kDevice)     ? event.Arg(kDevice)
                                  : event.Has(kInDevice) ? event.Arg(kInDevice)
                                                         : event.process;
  const std::string_view stream = event.Has(kStream) ? event.Arg(kStream) : event.thread;
  return Track(trace::TrackKind::kDevice, device, stream);
}

}  // namespace orrery::ingest::kineto
