#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest {

/// A recording read as a sequence of traces, each a part of it in the order of events, so
/// that memory is bounded by the parts. See orrs::PieceReader for what is in a part.
class Pieces {
 public:
  Pieces() = default;
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;
  virtual ~Pieces() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;

  /// The next piece, valid until the next call; null after the last one. The one after it is
  /// prepared meanwhile, if there may be more than one thread.
  [[nodiscard]] virtual Result<const trace::Trace*> Next() = 0;

  /// Something of the file is not in the pieces so far (exit status 3).
  [[nodiscard]] virtual bool is_partial() const = 0;
};

struct PiecesOptions {
  ReadOptions read = {};
  std::optional<std::uint64_t> piece_bytes =
      {};                    // of the file, uncompressed; none: chosen by the reader
  bool with_touches = true;  // also what launches did to memory
};

/// Returns whether the file can be read in pieces: an event stream that is not compressed as a
/// whole.
[[nodiscard]] bool HasPieces(const std::string& path);

[[nodiscard]] Result<std::unique_ptr<Pieces>> OpenPieces(const std::string& path,
                                                         const PiecesOptions& options);

}  // namespace orrery::ingest
