#pragma once

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/trace/trace_set.h"

// The container of Orrery: a whole TraceSet in one file of compressed, checksummed columns. The
// format is described in docs/formats/orr.md.

namespace orrery::trace {

/// The first bytes of every container. The first one is no text and the line ends show copies that
/// were altered by a text-mode transfer.
inline constexpr std::string_view kOrrMagic("\x89ORR\r\n\x1a\n", 8);

/// Detects a container, of any version, from the first bytes of a file.
[[nodiscard]] inline bool IsOrr(std::string_view head) {
  return head.starts_with(kOrrMagic);
}

struct OrrOptions {
  int threads = 0;  // 0: one for each core
  /// Values that are packed together; a column is read block by block.
  std::uint32_t rows_per_block = 32 * 1024;
  /// As small as can be, for files that are written once and kept: some fifty times slower to
  /// write, as fast to read, and only by programs that know version 2.
  bool smallest = false;
};

/// Writes `set` to `path`. The bytes depend on the set, `rows_per_block` and `smallest` only. They
/// are written to a temporary file that is renamed at the end, so `path` never holds half a file.
[[nodiscard]] Status WriteOrr(const TraceSet& set, const std::string& path,
                              const OrrOptions& options = {});

struct OrrReadOptions {
  int threads = 0;  // 0: one for each core
  /// Memory for columns and strings, compared with the bytes of the file. Very regular traces are
  /// packed a few thousand times.
  UnpackLimits limits{.max_ratio = 4096, .free_bytes = std::int64_t{1} << 30};
};

/// Reads what WriteOrr wrote. The result is safe to walk: columns of a table are equally long,
/// links name rows that exist, string ids strings, and enumerations known values.
[[nodiscard]] Result<TraceSet> ReadOrr(const std::string& path, const OrrReadOptions& options = {});

/// Reads a container from memory.
[[nodiscard]] Result<TraceSet> ReadOrrBytes(std::string_view bytes,
                                            const OrrReadOptions& options = {});

}  // namespace orrery::trace
