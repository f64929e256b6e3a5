#include "orrery/ingest/xplane/message.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace orrery::ingest::xplane {
namespace {

TEST(MessageTest, FieldsOfAllTypesAreRead) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_uint64(1, std::numeric_limits<std::uint64_t>::max());
  writer.add_int64(2, -3);
  writer.add_fixed64(3, 0x0102030405060708);
  writer.add_fixed32(4, 0x01020304);
  writer.add_string(500, "text");

  MessageReader reader(bytes);

  EXPECT_EQ(reader.Next()->value, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.Next()->integer(), -3);
  EXPECT_EQ(reader.Next()->value, 0x0102030405060708U);
  EXPECT_EQ(reader.Next()->value, 0x01020304U);
  const auto text = reader.Next();
  EXPECT_EQ(text->number, 500U);
  EXPECT_TRUE(text->is_bytes);
  EXPECT_EQ(text->bytes, "text");
  EXPECT_FALSE(reader.Next());
  EXPECT_FALSE(reader.is_damaged());
}

TEST(MessageTest, ACutTextIsGivenAsFarAsItGoes) {
  MessageReader reader(std::string_view("\x0a\x09par", 5));

  const auto field = reader.Next();

  EXPECT_EQ(field->bytes, "par");
  EXPECT_TRUE(field->is_cut);
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.is_damaged());
}

// A varint of eleven bytes, field number 0, a group, a cut number.
TEST(MessageTest, WhatNoMessageHoldsIsDamage) {
  for (const std::string& bytes :
       {std::string("\x08") + std::string(10, '\xff') + '\x01', std::string("\x02\x00", 2),
        std::string("\x0b"), std::string("\x09\x01\x02"), std::string("\x08\x80")}) {
    MessageReader reader(bytes);

    EXPECT_FALSE(reader.Next());
    EXPECT_TRUE(reader.is_damaged());
  }
}

}  // namespace
}  // namespace orrery::ingest::xplane
