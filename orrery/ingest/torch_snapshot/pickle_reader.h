#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/torch_snapshot/pickle_value.h"

namespace orrery::ingest::torch_snapshot {

struct PickleLimits {
  std::uint64_t max_values = std::uint64_t{1} << 30;  // 8 bytes each, and what holds them
  std::uint64_t max_text_bytes = 16 << 20;            // of one text
  std::uint32_t max_depth = 1000;                     // containers begun and not ended
};

struct Pickle {
  PickleData data;
  PickleValue root;
};

/// Reads a pickle of protocol 2 to 5 as data and never as what it is, a program: dictionaries,
/// lists, tuples, text, bytes, numbers, booleans, None, and references to them. An opcode that
/// names or calls something is refused by its name and place, and nothing is run. Reads through a
/// window; the data are several times as large as the file (docs/formats/memory-imports.md).
[[nodiscard]] Result<Pickle> ReadPickle(ByteSource& source, const PickleLimits& limits = {});

}  // namespace orrery::ingest::torch_snapshot
