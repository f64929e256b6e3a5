#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/stream/chunk_file.h"
#include "orrery/stream/record_order.h"

namespace orrery::ingest::orrs {

/// A part of a recording, by numbers of events, and the chunks that have something of it.
struct Piece {
  stream::OrderRange range;
  std::vector<std::size_t> chunks;  // of the list that was planned for, ascending

  bool operator==(const Piece&) const = default;
};

/// Cuts a recording into pieces of about `piece_bytes` unpacked bytes. All pieces together hold
/// every number once; chunks that reach over a cut are in both pieces. Where chunks reach so far
/// that most would have to be read again and again, pieces are larger. There is always a piece.
[[nodiscard]] std::vector<Piece> PlanPieces(std::span<const stream::ChunkPlace> chunks,
                                            std::uint64_t piece_bytes);

}  // namespace orrery::ingest::orrs
