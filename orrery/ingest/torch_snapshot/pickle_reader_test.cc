#include "orrery/ingest/torch_snapshot/pickle_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest::torch_snapshot {
namespace {

using namespace std::string_literals;  // NOLINT: bytes with zeros in them
using ::testing::HasSubstr;

Result<Pickle> ReadBytes(const std::string& bytes, const PickleLimits& limits = {}) {
  const std::unique_ptr<ByteSource> source = OpenMemory(bytes);
  return ReadPickle(*source, limits);
}

std::string ErrorOf(const std::string& bytes, const PickleLimits& limits = {}) {
  const auto pickle = ReadBytes(bytes, limits);
  return pickle ? "" : pickle.error().message();
}

std::int64_t IntegerOf(const std::string& bytes) {
  const auto pickle = ReadBytes(bytes);
  return pickle ? pickle->data.Integer(pickle->root).value_or(-999) : -998;
}

TEST(PickleReaderTest, IntegersOfAllWidthsAreRead) {
  EXPECT_EQ(IntegerOf("\x80\x02K\xff."s), 255);
  EXPECT_EQ(IntegerOf("\x80\x02M\x00\x01."s), 256);
  EXPECT_EQ(IntegerOf("\x80\x02J\xfe\xff\xff\xff."s), -2);
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x00."s), 0);
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x01\xff."s), -1);
  // An address of 2^63 - 1, and 2^40 as TorchScript's pickler writes it: always eight bytes.
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."s), INT64_MAX);
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x01\x00\x00."s), 1LL << 40);
  // Nine bytes that need only eight.
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x09\x05\x00\x00\x00\x00\x00\x00\x00\x00."s), 5);
  // -1 that was stored as an unsigned number, 2^64 - 1, as Python writes it; and as it is.
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00."s), -1);
  EXPECT_EQ(IntegerOf("\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\xff."s), -1);
}

TEST(PickleReaderTest, AnIntegerBeyond64BitsIsRefused) {
  EXPECT_THAT(ErrorOf("\x80\x02\x8a\x09\x05\x00\x00\x00\x00\x00\x00\x00\x01."s),
              HasSubstr("byte 2: an integer of more than 64 bits"));
  EXPECT_THAT(ErrorOf("\x80\x02\x8a\x09\x05\x00\x00\x00\x00\x00\x00\x00\xff."s),
              HasSubstr("byte 2: an integer of more than 64 bits"));
}

// {'a': [1, (2, 3)]} with the list filled after it was remembered and used.
TEST(PickleReaderTest, ContainersAreSharedAndFilledLater) {
  const auto pickle = ReadBytes(
      "\x80\x04]\x94}\x94(\x8c\x01\x61h\x00u0h\x00(K\x01K\x02K\x03\x86"s
      "e0h\x01."s);

  ASSERT_TRUE(pickle) << pickle.error().message();
  const auto list = pickle->data.ListAt(pickle->root, "a");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(pickle->data.Integer(list[0]), 1);
  EXPECT_EQ(pickle->data.List(list[1]).size(), 2U);
}

TEST(PickleReaderTest, AListThatHoldsItselfIsNoTrouble) {
  const auto pickle = ReadBytes("\x80\x02]q\x00h\x00\x61."s);

  ASSERT_TRUE(pickle) << pickle.error().message();
  const auto list = pickle->data.List(pickle->root);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(pickle->data.List(list[0]).size(), 1U);
}

TEST(PickleReaderTest, OfEqualKeysTheLastCounts) {
  const auto pickle = ReadBytes("\x80\x02}(U\x01xK\x01U\x01xK\x02u."s);

  ASSERT_TRUE(pickle);
  EXPECT_EQ(pickle->data.IntegerAt(pickle->root, "x", 0), 2);
}

struct Calling {
  const char* name;
  std::string bytes;
};

class CallingOpcodeTest : public ::testing::TestWithParam<Calling> {};

TEST_P(CallingOpcodeTest, IsRefusedByNameAndPlace) {
  const std::string error = ErrorOf("\x80\x04(" + GetParam().bytes);

  EXPECT_THAT(error, HasSubstr("byte 3: "));
  EXPECT_THAT(error, HasSubstr("(opcode "s + GetParam().name + ")"));
}

INSTANTIATE_TEST_SUITE_P(
    All, CallingOpcodeTest,
    ::testing::Values(Calling{"GLOBAL", "cos\nsystem\n"}, Calling{"REDUCE", "R"},
                      Calling{"BUILD", "b"}, Calling{"INST", "ios\nsystem\n"}, Calling{"OBJ", "o"},
                      Calling{"PERSID", "P1\n"}, Calling{"BINPERSID", "Q"},
                      Calling{"NEWOBJ", "\x81"}, Calling{"EXT1", "\x82\x01"},
                      Calling{"EXT2", "\x83\x01"}, Calling{"EXT4", "\x84\x01"},
                      Calling{"NEWOBJ_EX", "\x92"}, Calling{"STACK_GLOBAL", "\x93"},
                      Calling{"NEXT_BUFFER", "\x97"}, Calling{"READONLY_BUFFER", "\x98"}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(PickleReaderTest, OtherOpcodesAreNamedByNumber) {
  EXPECT_THAT(ErrorOf("\x80\x04\x8f."s), HasSubstr("byte 2: opcode 0x8f"));
  EXPECT_THAT(ErrorOf("\x80\x00."s), HasSubstr("protocol 0"));
}

TEST(PickleReaderTest, EveryCutIsAnErrorAndNoCrash) {
  const std::string whole =
      "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}(\x8c\x01"s
      "aK\x01\x8c\x01"s
      "b](K\x01G?\xf0\x00\x00\x00\x00\x00\x00"s
      "eu."s;
  ASSERT_EQ(ErrorOf(whole), "");

  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "") << size;
  }
}

TEST(PickleReaderTest, NonsenseOnTheStackIsAnError) {
  EXPECT_THAT(ErrorOf("\x80\x02."s), HasSubstr("holds nothing"));
  EXPECT_THAT(ErrorOf("\x80\x02\x30."s), HasSubstr("never made"));
  EXPECT_THAT(ErrorOf("\x80\x02\x85."s), HasSubstr("never made"));
  EXPECT_THAT(ErrorOf("\x80\x02h\x07."s), HasSubstr("never made"));
  EXPECT_THAT(ErrorOf("\x80\x02\x94."s), HasSubstr("never made"));
  EXPECT_THAT(ErrorOf("\x80\x02"s + "e."s), HasSubstr("never made"));
  EXPECT_THAT(ErrorOf("\x80\x02t."s), HasSubstr("never began"));
  EXPECT_THAT(ErrorOf("\x80\x02K\x01K\x02\x61."s), HasSubstr("no container"));
  EXPECT_THAT(ErrorOf("\x80\x02K\x01(K\x02u."s), HasSubstr("no container"));
  EXPECT_THAT(ErrorOf("\x80\x02}(K\x02u."s), HasSubstr("a key without a value"));
}

TEST(PickleReaderTest, LimitsHold) {
  EXPECT_THAT(ErrorOf("\x80\x02NNN."s, {.max_values = 2}), HasSubstr("more than 2 values"));
  EXPECT_THAT(ErrorOf("\x80\x02((((."s, {.max_depth = 3}), HasSubstr("deeper than 3"));
  EXPECT_THAT(ErrorOf("\x80\x02X\xff\xff\xff\x7f."s), HasSubstr("a text of 2147483647 bytes"));
}

}  // namespace
}  // namespace orrery::ingest::torch_snapshot
