#include "orrery/ingest/orrs/stream_index.h"

#include <algorithm>
#include <concepts>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/stream/codes.h"
#include "orrery/stream/record_order.h"
#include "orrery/stream/visit.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;
using stream::ChunkType;

// Frees that were asked for and are not complete yet.
class OpenFrees {
 public:
  void Add(const stream::Free& free) {
    if (free.phase == codes::kFreeRequested) {
      std::uint64_t& last = request_of_object_[KeyOf(free)];
      last = std::max(last, free.sequence);
    } else {
      request_of_object_.erase(KeyOf(free));
    }
  }

  [[nodiscard]] tsl::robin_set<std::uint64_t> Requests() const {
    tsl::robin_set<std::uint64_t> requests;
    for (const auto& [key, request] : request_of_object_) {
      requests.insert(request);
    }
    return requests;
  }

 private:
  // Addresses of objects without a number; no number is as large as an address with this bit.
  static std::uint64_t KeyOf(const stream::Free& free) {
    return free.object != 0 ? free.object : free.address | std::uint64_t{1} << 63U;
  }

  tsl::robin_map<std::uint64_t, std::uint64_t> request_of_object_;
};

stream::ChunkPlace PlaceOfEvents(const stream::Chunk& chunk, OpenFrees& frees) {
  stream::ChunkPlace place{.header = chunk.header, .offset = chunk.offset};
  stream::ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (stream::Ordered<Record>) {
      place.Include(stream::OrderOf(record));
    }
    if constexpr (std::same_as<Record, stream::Free>) {
      frees.Add(record);
    }
  });
  return place;
}

bool IsOfTouches(ChunkType type) {
  return type == ChunkType::kTouches || type == ChunkType::kAccesses;
}

}  // namespace

Result<StreamIndex> IndexStream(ByteSource& source, bool with_touches) {
  ORRERY_TRY(stream::StreamReader reader, stream::StreamReader::Open(source));
  StreamIndex index;
  index.minor_version = reader.minor_version();
  OpenFrees frees;
  while (true) {
    ORRERY_TRY(const stream::Chunk* const chunk, reader.Next());
    if (chunk == nullptr) {
      break;
    }
    const ChunkType type = chunk->header.type;
    if (with_touches || !IsOfTouches(type)) {
      index.chunks.push_back(type == ChunkType::kEvents ? PlaceOfEvents(*chunk, frees)
                                                        : stream::PlaceOf(*chunk));
    }
  }
  index.losses = reader.losses();
  index.damage = source.damage();
  index.last_frees = frees.Requests();
  return index;
}

}  // namespace orrery::ingest::orrs
