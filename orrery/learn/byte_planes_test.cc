#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/file/byte_cursor.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {
namespace {

RC_GTEST_PROP(BytePlanes, NumbersComeBack, (const std::vector<std::int32_t>& numbers)) {
  ByteWriter writer;
  WriteSignedPlanes(writer, numbers);
  ByteReader reader(writer.bytes());
  RC_ASSERT(ReadSignedPlanes(reader, numbers.size()) == numbers);
  RC_ASSERT(!reader.failed());
}

TEST(BytePlanes, TheLargestNumbersComeBack) {
  const std::vector<std::int32_t> numbers = {std::numeric_limits<std::int32_t>::min(),
                                             std::numeric_limits<std::int32_t>::max(), -1, 0};
  ByteWriter writer;
  WriteSignedPlanes(writer, numbers);
  ByteReader reader(writer.bytes());
  EXPECT_EQ(ReadSignedPlanes(reader, 4), numbers);
}

RC_GTEST_PROP(BytePlanes, FlagsComeBack, (const std::vector<bool>& drawn)) {
  const std::vector<std::uint8_t> flags(drawn.begin(), drawn.end());
  ByteWriter writer;
  WriteFlags(writer, flags);
  ByteReader reader(writer.bytes());
  RC_ASSERT(ReadFlags(reader, flags.size()) == flags);
}

// One byte for the number of planes, four for the length, two planes of three numbers.
TEST(BytePlanes, SmallNumbersNeedFewPlanes) {
  ByteWriter writer;
  WritePlanes(writer, std::vector<std::uint32_t>{1, 2, 300});
  EXPECT_EQ(writer.bytes().size(), 1 + 4 + 2 * 3);
}

TEST(BytePlanes, AnotherCountThanWrittenFails) {
  ByteWriter writer;
  WritePlanes(writer, std::vector<std::uint32_t>{1, 2, 3});
  ByteReader reader(writer.bytes());
  EXPECT_TRUE(ReadPlanes(reader, 4).empty());
  EXPECT_TRUE(reader.failed());
}

}  // namespace
}  // namespace orrery::learn
