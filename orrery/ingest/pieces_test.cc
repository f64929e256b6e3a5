#include "orrery/ingest/pieces.h"

#include <cstdint>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/ingest/orrs/stream_test.h"
#include "orrery/stream/schema.h"

namespace orrery::ingest {
namespace {

// Tests run side by side: each has files of its own.
std::string Written(const std::string& name, const std::string& bytes) {
  const std::string path =
      fmt::format("{}/{}_{}", ::testing::TempDir(),
                  ::testing::UnitTest::GetInstance()->current_test_info()->name(), name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string ManyLaunches() {
  std::string bytes = orrs::FileOf();
  for (std::uint64_t launch = 1; launch <= 100; ++launch) {
    bytes += orrs::ChunkOf(
        stream::Launch{.sequence = launch, .time_ns = static_cast<std::int64_t>(launch)});
  }
  return bytes + orrs::EndMark();
}

std::vector<std::int64_t> Begins(const std::string& path, int threads) {
  std::vector<std::int64_t> begins;
  const auto pieces = OpenPieces(path, {.read = {.threads = threads}, .piece_bytes = 50});
  EXPECT_TRUE(pieces);
  EXPECT_GT((*pieces)->size(), 3U);
  for (auto piece = (*pieces)->Next(); *piece != nullptr; piece = (*pieces)->Next()) {
    begins.insert(begins.end(), (*piece)->activities.begin_ns.begin(),
                  (*piece)->activities.begin_ns.end());
  }
  // Some launches are of a function without a name.
  EXPECT_TRUE((*pieces)->is_partial());
  return begins;
}

TEST(PiecesTest, AnyNumberOfThreadsGivesTheSamePieces) {
  const std::string path = Written("pieces_test.orrs", ManyLaunches());
  std::vector<std::int64_t> expected;
  for (std::int64_t launch = 1; launch <= 100; ++launch) {
    expected.push_back(launch);
  }

  EXPECT_EQ(Begins(path, 1), expected);
  EXPECT_EQ(Begins(path, 2), expected);
}

TEST(PiecesTest, LeavingEarlyWaitsForNothingElse) {
  const std::string path = Written("pieces_test.orrs", ManyLaunches());
  const auto pieces = OpenPieces(path, {.piece_bytes = 50});
  ASSERT_TRUE(pieces);

  EXPECT_NE(*(*pieces)->Next(), nullptr);
}

TEST(PiecesTest, OnlyStreamsThatAreNotPackedHavePieces) {
  EXPECT_TRUE(HasPieces(Written("pieces_test.orrs", ManyLaunches())));
  EXPECT_FALSE(HasPieces(Written("pieces_test.json", "{}")));
  EXPECT_FALSE(HasPieces("no/such/file"));
}

}  // namespace
}  // namespace orrery::ingest
