#pragma once

#include <cstdint>

#include "orrery/stream/reader.h"

namespace orrery::stream {

/// Where an intact chunk lies, and which events its records belong to.
struct ChunkPlace {
  ChunkHeader header;
  std::uint64_t offset = 0;  // of the header in the file
  bool is_ordered = false;   // some record belongs to an event
  std::uint64_t first = 0;   // the smallest and the largest number of such an event
  std::uint64_t last = 0;

  void Include(std::uint64_t order);

  bool operator==(const ChunkPlace&) const = default;
};

/// Looks at the numbers of a chunk's records. Touches and accesses, which make up large streams,
/// are not decoded beyond their first field.
[[nodiscard]] ChunkPlace PlaceOf(const Chunk& chunk);

}  // namespace orrery::stream
