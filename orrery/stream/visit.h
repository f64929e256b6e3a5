#pragma once

#include <cstdint>

#include "orrery/stream/reader.h"
#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema.h"

namespace orrery::stream {

/// Records of a chunk that could not be used.
struct RecordLosses {
  std::uint64_t num_unknown_kinds = 0;  // of a later version: skipped
  std::uint64_t num_unreadable = 0;     // from the first invalid one to the end of the chunk
};

namespace visiting {

/// Every event begins alike, so that also an event of a later version moves the registers.
ORRERY_STREAM_RECORD(AnyEvent, kEvents, 0, ORRERY_STREAM_EVENT);

/// Reads one record and visits it if it has this type; false otherwise.
template <ChunkType type, typename Record, typename Visit>
bool VisitIf(std::uint64_t kind, Registers& registers, NumberLists& lists, VarintReader& reader,
             Visit&& visit) {
  if constexpr (Record::kChunk == type) {
    if (kind == Record::kKind) {
      Record record;
      DecodeRecord(record, registers, lists, reader);
      if (!reader.failed()) {
        visit(record);
      }
      return true;
    }
  }
  return false;
}

template <ChunkType type, typename Visit>
RecordLosses VisitRecords(const Chunk& chunk, Visit&& visit) {
  RecordLosses losses;
  Registers registers(chunk.header.first_sequence);
  NumberLists lists;
  VarintReader records(chunk.payload);
  for (std::uint32_t read = 0; read < chunk.header.num_records; ++read) {
    VarintReader reader(records.Bytes(records.Varint()), records);
    const std::uint64_t kind = reader.Varint();
    const bool is_known = [&]<typename... Records>(RecordList<Records...>) {
      return (VisitIf<type, Records>(kind, registers, lists, reader, visit) || ...);
    }(AllRecords());
    if (!is_known && type == ChunkType::kEvents) {
      AnyEvent event;
      DecodeRecord(event, registers, lists, reader);
    }
    // Later records are relative to this one, so they cannot be trusted either.
    if (kind == 0 || records.failed() || reader.failed()) {
      losses.num_unreadable = chunk.header.num_records - read;
      break;
    }
    losses.num_unknown_kinds += is_known ? 0 : 1;
  }
  return losses;
}

}  // namespace visiting

/// Calls `visit(record)` for each record of the chunk, in order. `visit` takes every record type of
/// AllRecords; texts and lists in a record are valid during the call.
template <typename Visit>
RecordLosses ForEachRecord(const Chunk& chunk, Visit&& visit) {
  switch (chunk.header.type) {
#define ORRERY_STREAM_CASE(type) \
  case ChunkType::type:          \
    return visiting::VisitRecords<ChunkType::type>(chunk, visit);
    ORRERY_STREAM_CASE(kHeader)
    ORRERY_STREAM_CASE(kStrings)
    ORRERY_STREAM_CASE(kStacks)
    ORRERY_STREAM_CASE(kModules)
    ORRERY_STREAM_CASE(kFunctions)
    ORRERY_STREAM_CASE(kEvents)
    ORRERY_STREAM_CASE(kObjects)
    ORRERY_STREAM_CASE(kTouches)
    ORRERY_STREAM_CASE(kTensorMaps)
    ORRERY_STREAM_CASE(kAccesses)
    ORRERY_STREAM_CASE(kCoverage)
    ORRERY_STREAM_CASE(kCalibration)
#undef ORRERY_STREAM_CASE
  }
  return {};
}

}  // namespace orrery::stream
