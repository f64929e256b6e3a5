
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/stream/field.h"
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/stream/writer.h"

namespace orrery::stream {
namespace {

using namespace std::string_literals;  // NOLINT: bytes with zeros in them

std::string Payload(ChunkBuilder& builder) {
  return std::string(builder.Seal().substr(kChunkHeaderBytes));
}

Chunk AsChunk(std::string_view sealed) {
  return {.header = DecodeChunkHeader(sealed),
          .offset = 0,
          .payload = sealed.substr(kChunkHeaderBytes)};
}

// Length 5, kind 1, id 7, two characters behind their count.
TEST(RecordCodecTest, ARecordIsItsLengthItsKindAndItsFields) {
  ChunkBuilder builder(ChunkType::kStrings);

  ASSERT_TRUE(builder.Append(String{.id = 7, .text = "ab"}));

  EXPECT_EQ(Payload(builder), std::string("\x05\x01\x07\x02"
                                          "ab"));
}

// The first event begins at its chunk's number and at time 0: differences 0 and 10, zig-zag 20.
// The second is one later in number and 3 ns earlier: zig-zag 2 and 5. Zeros at the end are gone.
TEST(RecordCodecTest, NumbersAndTimesAreDifferences) {
  ChunkBuilder builder(ChunkType::kEvents);

  ASSERT_TRUE(builder.Append(Step{.sequence = 1000, .time_ns = 10, .thread = 1, .number = 4}));
  ASSERT_TRUE(builder.Append(Step{.sequence = 1001, .time_ns = 7}));

  EXPECT_EQ(Payload(builder), std::string("\x05\x0F\x00\x14\x01\x04"
                                          "\x03\x0F\x02\x05",
                                          10));
  EXPECT_EQ(DecodeChunkHeader(builder.Seal()).first_sequence, 1000U);
}

TEST(RecordCodecTest, UnknownStaysUnknownAndZeroStaysZero) {
  ChunkBuilder builder(ChunkType::kHeader);
  ASSERT_TRUE(builder.Append(Process{.rank = 0}));

  ForEachRecord(AsChunk(builder.Seal()), []<typename Record>(const Record& record) {
    if constexpr (std::is_same_v<Record, Process>) {
      EXPECT_EQ(record.rank, 0);
      EXPECT_EQ(record.world_size, -1);
    }
  });
}

// Keeps what a record names by view.
struct Storage {
  std::string text;
  std::vector<std::uint64_t> numbers;
};

template <typename Record>
Record RandomRecord(Storage& storage) {
  storage.text = *rc::gen::arbitrary<std::string>();
  storage.numbers = *rc::gen::arbitrary<std::vector<std::uint64_t>>();
  Record record;
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    if constexpr (encoding == Encoding::kText) {
      record.*field.member = storage.text;
    } else if constexpr (encoding == Encoding::kNumbers) {
      record.*field.member = storage.numbers;
    } else if constexpr (encoding == Encoding::kMaybe) {
      record.*field.member = *rc::gen::oneOf(
          rc::gen::just<std::int64_t>(-1),
          rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()));
    } else {
      using T = std::remove_cvref_t<decltype(record.*field.member)>;
      const auto wide = *rc::gen::arbitrary<T>();
      record.*field.member = *rc::gen::element<T>(0, 1, wide, std::numeric_limits<T>::max(),
                                                  std::numeric_limits<T>::min());
    }
  });
  return record;
}

template <typename Record>
bool AreEqual(const Record& lhs, const Record& rhs) {
  bool equal = true;
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    if constexpr (encoding == Encoding::kNumbers) {
      equal = equal && std::vector((lhs.*field.member).begin(), (lhs.*field.member).end()) ==
                           std::vector((rhs.*field.member).begin(), (rhs.*field.member).end());
    } else {
      equal = equal && lhs.*field.member == rhs.*field.member;
    }
  });
  return equal;
}

template <typename Record>
void CheckRoundTrip() {
  std::vector<Storage> storage(3);
  std::vector<Record> records;
  ChunkBuilder builder(Record::kChunk);
  for (Storage& one : storage) {
    records.push_back(RandomRecord<Record>(one));
    RC_ASSERT(builder.Append(records.back()));
  }
  std::size_t next = 0;
  const RecordLosses losses =
      ForEachRecord(AsChunk(builder.Seal()), [&]<typename Read>(const Read& record) {
        if constexpr (std::is_same_v<Read, Record>) {
          RC_ASSERT(AreEqual(record, records.at(next++)));
        } else {
          RC_FAIL("a record of another kind");
        }
      });
  RC_ASSERT(next == records.size());
  RC_ASSERT(losses.num_unreadable == 0U);
}

RC_GTEST_PROP(RecordCodecTest, EveryRecordComesBackAsItWas, ()) {
  ForEachRecordType([]<typename Record>() { CheckRoundTrip<Record>(); });
}

// Numbers of more than 64 bits, a text longer than its record, a list longer than its record, and
// a record longer than its chunk.
TEST(RecordCodecTest, WhatMakesNoSenseEndsTheChunkAndIsCounted) {
  for (const std::string& payload :
       {"\x0C\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02\x00"s, "\x03\x01\x01\x7F"s,
        "\x04\x01\x01\x00\x7F"s, "\x7F\x01\x01"s}) {
    Chunk chunk{
        .header = {.type = ChunkType::kStacks, .num_records = 3}, .offset = 0, .payload = payload};
    int num_seen = 0;

    const RecordLosses losses = ForEachRecord(chunk, [&](const auto&) { ++num_seen; });

    EXPECT_EQ(losses.num_unreadable + static_cast<unsigned>(num_seen), 3U);
    EXPECT_LT(num_seen, 2);
  }
}

// Kind 99 is an event of a later version, with more fields than the prefix; it moves number and
// time, so the event behind it is understood.
TEST(RecordCodecTest, AnEventOfALaterVersionIsSteppedOver) {
  const std::string payload(
      "\x07\x63\x02\x14\x01\x55\x66\x77"
      "\x05\x0F\x02\x05\x01\x04",
      14);
  const Chunk chunk{.header = {.type = ChunkType::kEvents, .first_sequence = 5, .num_records = 2},
                    .offset = 0,
                    .payload = payload};
  int num_steps = 0;

  const RecordLosses losses = ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (std::is_same_v<Record, Step>) {
      ++num_steps;
      EXPECT_EQ(record.sequence, 7U);
      EXPECT_EQ(record.time_ns, 7);
      EXPECT_EQ(record.number, 4U);
    }
  });

  EXPECT_EQ(num_steps, 1);
  EXPECT_EQ(losses.num_unknown_kinds, 1U);
  EXPECT_EQ(losses.num_unreadable, 0U);
}

TEST(RecordCodecTest, FieldsOfALaterVersionAreSteppedOver) {
  const std::string payload(
      "\x04\x01\x02\x00\x63"
      "\x04\x01\x03\x01x",
      10);
  const Chunk chunk{
      .header = {.type = ChunkType::kStrings, .num_records = 2}, .offset = 0, .payload = payload};
  std::vector<std::uint64_t> ids;

  ForEachRecord(chunk, [&]<typename Record>(const Record& record) {
    if constexpr (std::is_same_v<Record, String>) {
      ids.push_back(record.id);
    }
  });

  EXPECT_EQ(ids, (std::vector<std::uint64_t>{2, 3}));
}

}  // namespace
}  // namespace orrery::stream
