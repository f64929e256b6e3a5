#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

/// A stream of input bytes.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills `buffer` from the front and returns how many bytes it holds now; 0 at the end.
  [[nodiscard]] virtual Result<std::size_t> Read(std::span<char> buffer) = 0;

  /// After the end: why it came early ("gzip data end early at byte 512"), or nothing.
  [[nodiscard]] virtual std::string damage() const { return {}; }
};

enum class Compression { kNone, kGzip, kZstd };

/// Detects the compression from the first bytes.
[[nodiscard]] Compression SniffCompression(std::string_view head);

struct UnpackLimits {
  /// Unpacked bytes for each packed byte; real traces reach 40, a bomb 1,000.
  double max_ratio = 250;
  /// Below this many unpacked bytes the ratio is not checked.
  std::int64_t free_bytes = 64 << 20;
};

/// Opens a file as it is, without looking at its content.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path);

/// Serves `bytes`, which must outlive the source.
[[nodiscard]] std::unique_ptr<ByteSource> OpenMemory(std::string_view bytes);

/// Undoes gzip (any number of members) or zstd, found from the content; other bytes pass through.
/// Damaged or truncated input gives what could be unpacked, then the end with `damage()` set. More
/// output than `limits` allow is an error.
[[nodiscard]] std::unique_ptr<ByteSource> Unpack(std::unique_ptr<ByteSource> packed,
                                                 const UnpackLimits& limits = {});

/// Reads until the buffer is full or the source ends; returns the bytes read.
[[nodiscard]] Result<std::size_t> ReadFully(ByteSource& source, std::span<char> buffer);

/// Reads everything; fails beyond `max_bytes`.
[[nodiscard]] Result<std::string> ReadAll(ByteSource& source,
                                          std::int64_t max_bytes = std::int64_t{64} << 30);

}  // namespace orrery
