#pragma once

#include <array>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/orrs/piece_reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest {

/// A recording read as a sequence of traces, each a part of it in the order of events, so
/// that memory is bounded by the parts. See orrs::PieceReader for what is in a part.
class Pieces {
 public:
  Pieces(orrs::PieceReader reader, bool may_prepare)
      : reader_(std::move(reader)), may_prepare_(may_prepare) {}

  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  [[nodiscard]] std::size_t size() const { return reader_.num_pieces(); }

  /// The next piece, valid until the next call; null after the last one. The one after it is
  /// prepared meanwhile, if there may be more than one thread.
  [[nodiscard]] Result<const trace::Trace*> Next();

  /// Something of the file is not in the pieces so far (exit status 3).
  [[nodiscard]] bool is_partial() const { return is_partial_; }

 private:
  orrs::PieceReader reader_;
  bool may_prepare_;
  bool is_partial_ = false;
  // Two traces take turns: one is assembled and looked at while records are read into the other.
  std::size_t turn_ = 0;
  std::array<trace::Trace, 2> traces_;
  // The last member: its destructor waits for the thread that uses the others.
  std::future<Result<std::unique_ptr<orrs::Recording>>> prepared_;
};

using orrs::PiecesOptions;

/// Returns whether the file can be read in pieces: an event stream that is not compressed as a
/// whole.
[[nodiscard]] bool HasPieces(const std::string& path);

[[nodiscard]] Result<std::unique_ptr<Pieces>> OpenPieces(const std::string& path,
                                                         const PiecesOptions& options);

}  // namespace orrery::ingest
