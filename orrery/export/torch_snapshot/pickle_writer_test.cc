#include "orrery/export/torch_snapshot/pickle_writer.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"

namespace orrery::exporting {
namespace {

using namespace std::string_view_literals;

template <typename Write>
std::string Pickled(Write write) {
  MemorySink sink;
  PickleWriter pickle(sink);
  write(pickle);
  EXPECT_TRUE(pickle.Finish());
  return sink.bytes();
}

std::string PickledInteger(std::int64_t value) {
  return Pickled([&](PickleWriter& pickle) { pickle.Integer(value); });
}

// The opcodes are those of Python's pickletools: K one byte, M two, J four with a sign, 0x8a a
// length and as many bytes of two's complement.
TEST(PickleWriterTest, IntegersTakeTheShortestForm) {
  EXPECT_EQ(PickledInteger(0), "\x80\x04K\x00."sv);
  EXPECT_EQ(PickledInteger(255), "\x80\x04K\xff."sv);
  EXPECT_EQ(PickledInteger(256), "\x80\x04M\x00\x01."sv);
  EXPECT_EQ(PickledInteger(65536), "\x80\x04J\x00\x00\x01\x00."sv);
  EXPECT_EQ(PickledInteger(-1), "\x80\x04J\xff\xff\xff\xff."sv);
  EXPECT_EQ(PickledInteger(std::int64_t{1} << 31), "\x80\x04\x8a\x05\x00\x00\x00\x80\x00."sv);
  EXPECT_EQ(PickledInteger(0x7F0000000000), "\x80\x04\x8a\x06\x00\x00\x00\x00\x00\x7f."sv);
  EXPECT_EQ(PickledInteger(-(std::int64_t{1} << 39)), "\x80\x04\x8a\x05\x00\x00\x00\x00\x80."sv);
}

TEST(PickleWriterTest, EmptyContainersHaveNoMark) {
  EXPECT_EQ(Pickled([](PickleWriter& pickle) {
              pickle.BeginDict();
              pickle.EndDict();
            }),
            "\x80\x04}."sv);
  EXPECT_EQ(Pickled([](PickleWriter& pickle) {
              pickle.BeginList();
              pickle.EndList();
            }),
            "\x80\x04]."sv);
}

// Texts are remembered in order (0x94), so the second "a" is a reference to number 0.
TEST(PickleWriterTest, ATextThatComesAgainIsAReference) {
  const std::string bytes = Pickled([](PickleWriter& pickle) {
    pickle.BeginDict();
    pickle.Text("a", "b");
    pickle.Text("b", "a");
    pickle.EndDict();
  });

  EXPECT_EQ(bytes,
            "\x80\x04}(\x8c\x01"
            "a\x94\x8c\x01"
            "b\x94h\x01h\x00u."sv);
}

TEST(PickleWriterTest, AListThatComesAgainIsAReference) {
  const std::string bytes = Pickled([](PickleWriter& pickle) {
    pickle.BeginList();
    const PickleWriter::Reference inner = pickle.BeginSharedList();
    pickle.Bool(true);
    pickle.EndList();
    pickle.Again(inner);
    pickle.Pair(0, 7);
    pickle.EndList();
  });

  EXPECT_EQ(bytes,
            "\x80\x04](]\x94(\x88"
            "eh\x00K\x00K\x07\x86"
            "e."sv);
}

// After each thousand values they are appended, so 2,001 values make three times "e".
TEST(PickleWriterTest, LongListsAreAppendedPieceByPiece) {
  const std::string bytes = Pickled([](PickleWriter& pickle) {
    pickle.BeginList();
    for (int i = 0; i < 2001; ++i) {
      pickle.Integer(1);
    }
    pickle.EndList();
  });

  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 'e'), 3);
  EXPECT_EQ(bytes.size(), 2U + 1 + 2001 * 2 + 3 * 2 + 1);
}

TEST(PickleWriterTest, TextsAreUtf8) {
  EXPECT_EQ(Pickled([](PickleWriter& pickle) { pickle.Text("a\xff"); }),
            "\x80\x04\x8c\x04"
            "a\xef\xbf\xbd\x94."sv);
  const std::string long_text(300, 'x');
  EXPECT_EQ(Pickled([&](PickleWriter& pickle) { pickle.Text(long_text); }),
            std::string("\x80\x04X\x2c\x01\x00\x00"sv) + long_text + "\x94.");
}

}  // namespace
}  // namespace orrery::exporting
