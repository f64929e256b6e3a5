#include "orrery/ingest/orrs/piece_plan.h"

#include <algorithm>
#include <tuple>

namespace orrery::ingest::orrs {
namespace {

using stream::ChunkPlace;

// How often a byte may be read on average.
constexpr std::uint64_t kMaxReads = 3;

std::vector<std::size_t> ByFirst(std::span<const ChunkPlace> chunks) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].is_ordered) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(chunks[i].first, i); });
  return order;
}

// A cut lies where a chunk begins, so that this one is not read for the piece before.
std::vector<stream::OrderRange> RangesOf(std::span<const ChunkPlace> chunks,
                                         std::span<const std::size_t> by_first,
                                         std::uint64_t piece_bytes) {
  std::vector<stream::OrderRange> ranges(1);
  std::uint64_t bytes = 0;
  for (const std::size_t i : by_first) {
    if (bytes >= piece_bytes && chunks[i].first > ranges.back().begin) {
      ranges.back().end = chunks[i].first;
      ranges.push_back({.begin = chunks[i].first});
      bytes = 0;
    }
    bytes += chunks[i].header.raw_bytes;
  }
  return ranges;
}

std::vector<Piece> PiecesOf(std::span<const ChunkPlace> chunks,
                            std::span<const std::size_t> by_first, std::uint64_t piece_bytes) {
  std::vector<Piece> pieces;
  std::vector<std::size_t> open;
  std::size_t next = 0;
  for (const stream::OrderRange& range : RangesOf(chunks, by_first, piece_bytes)) {
    std::erase_if(open, [&](std::size_t i) { return chunks[i].last < range.begin; });
    while (next < by_first.size() &&
           (chunks[by_first[next]].first < range.end || range.end == stream::OrderRange::kNoEnd)) {
      open.push_back(by_first[next++]);
    }
    pieces.push_back({.range = range, .chunks = open});
    std::ranges::sort(pieces.back().chunks);
  }
  return pieces;
}

std::uint64_t BytesRead(std::span<const ChunkPlace> chunks, std::span<const Piece> pieces) {
  std::uint64_t bytes = 0;
  for (const Piece& piece : pieces) {
    for (const std::size_t i : piece.chunks) {
      bytes += chunks[i].header.raw_bytes;
    }
  }
  return bytes;
}

}  // namespace

std::vector<Piece> PlanPieces(std::span<const ChunkPlace> chunks, std::uint64_t piece_bytes) {
  const std::vector<std::size_t> by_first = ByFirst(chunks);
  std::uint64_t total = 0;
  for (const std::size_t i : by_first) {
    total += chunks[i].header.raw_bytes;
  }
  std::uint64_t bytes = std::max<std::uint64_t>(piece_bytes, 1);
  std::vector<Piece> pieces = PiecesOf(chunks, by_first, bytes);
  while (pieces.size() > 1 && BytesRead(chunks, pieces) > kMaxReads * total) {
    bytes *= 2;
    pieces = PiecesOf(chunks, by_first, bytes);
  }
  return pieces;
}

}  // namespace orrery::ingest::orrs
