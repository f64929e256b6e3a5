#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/orrs/stream_test.h"
#include "orrery/stream/codes.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

// Whatever happens to the bytes of a stream: no harm, nothing unsaid.

namespace orrery::ingest::orrs {
namespace {

TEST(OrrsDamageTest, EveryTruncationIsReadOrRefused) {
  const std::string whole = SmallStream();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);

    const auto content = ReadResult(cut);

    ASSERT_EQ(content.has_value(), size >= stream::kFileHeaderBytes) << size;
    if (content) {
      EXPECT_EQ(CountOf(content->traces.at(0), "recording without an end"), 1) << size;
    }
  }
}

// A flipped byte is either seen as a loss, or refused, or in a byte that says nothing.
TEST(OrrsDamageTest, EveryFlippedByteIsDetectedOrHarmless) {
  const std::string whole = SmallStream();
  const trace::Trace expected = ReadBytes(whole);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);

    auto content = ReadResult(bytes);

    if (content && !content->traces.at(0).problems.has_loss()) {
      trace::Trace& read = content->traces[0];
      read.info.format_version = expected.info.format_version;
      EXPECT_EQ(read, expected) << at;
    }
  }
}

TEST(OrrsDamageTest, WhatALostChunkDefinedIsShownByItsNumber) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Launch{.sequence = 1, .function = 12, .coverage = stream::codes::kExact},
             stream::Touch{.launch = 1, .object = 34, .read_bytes = 8},
             stream::Touch{.launch = 56, .object = 34, .read_bytes = 8}));

  EXPECT_EQ(trace.Text(trace.activities.name.at(0)), "function 12");
  EXPECT_EQ(trace.memory_objects.id.at(0), 34);
  EXPECT_EQ(trace.memory_objects.memory_class[0], trace::MemoryClass::kUnknown);
  EXPECT_EQ(trace.touches.activity.at(1), kNoRow);
  EXPECT_EQ(CountOf(trace, "launch that is referenced"), 1);
  EXPECT_EQ(CountOf(trace, "object that is referenced"), 1);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(OrrsDamageTest, AStreamOfANewerVersionIsRefusedInOneSentence) {
  std::string bytes = SmallStream();
  bytes[4] = 3;

  const auto content = ReadResult(bytes);

  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().message(),
            "run.orrs: the stream has version 3, and this Orrery reads version 1: use a newer "
            "Orrery");
}

// Numbers that no recorder writes must not stop anything: times at both ends, sizes that overflow.
TEST(OrrsDamageTest, AbsurdNumbersAreRead) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  constexpr auto kFirst = std::numeric_limits<std::int64_t>::min();
  const std::uint64_t huge[] = {~0ULL, ~0ULL};
  const trace::Trace trace = ReadBytes(FileOf(
      stream::OperatorBegin{.sequence = 1, .time_ns = kFirst},
      stream::OperatorEnd{.sequence = 2, .time_ns = kLast, .begin = 1},
      stream::Allocation{
          .sequence = ~0ULL, .time_ns = kFirst, .object = 1, .address = ~0ULL, .bytes = ~0ULL},
      stream::Copy{.sequence = 4, .width_bytes = ~0ULL, .height = ~0ULL, .depth = ~0ULL},
      stream::PageTouch{.launch = 4,
                        .page_bytes = ~0ULL,
                        .first_page = ~0ULL,
                        .form = stream::codes::kRuns,
                        .numbers = huge},
      stream::TensorMap{.id = 1, .element_bytes = ~0ULL, .shape = huge, .strides_bytes = huge},
      stream::LaunchMap{.launch = 4, .object = 1, .map = 1}));

  EXPECT_EQ(trace.memory_objects.bytes.at(0), kLast);
  EXPECT_EQ(trace.host_ops.duration_ns.at(0), 0);
}

TEST(OrrsDamageTest, ListsThatMakeNoSenseAreCounted) {
  const std::uint64_t odd[] = {1, 2, 3};
  const trace::Trace trace = ReadBytes(FileOf(
      stream::Launch{.sequence = 1}, stream::PageTouch{.launch = 1, .form = 0, .bitmap = "x"},
      stream::PageTouch{.launch = 1, .page_bytes = 1, .form = stream::codes::kRuns, .numbers = odd},
      stream::WarpAccess{.launch = 1, .form = stream::codes::kGeneral, .offsets = odd}));

  EXPECT_EQ(CountOf(trace, "list of pages"), 2);
  EXPECT_EQ(CountOf(trace, "lanes and addresses disagree"), 1);
}

}  // namespace
}  // namespace orrery::ingest::orrs
