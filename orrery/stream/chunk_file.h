#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/stream/reader.h"

namespace orrery::stream {

/// The location of an intact chunk, and the events that its records belong to.
struct ChunkPlace {
  ChunkHeader header;
  std::uint64_t offset = 0;  // of the header in the file
  bool is_ordered = false;   // some record belongs to an event
  std::uint64_t first = 0;   // the smallest and the largest number of such an event
  std::uint64_t last = 0;

  void Include(std::uint64_t order);

  bool operator==(const ChunkPlace&) const = default;
};

/// Finds the events that a chunk's records belong to. Touches and accesses, which make up most of
/// large streams, are not decoded beyond their first field.
[[nodiscard]] ChunkPlace PlaceOf(const Chunk& chunk);

/// A stream on disk whose chunks are read again, in any order.
class ChunkFile {
 public:
  static Result<ChunkFile> Open(const std::string& path);

  ChunkFile(ChunkFile&& other) noexcept;
  ChunkFile& operator=(ChunkFile&& other) noexcept;
  ~ChunkFile();

  /// Reads and unpacks a chunk that was found intact before; it stays valid until the next is read.
  /// Fails if the file is no longer what it was.
  [[nodiscard]] Result<Chunk> Read(const ChunkPlace& place);

 private:
  explicit ChunkFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  std::string stored_;
  std::string unpacked_;
};

}  // namespace orrery::stream
