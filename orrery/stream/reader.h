#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/stream/format.h"

namespace orrery::stream {

/// One intact chunk: its payload unpacked and checked.
struct Chunk {
  ChunkHeader header;
  std::uint64_t offset = 0;  // of the header in the file
  std::string_view payload;  // valid until the next chunk is read
};

/// Parts of a file that could not be used so far.
struct StreamLosses {
  std::uint64_t num_damaged_chunks = 0;  // with an intact header; their records are counted
  std::uint64_t num_lost_records = 0;
  std::uint64_t num_skipped_bytes = 0;  // outside intact chunks; their record count is unknown
  std::uint64_t first_damage = 0;       // offset of what was skipped first
  bool is_torn = false;  // the last chunk is incomplete: the recording was interrupted
  std::uint64_t num_unknown_chunks = 0;  // types of a later version
  std::uint16_t first_unknown_type = 0;

  bool operator==(const StreamLosses&) const = default;
};

/// Detects a stream from the first bytes of a file.
[[nodiscard]] bool IsStream(std::string_view head);

/// Reads a stream chunk by chunk; memory is bounded by the largest chunk (64 MiB packed and as much
/// unpacked). Nothing in the file is trusted before its checksum holds. After damage reading
/// continues at the next marker with an intact header.
class StreamReader {
 public:
  /// Reads the file header; fails for other files and for versions that cannot be read. The
  /// source must outlive the reader.
  static Result<StreamReader> Open(ByteSource& source);

  /// Moves on to the next intact chunk of a known type; null at the end. Fails only when the
  /// source does.
  [[nodiscard]] Result<const Chunk*> Next();

  [[nodiscard]] const StreamLosses& losses() const { return losses_; }

  [[nodiscard]] std::uint16_t minor_version() const { return minor_version_; }

 private:
  explicit StreamReader(ByteSource& source) : source_(&source) {}

  Result<bool> Fill(std::size_t bytes);
  [[nodiscard]] std::string_view rest() const;
  void Consume(std::size_t bytes);
  void Skip(std::size_t bytes);
  void SkipToMarker();
  [[nodiscard]] bool TakePayload(const ChunkHeader& header, std::string_view stored);

  ByteSource* source_;
  std::string window_;  // bytes read and not yet used begin at begin_
  std::size_t begin_ = 0;
  std::uint64_t offset_ = 0;  // of begin_ in the file
  bool at_end_ = false;
  std::uint16_t minor_version_ = 0;
  std::string unpacked_;
  Chunk chunk_;
  StreamLosses losses_;
  bool in_damage_ = false;
};

/// The result of recompressing a stream.
struct Recompressed {
  std::int64_t num_chunks = 0;
  std::int64_t bytes_before = 0;  // of chunks with their headers
  std::int64_t bytes_after = 0;
  StreamLosses losses;  // of the input; what was lost is not in the output
};

/// Copies a stream chunk by chunk and packs payloads with zstd where that makes them smaller;
/// `smallest` takes ten times as long for a few per cent. The records stay as they are, byte for
/// byte. Writes nothing to `sink` but the stream; the caller closes it.
[[nodiscard]] Result<Recompressed> Recompress(ByteSource& source, ByteSink& sink,
                                              bool smallest = false);

}  // namespace orrery::stream
