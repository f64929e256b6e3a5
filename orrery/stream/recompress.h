#pragma once

#include <cstdint>

#include "orrery/base/byte_sink.h"
#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/stream/reader.h"

namespace orrery::stream {

/// The result of recompressing a stream.
struct Recompressed {
  std::int64_t num_chunks = 0;
  std::int64_t bytes_before = 0;  // of chunks with their headers
  std::int64_t bytes_after = 0;
  StreamLosses losses;  // of the input; what was lost is not in the output
};

/// Copies a stream chunk by chunk and packs payloads with zstd where that makes them smaller. The
/// records stay as they are, byte for byte. Writes nothing to `sink` but the stream; the caller
/// closes it.
[[nodiscard]] Result<Recompressed> Recompress(ByteSource& source, ByteSink& sink);

}  // namespace orrery::stream
