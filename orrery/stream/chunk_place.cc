#include "orrery/stream/chunk_place.h"

#include <algorithm>
#include <type_traits>

#include "orrery/stream/record_order.h"
#include "orrery/stream/varint.h"
#include "orrery/stream/visit.h"

namespace orrery::stream {
namespace {

// The launch must be the first field of what ScanLaunches scans.
template <typename Record>
constexpr bool kBeginsWithLaunch = std::get<0>(Record::Fields()).encoding == Encoding::kReference;
static_assert(kBeginsWithLaunch<Touch> && kBeginsWithLaunch<PageTouch> &&
              kBeginsWithLaunch<WarpAccess>);

void ScanLaunches(const Chunk& chunk, std::uint64_t last_kind, ChunkPlace& place) {
  Registers registers;
  VarintReader records(chunk.payload);
  for (std::uint32_t read = 0; read < chunk.header.num_records; ++read) {
    VarintReader reader(records.Bytes(records.Varint()), records);
    const std::uint64_t kind = reader.Varint();
    if (kind == 0 || records.failed() || reader.failed()) {
      return;  // readers stop here too
    }
    if (kind <= last_kind) {
      place.Include(registers.Recall<Encoding::kReference>(reader.Varint()));
    }
  }
}

void VisitAll(const Chunk& chunk, ChunkPlace& place) {
  ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (Ordered<Record>) {
      place.Include(OrderOf(record));
    }
  });
}

}  // namespace

void ChunkPlace::Include(std::uint64_t order) {
  first = is_ordered ? std::min(first, order) : order;
  last = is_ordered ? std::max(last, order) : order;
  is_ordered = true;
}

ChunkPlace PlaceOf(const Chunk& chunk) {
  ChunkPlace place{.header = chunk.header, .offset = chunk.offset};
  switch (chunk.header.type) {
    case ChunkType::kTouches:
      ScanLaunches(chunk, PageTouch::kKind, place);
      break;
    case ChunkType::kAccesses:
      ScanLaunches(chunk, WarpAccess::kKind, place);
      break;
    default:
      VisitAll(chunk, place);
  }
  return place;
}

}  // namespace orrery::stream
