#include "orrery/trace/orr/block_codec.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {
namespace {

template <typename T>
EncodedBlock Encoded(const std::vector<T>& values, bool smallest = false) {
  return BlockEncoder(smallest).Encode(
      {reinterpret_cast<const std::byte*>(values.data()), sizeof(T), values.size()});
}

template <typename T>
std::vector<T> Decoded(const EncodedBlock& block, std::size_t count) {
  BlockDecoder decoder(block.bytes);
  const auto bytes = decoder.Decode(block.entry, sizeof(T), count);
  if (!bytes) {
    ADD_FAILURE() << bytes.error().message();
    return {};
  }
  std::vector<T> values(count);
  std::memcpy(values.data(), *bytes, count * sizeof(T));
  return values;
}

template <typename T>
void ExpectRoundTrip(const std::vector<T>& values) {
  for (const bool smallest : {false, true}) {
    EXPECT_EQ(Decoded<T>(Encoded(values, smallest), values.size()), values);
  }
}

using Int64 = std::numeric_limits<std::int64_t>;

TEST(BlockCodecTest, EqualValuesStoreNothing) {
  const std::vector<std::int64_t> values(100, -7);

  EXPECT_EQ(Encoded(values).bytes, "");
  ExpectRoundTrip(values);
}

TEST(BlockCodecTest, EvenStepsStoreNothing) {
  const std::vector<std::uint32_t> values{5, 3, 1, 0xFFFF'FFFF, 0xFFFF'FFFD};

  EXPECT_EQ(Encoded(values).entry.transform, Transform::kDelta);
  EXPECT_EQ(Encoded(values).bytes, "");
  ExpectRoundTrip(values);
}

// Steps of 2^40 and a little more need one byte, the values themselves six.
TEST(BlockCodecTest, RisingTimesAreStoredAsStepsBeyondTheSmallestStep) {
  std::vector<std::int64_t> values{0};
  for (int i = 1; i < 50; ++i) {
    values.push_back(values.back() + (std::int64_t{1} << 40) + i * i % 7);
  }

  EXPECT_EQ(Encoded(values).entry.transform, Transform::kDelta);
  EXPECT_EQ(Encoded(values).entry.width, 1);
  ExpectRoundTrip(values);
}

// "No row" is all ones, and still next to row 0.
TEST(BlockCodecTest, LinksWithGapsStayNarrow) {
  const std::vector<std::uint32_t> values{0xFFFF'FFFF, 200, 0xFFFF'FFFF, 7};

  EXPECT_EQ(Encoded(values).entry.width, 1);
  ExpectRoundTrip(values);
}

TEST(BlockCodecTest, ExtremesComeBack) {
  ExpectRoundTrip<std::int64_t>({Int64::min(), Int64::max(), 0, -1, Int64::max(), Int64::min()});
  ExpectRoundTrip<std::uint64_t>({0, ~std::uint64_t{0}, 1, std::uint64_t{1} << 63});
  ExpectRoundTrip<std::uint8_t>({0, 255, 128, 127});
  ExpectRoundTrip<std::int32_t>({42});
}

TEST(BlockCodecTest, RandomValuesOfEveryWidthComeBack) {
  std::mt19937_64 random(1);
  for (int bits = 1; bits <= 64; ++bits) {
    std::vector<std::uint64_t> wide;
    std::vector<std::uint32_t> narrow;
    for (int i = 0; i < 1000; ++i) {
      wide.push_back(random() >> (64 - bits));
      narrow.push_back(static_cast<std::uint32_t>(wide.back()));
    }
    ExpectRoundTrip(wide);
    ExpectRoundTrip(narrow);
  }
}

TEST(BlockCodecTest, NoiseIsStoredRawAndRepetitionPacked) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> noise;
  std::vector<std::uint64_t> repeated;
  for (std::size_t i = 0; i < 1000; ++i) {
    noise.push_back(random());
    repeated.push_back(noise[i % 10]);
  }

  EXPECT_EQ(Encoded(noise).entry.packing, Packing::kRaw);
  EXPECT_EQ(Encoded(repeated).entry.packing, Packing::kZstd);
}

// Parents a few rows back: the distance from the row fits one byte.
TEST(BlockCodecTest, TheSmallestBlockStoresLinksAsDistancesFromTheRow) {
  std::mt19937_64 random(1);
  std::vector<std::uint32_t> parents;
  for (std::uint32_t row = 0; row < 5'000; ++row) {
    parents.push_back(row - std::min<std::uint32_t>(row, random() % 4));
  }

  EXPECT_EQ(Encoded(parents, true).entry.transform, Transform::kRow);
  EXPECT_LT(Encoded(parents, true).bytes.size(), Encoded(parents).bytes.size());
  ExpectRoundTrip(parents);
}

// High bytes of times that change slowly repeat when they lie side by side.
TEST(BlockCodecTest, TheSmallestBlockSortsBytesIntoPlanes) {
  std::mt19937_64 random(1);
  std::vector<std::int64_t> durations;
  for (int i = 0; i < 5'000; ++i) {
    durations.push_back(i / 1'000 * 1'000 + static_cast<std::int64_t>(random() % 200));
  }

  EXPECT_EQ(Encoded(durations, true).entry.packing, Packing::kZstdPlanes);
  EXPECT_LT(Encoded(durations, true).bytes.size(), Encoded(durations).bytes.size());
  ExpectRoundTrip(durations);
}

TEST(BlockCodecTest, PlanesOfAnotherLengthAreRefused) {
  std::vector<std::uint32_t> values;
  for (std::uint32_t i = 0; i < 500; ++i) {
    values.push_back(i * i % 1'009);
  }
  const EncodedBlock block = Encoded(values, true);
  ASSERT_EQ(block.entry.packing, Packing::kZstdPlanes);

  EXPECT_FALSE(BlockDecoder(block.bytes).Decode(block.entry, 4, 499));
  EXPECT_FALSE(BlockDecoder(block.bytes).Decode(block.entry, 4, 501));
}

TEST(BlockCodecTest, ABlockOfAnotherLengthIsRefused) {
  const EncodedBlock raw = Encoded<std::uint32_t>({1, 5, 2});
  const EncodedBlock packed = Encoded<std::uint32_t>(std::vector<std::uint32_t>{
      1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  ASSERT_EQ(packed.entry.packing, Packing::kZstd);

  EXPECT_FALSE(BlockDecoder(raw.bytes).Decode(raw.entry, 4, 4));
  EXPECT_FALSE(BlockDecoder(packed.bytes).Decode(packed.entry, 4, 27));
  EXPECT_FALSE(BlockDecoder(packed.bytes).Decode(packed.entry, 4, 29));
}

TEST(BlockCodecTest, AWidthBeyondTheValuesIsRefused) {
  EncodedBlock block = Encoded<std::uint32_t>({1, 5, 2});
  block.entry.width = 8;

  EXPECT_FALSE(BlockDecoder(block.bytes).Decode(block.entry, 4, 3));
}

}  // namespace
}  // namespace orrery::trace::orr
