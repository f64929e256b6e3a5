#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tsl/robin_set.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/stream/reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

struct PiecesOptions {
  ReadOptions read = {};
  std::optional<std::uint64_t> piece_bytes =
      {};                    // of the file, uncompressed; none: chosen by the reader
  bool with_touches = true;  // also what launches did to memory
};

/// A part of a recording, by numbers of events, and the chunks that have something of it.
struct Piece {
  stream::OrderRange range;
  std::vector<std::size_t> chunks;  // of the list that was planned for, ascending

  bool operator==(const Piece&) const = default;
};

/// Cuts a recording into pieces of about `piece_bytes` uncompressed bytes. All pieces together hold
/// every number once; chunks that reach over a cut are in both pieces. Where chunks reach so far
/// that most would have to be read again and again, pieces are larger. There is always a piece.
[[nodiscard]] std::vector<Piece> PlanPieces(std::span<const stream::ChunkPlace> chunks,
                                            std::uint64_t piece_bytes);

/// Index of a whole stream, needed to read it in pieces.
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

/// Reads a stream on disk as a sequence of traces, each a part of the recording in the order of
/// events, so that memory is bounded by the parts. A part has everything that belongs to its
/// events, wherever the file has it, and all memory that lives during it; what dies later has no
/// death yet. Names and devices are in every part, costs of the recording in the first.
class PieceReader {
 public:
  /// Goes through the file once, to know which chunk has what.
  static Result<PieceReader> Open(const std::string& path, const PiecesOptions& options);

  [[nodiscard]] std::size_t num_pieces() const { return pieces_.size(); }

  /// Reads the records of the next piece into a trace that is not looked at now; null after the
  /// last one. Give the same trace again: its memory is used again. What cannot be used of the file
  /// as a whole is among the problems of the first piece.
  [[nodiscard]] Result<std::unique_ptr<Recording>> ReadNext(trace::Trace& into);

  /// Makes a piece of its records, with what the one before left. May run while the next is read.
  void Complete(Recording& recording);

 private:
  PieceReader(std::string path, PiecesOptions options, StreamIndex index, stream::ChunkFile file);

  Status AddChunks(const Piece& piece, Recording& recording);
  void Carry(const Piece& piece, Recording& recording, const Replay& replay);

  std::string path_;
  PiecesOptions options_;
  StreamIndex index_;
  stream::ChunkFile file_;
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;       // to be read
  std::size_t completed_ = 0;  // up to here
  LiveMemory memory_;
  std::vector<stream::OperatorBegin> open_operators_;
  std::vector<MapExtent> maps_;
};

}  // namespace orrery::ingest::orrs
