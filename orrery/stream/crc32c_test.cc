#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "orrery/stream/format.h"

namespace orrery::stream {
namespace {

// The check value of the algorithm's catalogue, and the examples of RFC 3720, B.4.
TEST(Crc32cTest, AgreesWithPublishedValues) {
  std::string ascending;
  for (char byte = 0; byte < 32; ++byte) {
    ascending += byte;
  }

  EXPECT_EQ(Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(Crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(Crc32c(""), 0U);
}

// Steps of eight bytes and single bytes must agree wherever the border lies.
TEST(Crc32cTest, EveryLengthAgreesWithByteByByte) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += static_cast<char>(i * 37 + 11);
    std::uint32_t expected = 0xFFFFFFFF;
    for (const char byte : text) {
      expected = crc32c::OneByte(expected, byte);
    }
    EXPECT_EQ(Crc32c(text), ~expected) << text.size();
  }
}

}  // namespace
}  // namespace orrery::stream
