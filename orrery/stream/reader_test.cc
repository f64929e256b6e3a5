#include "orrery/stream/reader.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/stream/writer.h"

namespace orrery::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Header() {
  const auto header = FileHeader();
  return {header.data(), header.size()};
}

// A chunk of strings with the numbers given, one character each.
std::string Strings(const std::vector<std::uint64_t>& ids) {
  ChunkBuilder builder(ChunkType::kStrings);
  for (const std::uint64_t id : ids) {
    EXPECT_TRUE(builder.Append(String{.id = id, .text = "x"}));
  }
  return std::string(builder.Seal());
}

std::string Reseal(ChunkHeader header, std::string_view payload) {
  header.stored_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_crc = Crc32c(payload);
  std::string chunk(kChunkHeaderBytes, '\0');
  EncodeChunkHeader(header, chunk.data());
  return chunk.append(payload);
}

std::string Packed(std::string_view chunk) {
  const std::string_view payload = chunk.substr(kChunkHeaderBytes);
  std::string packed(ZSTD_compressBound(payload.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), payload.data(), payload.size(), 1));
  ChunkHeader header = DecodeChunkHeader(chunk);
  header.codec = Codec::kZstd;
  return Reseal(header, packed);
}

struct Content {
  std::vector<std::uint64_t> ids;
  StreamLosses losses;
};

Content ReadBytes(const std::string& bytes) {
  const auto source = OpenMemory(bytes);
  auto reader = StreamReader::Open(*source);
  EXPECT_TRUE(reader) << reader.error().message();
  Content content;
  if (!reader) {
    return content;
  }
  for (auto chunk = reader->Next(); chunk && *chunk != nullptr; chunk = reader->Next()) {
    ForEachRecord(**chunk, [&]<typename Record>(const Record& record) {
      if constexpr (std::is_same_v<Record, String>) {
        content.ids.push_back(record.id);
      }
    });
  }
  content.losses = reader->losses();
  return content;
}

TEST(StreamReaderTest, AWholeStreamHasNoLosses) {
  const Content content = ReadBytes(Header() + Strings({1, 2}) + Strings({3}));

  EXPECT_THAT(content.ids, ElementsAre(1, 2, 3));
  EXPECT_EQ(content.losses, StreamLosses{});
}

TEST(StreamReaderTest, PackedChunksAreReadBesidePlainOnes) {
  const Content content = ReadBytes(Header() + Packed(Strings({1, 2})) + Strings({3}));

  EXPECT_THAT(content.ids, ElementsAre(1, 2, 3));
  EXPECT_EQ(content.losses, StreamLosses{});
}

// Whatever is cut off, the chunks before stay, and a cut inside a chunk is seen.
TEST(StreamReaderTest, EveryTruncationKeepsTheChunksBefore) {
  const std::string first = Strings({1, 2});
  const std::string bytes = Header() + first + Strings({3, 4, 5});
  const std::size_t second_begin = Header().size() + first.size();
  for (std::size_t size = Header().size(); size < bytes.size(); ++size) {
    const Content content = ReadBytes(bytes.substr(0, size));

    const bool has_first = size >= second_begin;
    EXPECT_EQ(content.ids.size(), has_first ? 2U : 0U) << size;
    const bool at_border = size == Header().size() || size == second_begin;
    EXPECT_EQ(content.losses.is_torn, !at_border) << size;
    EXPECT_EQ(content.losses.num_skipped_bytes,
              has_first ? size - second_begin : size - Header().size());
  }
}

TEST(StreamReaderTest, ATornChunkSaysHowManyRecordsItHad) {
  const std::string bytes = Header() + Strings({1}) + Strings({3, 4, 5});

  const Content content = ReadBytes(bytes.substr(0, bytes.size() - 1));

  EXPECT_THAT(content.ids, ElementsAre(1));
  EXPECT_EQ(content.losses.num_damaged_chunks, 1U);
  EXPECT_EQ(content.losses.num_lost_records, 3U);
}

// Of three chunks one loses a byte's value: that one is lost, the other two are read.
TEST(StreamReaderTest, EveryFlippedByteCostsItsChunkAndIsDetected) {
  const std::string parts[] = {Strings({1, 2}), Packed(Strings({3, 4})), Strings({5, 6})};
  const std::string whole = Header() + parts[0] + parts[1] + parts[2];
  std::size_t begin = Header().size();
  for (std::uint64_t hit = 0; hit < 3; ++hit) {
    for (std::size_t at = begin; at < begin + parts[hit].size(); ++at) {
      for (const char flip : {'\x01', '\x80', '\xFF'}) {
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ flip);

        const Content content = ReadBytes(bytes);

        EXPECT_EQ(content.ids.size(), 4U) << at;
        EXPECT_EQ(content.losses.num_skipped_bytes, parts[hit].size()) << at;
        EXPECT_EQ(content.losses.first_damage, begin) << at;
        EXPECT_EQ(content.losses.is_torn, hit == 2);
      }
    }
    begin += parts[hit].size();
  }
}

// The bytes of the file header: the magic is no longer one, the major version is refused, and the
// minor version and the reserved bytes change nothing.
TEST(StreamReaderTest, EveryFlippedByteOfTheFileHeaderIsDetectedOrHarmless) {
  const std::string whole = Header() + Strings({1});
  for (std::size_t at = 0; at < kFileHeaderBytes; ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const auto source = OpenMemory(bytes);

    EXPECT_EQ(StreamReader::Open(*source).has_value(), at >= 6) << at;
  }
}

TEST(StreamReaderTest, BytesInsertedOrRemovedCostOneChunk) {
  const std::string first = Strings({1, 2, 3, 4, 5, 6, 7, 8});
  const std::string rest = Strings({9});
  for (std::size_t at = 0; at < first.size(); ++at) {
    const std::string removed = std::string(first).erase(at, 1).append(rest);
    const std::string inserted = std::string(first).insert(at, "O").append(rest);

    EXPECT_THAT(ReadBytes(Header().append(removed)).ids, ElementsAre(9)) << at;
    const Content content = ReadBytes(Header().append(inserted));
    EXPECT_EQ(content.ids.back(), 9U) << at;
    EXPECT_GT(content.losses.num_skipped_bytes, 0U);
  }
}

TEST(StreamReaderTest, ChunksOfALaterVersionAreSkippedAndCounted) {
  ChunkHeader later{.type = static_cast<ChunkType>(77), .num_records = 5, .raw_bytes = 3};

  const Content content = ReadBytes(Header() + Strings({1}) + Reseal(later, "abc") + Strings({2}));

  EXPECT_THAT(content.ids, ElementsAre(1, 2));
  EXPECT_EQ(content.losses.num_unknown_chunks, 1U);
  EXPECT_EQ(content.losses.first_unknown_type, 77U);
  EXPECT_EQ(content.losses.num_skipped_bytes, 0U);
}

TEST(StreamReaderTest, AHigherMajorVersionIsRefusedInOneSentence) {
  std::string bytes = Header() + Strings({1});
  bytes[4] = 2;
  const auto source = OpenMemory(bytes);

  const auto reader = StreamReader::Open(*source);

  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().message(),
            "the stream has version 2, and this Orrery reads version 1: use a newer Orrery");
}

TEST(StreamReaderTest, AHigherMinorVersionIsRead) {
  std::string bytes = Header() + Strings({1});
  bytes[6] = 9;

  EXPECT_THAT(ReadBytes(bytes).ids, ElementsAre(1));
}

TEST(StreamReaderTest, OtherFilesAndEmptyStreamsAreRefused) {
  for (const auto& [bytes, message] :
       {std::pair("", "not a recorded"), std::pair("ORR", "not a recorded"),
        std::pair("ORRS\x01", "ends inside its header")}) {
    const auto source = OpenMemory(bytes);
    const auto reader = StreamReader::Open(*source);
    ASSERT_FALSE(reader);
    EXPECT_THAT(reader.error().message(), HasSubstr(message));
  }
}

// Lengths beyond the limit, lengths that disagree, an unknown codec, and packed bytes that unpack
// to another length: none is trusted, although the checksums hold.
TEST(StreamReaderTest, HeadersThatCannotBeTrueAreDamage) {
  const std::string packed = Packed(Strings({1}));
  ChunkHeader wrong_length = DecodeChunkHeader(packed);
  ++wrong_length.raw_bytes;
  const ChunkHeader plain = DecodeChunkHeader(Strings({1}));
  ChunkHeader other_codec = plain;
  other_codec.codec = static_cast<Codec>(7);
  ChunkHeader huge = plain;
  huge.raw_bytes = kMaxRawBytes + 1;
  ChunkHeader uneven = plain;
  uneven.raw_bytes += 1;
  const std::string payload = Strings({1}).substr(kChunkHeaderBytes);
  for (const std::string& bad :
       {Reseal(wrong_length, packed.substr(kChunkHeaderBytes)), Reseal(other_codec, payload),
        Reseal(huge, payload), Reseal(uneven, payload)}) {
    const Content content = ReadBytes(Header() + bad + Strings({2}));

    EXPECT_THAT(content.ids, ElementsAre(2));
    EXPECT_EQ(content.losses.num_damaged_chunks, 1U);
  }
}

}  // namespace
}  // namespace orrery::stream
