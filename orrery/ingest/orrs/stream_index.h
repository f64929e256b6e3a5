#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tsl/robin_set.h>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/stream/reader.h"

namespace orrery::ingest::orrs {

/// What has to be known of a whole stream before it can be read in pieces.
struct StreamIndex {
  std::vector<stream::ChunkPlace> chunks;  // intact ones, in the order of the file
  stream::StreamLosses losses;
  std::string damage;  // why the file ends early; empty: it does not
  std::uint16_t minor_version = 0;
  tsl::robin_set<std::uint64_t> last_frees;  // requests that are never said to be complete
};

/// Goes through the stream once. Without touches, what launches did to memory is only checked for
/// damage.
[[nodiscard]] Result<StreamIndex> IndexStream(ByteSource& source, bool with_touches);

}  // namespace orrery::ingest::orrs
