#include "orrery/stream/chunk_file.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"

namespace orrery::stream {
namespace {

template <typename... Records>
ChunkPlace PlaceOfAll(ChunkType type, const Records&... records) {
  ChunkBuilder builder(type);
  EXPECT_TRUE((builder.Append(records) && ...));
  const std::string bytes(builder.Seal());
  return PlaceOf({.header = DecodeChunkHeader(bytes),
                  .payload = std::string_view(bytes).substr(kChunkHeaderBytes)});
}

TEST(ChunkPlaceTest, TouchesBelongToTheirLaunches) {
  const ChunkPlace place = PlaceOfAll(ChunkType::kTouches, Touch{.launch = 70, .object = 3},
                                      PageTouch{.launch = 9, .page_bytes = 4096},
                                      Touch{.launch = 300, .object = 1, .read_bytes = 5});

  EXPECT_TRUE(place.is_ordered);
  EXPECT_EQ(place.first, 9U);
  EXPECT_EQ(place.last, 300U);
}

// The end of launch 4 and the time of launch 6 came as events 20 and 21.
TEST(ChunkPlaceTest, WhatIsSaidOfALaunchLaterBelongsToIt) {
  const ChunkPlace place =
      PlaceOfAll(ChunkType::kEvents, Launch{.sequence = 8}, LaunchEnd{.sequence = 20, .launch = 4},
                 DeviceTime{.sequence = 21, .work = 6});

  EXPECT_EQ(place.first, 4U);
  EXPECT_EQ(place.last, 8U);
}

TEST(ChunkPlaceTest, NamesBelongToNoEvent) {
  EXPECT_FALSE(PlaceOfAll(ChunkType::kStrings, String{.id = 1, .text = "a"}).is_ordered);
}

TEST(ChunkPlaceTest, MemoryFromBeforeTheRecordingBelongsToItsBegin) {
  const ChunkPlace place =
      PlaceOfAll(ChunkType::kObjects, Object{.id = 1, .birth = -1}, Object{.id = 2, .birth = 7});

  EXPECT_EQ(place.first, 0U);
  EXPECT_EQ(place.last, 7U);
}

TEST(ChunkFileTest, ChunksAreReadInAnyOrder) {
  const std::string path = ::testing::TempDir() + "/chunk_file_test.orrs";
  StreamFile out;
  ASSERT_TRUE(out.Create(path.c_str()));
  std::vector<ChunkPlace> places;
  std::uint64_t offset = kFileHeaderBytes;
  for (const std::string_view text : {"one", "two"}) {
    ChunkBuilder builder(ChunkType::kStrings);
    ASSERT_TRUE(builder.Append(String{.id = 1, .text = text}));
    const std::string_view bytes = builder.Seal();
    ASSERT_TRUE(out.Write(bytes));
    places.push_back({.header = DecodeChunkHeader(bytes), .offset = offset});
    offset += bytes.size();
  }
  auto file = ChunkFile::Open(path);
  ASSERT_TRUE(file);

  const auto second = file->Read(places[1]);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->payload.ends_with("two"));
  const auto first = file->Read(places[0]);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->payload.ends_with("one"));
  places[1].offset = offset;
  EXPECT_FALSE(file->Read(places[1]));
}

TEST(ChunkFileTest, AFileThatIsNotThereIsASentence) {
  const auto file = ChunkFile::Open("no/such/file.orrs");

  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("no/such/file.orrs"), std::string::npos);
}

}  // namespace
}  // namespace orrery::stream
