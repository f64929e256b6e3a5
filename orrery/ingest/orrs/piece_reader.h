#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/orrs/lives.h"
#include "orrery/ingest/orrs/piece_plan.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/ingest/orrs/replay.h"
#include "orrery/ingest/orrs/stream_index.h"
#include "orrery/ingest/pieces.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::orrs {

/// Reads a stream on disk as a sequence of traces, each a part of the recording in the order of
/// events, so that memory is bounded by the parts. A part has everything that belongs to its
/// events, wherever the file has it, and all memory that lives during it; what dies later has no
/// death yet. Names and devices are in every part, costs of the recording in the first.
class PieceReader {
 public:
  /// Goes through the file once, to know which chunk has what.
  static Result<PieceReader> Open(const std::string& path, const PiecesOptions& options);

  [[nodiscard]] std::size_t num_pieces() const { return pieces_.size(); }

  /// Makes `into` the next piece; false after the last one. Give the same trace again: its memory
  /// is used again. What cannot be used of the file as a whole is among the problems of the first
  /// piece.
  [[nodiscard]] Result<bool> Next(trace::Trace& into);

  /// The two halves of Next. Reads the records of the next piece into a trace that is not looked at
  /// now; null after the last one.
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
  Lives lives_;
  std::vector<stream::OperatorBegin> open_operators_;
  std::vector<MapExtent> maps_;
};

}  // namespace orrery::ingest::orrs
