#include "orrery/base/file/byte_source.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Unpacked {
  std::string bytes;
  std::string damage;
};

Unpacked UnpackAll(std::string_view packed) {
  const auto source = Unpack(OpenMemory(packed));
  auto bytes = ReadAll(*source);
  EXPECT_TRUE(bytes.has_value());
  return {bytes.value_or(""), source->damage()};
}

// Text that packs, but not to nothing: the numbers never repeat.
std::string NumberedLines(int count) {
  std::string text;
  std::uint32_t number = 1;
  for (int line = 0; line < count; ++line) {
    number = number * 1'664'525 + 1'013'904'223;
    text += "line " + std::to_string(number) + "\n";
  }
  return text;
}

class PackedTest : public ::testing::TestWithParam<Compression> {};

INSTANTIATE_TEST_SUITE_P(All, PackedTest, ::testing::Values(Compression::kGzip, Compression::kZstd),
                         [](const auto& test) {
                           return test.param == Compression::kGzip ? "Gzip" : "Zstd";
                         });

TEST_P(PackedTest, WhatWasPackedComesBack) {
  const std::string text = NumberedLines(200'000);
  const std::string packed = Pack(text, GetParam());
  ASSERT_LT(packed.size(), text.size() * 3 / 4);
  ASSERT_EQ(SniffCompression(packed), GetParam());

  const Unpacked unpacked = UnpackAll(packed);

  EXPECT_EQ(unpacked.bytes, text);
  EXPECT_THAT(unpacked.damage, IsEmpty());
}

TEST_P(PackedTest, EmptyContentComesBackEmpty) {
  const Unpacked unpacked = UnpackAll(Pack("", GetParam()));

  EXPECT_THAT(unpacked.bytes, IsEmpty());
  EXPECT_THAT(unpacked.damage, IsEmpty());
}

TEST_P(PackedTest, SeveralPackedPiecesInARowAreOneContent) {
  const std::string first = NumberedLines(1'000);
  const std::string packed = Pack(first, GetParam()) + Pack("", GetParam()) +
                             Pack("second\n", GetParam()) + Pack("third\n", GetParam());

  const Unpacked unpacked = UnpackAll(packed);

  EXPECT_EQ(unpacked.bytes, first + "second\nthird\n");
  EXPECT_THAT(unpacked.damage, IsEmpty());
}

TEST_P(PackedTest, ACutFileGivesWhatUnpacksAndSaysWhy) {
  const std::string text = NumberedLines(200'000);
  const std::string packed = Pack(text, GetParam());

  const Unpacked unpacked = UnpackAll(std::string_view(packed).substr(0, packed.size() / 2));

  EXPECT_GT(unpacked.bytes.size(), text.size() / 4);
  EXPECT_LT(unpacked.bytes.size(), text.size());
  EXPECT_TRUE(text.starts_with(unpacked.bytes));
  EXPECT_THAT(unpacked.damage, HasSubstr("the data end early"));
}

TEST_P(PackedTest, EveryCutOfASmallFileIsNoticed) {
  const std::string text = NumberedLines(30);
  const std::string packed = Pack(text, GetParam());
  // Below four bytes the file is not recognised as packed.
  for (std::size_t size = 4; size < packed.size(); ++size) {
    const Unpacked unpacked = UnpackAll(std::string_view(packed).substr(0, size));
    EXPECT_TRUE(text.starts_with(unpacked.bytes)) << size;
    EXPECT_THAT(unpacked.damage, HasSubstr("the data end early")) << size;
  }
}

TEST_P(PackedTest, AWrongChecksumIsReportedAndTheContentKept) {
  const std::string text = NumberedLines(1'000);
  std::string packed = Pack(text, GetParam());
  // gzip ends with CRC and length, four bytes each; zstd with a checksum of four bytes.
  const std::size_t checksum_from_end = GetParam() == Compression::kGzip ? 8 : 4;
  packed[packed.size() - checksum_from_end] ^= 1;

  const Unpacked unpacked = UnpackAll(packed);

  EXPECT_EQ(unpacked.bytes, text);
  EXPECT_THAT(unpacked.damage, HasSubstr("checksum"));
}

TEST_P(PackedTest, BytesBehindThePackedDataAreReported) {
  const Unpacked unpacked = UnpackAll(Pack("content\n", GetParam()) + "garbage");

  EXPECT_EQ(unpacked.bytes, "content\n");
  EXPECT_THAT(unpacked.damage, HasSubstr("other bytes follow"));
}

TEST_P(PackedTest, ABombIsRefusedWithTheLimitAndHowToRaiseIt) {
  const std::string packed = Pack(std::string(100 << 20, 'a'), GetParam());
  ASSERT_LT(packed.size() * 250, 100U << 20);
  const auto source = Unpack(OpenMemory(packed));

  const auto bytes = ReadAll(*source);

  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().kind(), Error::Kind::kLimit);
  EXPECT_THAT(bytes.error().message(), HasSubstr("more than 250 times"));
  EXPECT_THAT(bytes.error().message(), HasSubstr("--max-unpack-ratio"));
}

TEST_P(PackedTest, ARaisedLimitLetsTheSameDataThrough) {
  const std::string packed = Pack(std::string(100 << 20, 'a'), GetParam());
  const auto source = Unpack(OpenMemory(packed), {.max_ratio = 1e6});

  EXPECT_EQ(ReadAll(*source)->size(), 100U << 20);
}

// `printf 'hello\n' | gzip -n`, so that the reader does not only understand our own writer.
TEST(ByteSourceTest, FilesOfGnuGzipAreRead) {
  constexpr std::array<std::uint8_t, 26> kPacked{
      0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb, 0x48, 0xcd,
      0xc9, 0xc9, 0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0x00, 0x00, 0x00};

  const Unpacked unpacked =
      UnpackAll({reinterpret_cast<const char*>(kPacked.data()), kPacked.size()});

  EXPECT_EQ(unpacked.bytes, "hello\n");
  EXPECT_THAT(unpacked.damage, IsEmpty());
}

TEST(ByteSourceTest, OtherBytesPassThrough) {
  const std::string text = NumberedLines(200'000);

  EXPECT_EQ(UnpackAll(text).bytes, text);
  EXPECT_EQ(UnpackAll("x").bytes, "x");
  EXPECT_THAT(UnpackAll(text).damage, IsEmpty());
}

TEST(ByteSourceTest, NothingIsNothing) {
  const Unpacked unpacked = UnpackAll("");

  EXPECT_THAT(unpacked.bytes, IsEmpty());
  EXPECT_THAT(unpacked.damage, IsEmpty());
}

TEST(ByteSourceTest, ReadAllStopsAtItsLimit) {
  const auto source = OpenMemory("0123456789");

  const auto bytes = ReadAll(*source, 9);

  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().kind(), Error::Kind::kLimit);
}

TEST(ByteSourceTest, AMissingFileIsNotFoundByName) {
  const auto source = OpenFile("/no/such/file");

  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().kind(), Error::Kind::kNotFound);
  EXPECT_THAT(source.error().message(), HasSubstr("/no/such/file"));
}

TEST(ByteSourceTest, ADirectoryIsNotAFile) {
  const auto source = OpenFile(::testing::TempDir());

  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().message(), HasSubstr("is a directory"));
}

TEST(ByteSourceTest, ADeviceWithoutEndIsNotAFile) {
  const auto source = OpenFile("/dev/zero");

  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().message(), HasSubstr("/dev/zero: is a device"));
}

TEST(ByteSourceTest, TheNullDeviceIsEmpty) {
  const auto source = OpenFile("/dev/null");

  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(ReadAll(**source, 1).value(), "");
}

TEST(PackingTest, FilesArePackedAsTheirNamesAsk) {
  for (const auto& [name, compression] : {std::pair("packing_test.txt", Compression::kNone),
                                          std::pair("packing_test.txt.gz", Compression::kGzip),
                                          std::pair("packing_test.txt.zst", Compression::kZstd)}) {
    const std::string path = ::testing::TempDir() + name;
    ASSERT_TRUE(WriteFile(path, "content").has_value());
    const auto on_disk = ReadAll(**OpenFile(path));
    EXPECT_EQ(SniffCompression(*on_disk), compression) << name;
    EXPECT_EQ(UnpackAll(*on_disk).bytes, "content") << name;
    std::filesystem::remove(path);
  }
}

TEST(PackingTest, AFolderThatDoesNotExistIsAnErrorWithThePath) {
  const Status status = WriteFile("/no/such/folder/file", "content");

  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message(), HasSubstr("/no/such/folder/file"));
}

}  // namespace
}  // namespace orrery
