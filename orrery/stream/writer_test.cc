#include "orrery/stream/writer.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"

namespace orrery::stream {
namespace {

TEST(ChunkBuilderTest, WhatDoesNotFitLeavesTheChunkAsItWas) {
  ChunkBuilder builder(ChunkType::kStrings, 0, 40);
  ASSERT_TRUE(builder.Append(String{.id = 1, .text = "short"}));
  const std::string before(builder.Seal());

  EXPECT_FALSE(builder.Append(String{.id = 2, .text = std::string(40, 'x')}));

  EXPECT_EQ(builder.Seal(), before);
  EXPECT_EQ(builder.num_records(), 1U);
}

// A rejected record must not move what later records are relative to: the two chunks are equal.
TEST(ChunkBuilderTest, ARejectedRecordDoesNotMoveTheTime) {
  ChunkBuilder once(ChunkType::kEvents, 0, 24);
  ChunkBuilder twice(ChunkType::kEvents, 0, 24);
  for (ChunkBuilder* builder : {&once, &twice}) {
    ASSERT_TRUE(builder->Append(Step{.sequence = 1, .time_ns = 5}));
  }

  ASSERT_FALSE(twice.Append(Allocation{
      .sequence = 9, .time_ns = 1 << 30, .object = 1, .address = ~0ULL, .bytes = ~0ULL}));
  ASSERT_TRUE(once.Append(Step{.sequence = 2, .time_ns = 6}));
  ASSERT_TRUE(twice.Append(Step{.sequence = 2, .time_ns = 6}));

  EXPECT_EQ(once.Seal(), twice.Seal());
}

TEST(ChunkBuilderTest, RecordsOfOtherTypesAreRefused) {
  ChunkBuilder builder(ChunkType::kStrings);

  EXPECT_FALSE(builder.Append(Step{}));
}

TEST(ChunkBuilderTest, AClearedChunkIsANewOne) {
  ChunkBuilder used(ChunkType::kEvents);
  ChunkBuilder fresh(ChunkType::kEvents);
  ASSERT_TRUE(used.Append(Step{.sequence = 3, .time_ns = 77, .number = 1}));
  used.Clear();

  ASSERT_TRUE(used.Append(Step{.sequence = 8, .time_ns = 99, .number = 2}));
  ASSERT_TRUE(fresh.Append(Step{.sequence = 8, .time_ns = 99, .number = 2}));

  EXPECT_EQ(used.Seal(), fresh.Seal());
}

// Tests run in parallel processes, so each has a file of its own.
std::string TestName() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

class StreamFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string Bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string path_ = ::testing::TempDir() + TestName() + "_stream_file_test.orrs";
};

// 1,000 records into chunks of 64 bytes: every full chunk goes out, and none is lost.
TEST_F(StreamFileTest, FullChunksAreWrittenAndNothingIsLost) {
  StreamFile file;
  ASSERT_TRUE(file.Create(path_.c_str()));
  ChunkBuilder chunk(ChunkType::kEvents, 3, 64);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(AppendOrFlush(Step{.sequence = i, .time_ns = 100, .number = i}, chunk, file));
  }
  ASSERT_TRUE(file.Write(chunk.Seal()));
  file.Close();

  const std::string bytes = Bytes();
  const auto source = OpenMemory(bytes);
  auto reader = StreamReader::Open(*source);
  ASSERT_TRUE(reader);
  std::uint64_t next = 0;
  int num_chunks = 0;
  for (auto found = reader->Next(); found && *found != nullptr; found = reader->Next()) {
    ++num_chunks;
    EXPECT_EQ((*found)->header.buffer, 3U);
    ForEachRecord(**found, [&]<typename Record>(const Record& record) {
      if constexpr (std::is_same_v<Record, Step>) {
        EXPECT_EQ(record.number, next++);
      }
    });
  }
  EXPECT_EQ(next, 1000U);
  EXPECT_GT(num_chunks, 50);
  EXPECT_EQ(reader->losses(), StreamLosses{});
}

TEST_F(StreamFileTest, AFolderThatIsNotThereIsAnErrorValue) {
  StreamFile file;

  EXPECT_FALSE(file.Create((path_ + "/absent/x.orrs").c_str()));

  EXPECT_EQ(file.error(), ENOENT);
  EXPECT_FALSE(file.Write("x"));
}

}  // namespace
}  // namespace orrery::stream
