#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/orrs/piece_reader.h"
#include "orrery/stream/chunk_file.h"

namespace orrery::ingest::orrs {
namespace {

using stream::ChunkPlace;
using ::testing::ElementsAre;

ChunkPlace Chunk(std::uint64_t first, std::uint64_t last, std::uint32_t bytes = 10) {
  ChunkPlace place;
  place.is_ordered = true;
  place.first = first;
  place.last = last;
  place.header.raw_bytes = bytes;
  return place;
}

TEST(PiecePlanTest, NothingIsOnePiece) {
  EXPECT_THAT(PlanPieces({}, 100), ElementsAre(Piece{}));
}

TEST(PiecePlanTest, DefinitionsAreInNoPiece) {
  const std::vector<ChunkPlace> chunks{ChunkPlace{}, Chunk(1, 5)};

  EXPECT_THAT(PlanPieces(chunks, 100), ElementsAre(Piece{.range = {}, .chunks = {1}}));
}

// Twenty bytes are enough for a piece, so there is a cut before the third chunk. The second one
// ends with 25, which belongs to the second piece.
TEST(PiecePlanTest, AChunkThatReachesOverACutIsInBothPieces) {
  const std::vector<ChunkPlace> chunks{Chunk(1, 9), Chunk(10, 25), Chunk(20, 29), Chunk(30, 39)};

  EXPECT_THAT(PlanPieces(chunks, 20),
              ElementsAre(Piece{.range = {.begin = 0, .end = 20}, .chunks = {0, 1}},
                          Piece{.range = {.begin = 20}, .chunks = {1, 2, 3}}));
}

TEST(PiecePlanTest, ChunksThatBeginAlikeAreNotTornApart) {
  const std::vector<ChunkPlace> chunks{Chunk(7, 7), Chunk(7, 7), Chunk(7, 8)};

  EXPECT_THAT(PlanPieces(chunks, 10),
              ElementsAre(Piece{.range = {.begin = 0, .end = 7}, .chunks = {}},
                          Piece{.range = {.begin = 7}, .chunks = {0, 1, 2}}));
}

// Each chunk reaches to the end: eight pieces would read 8 + 7 + … + 1 = 36 chunks, more than three
// times the eight there are. Pieces of two chunks read 8 + 6 + 4 + 2 = 20.
TEST(PiecePlanTest, PiecesGrowWhereChunksReachFar) {
  std::vector<ChunkPlace> chunks;
  for (std::uint64_t first = 10; first <= 80; first += 10) {
    chunks.push_back(Chunk(first, 1'000));
  }

  EXPECT_EQ(PlanPieces(chunks, 10).size(), 4U);
}

}  // namespace
}  // namespace orrery::ingest::orrs
