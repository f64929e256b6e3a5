#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/stream/chunk_place.h"

namespace orrery::stream {

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
