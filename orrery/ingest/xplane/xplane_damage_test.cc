#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "orrery/ingest/input_file.h"
#include "orrery/ingest/reading_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/xplane/reading_test.h"
#include "orrery/ingest/xplane/space_test.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {
namespace {

using ::testing::HasSubstr;
using trace::Trace;

// Wherever the file is truncated it is either refused or read with a loss, and never has more rows.
TEST(XplaneDamageTest, ACutFileGivesItsCompleteEvents) {
  const std::string whole = SpaceOf({SmallTpu()});
  std::size_t num_read = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const auto content = kFormat.Read(*InputFile::FromMemory("cut", cut), {});
    if (!content) {
      EXPECT_THAT(content.error().message(), HasSubstr("cut: an XPlane recording without"));
      continue;
    }
    const Trace& trace = content->traces.at(0);
    EXPECT_TRUE(trace.problems.has_loss()) << size;
    EXPECT_LE(trace.activities.size(), 2U);
    num_read += trace.activities.size() == 2 ? 1 : 0;
  }
  EXPECT_GT(num_read, 0U);
}

// Names stand after the lines: a cut that takes them leaves the times.
TEST(XplaneDamageTest, EventsWithoutTheirKindKeepTheirTimes) {
  TestPlane plane = SmallTpu();
  plane.kinds.clear();

  const Trace trace = ReadBytes(SpaceOf({plane}));

  ASSERT_EQ(trace.activities.size(), 2U);
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "event kind 1");
  EXPECT_EQ(ProblemCount(trace, "event of a kind that the plane does not name"), 2);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(XplaneDamageTest, ImpossibleTimesAreLostAndNegativeDurationsBecomeZero) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  TestPlane plane = SmallTpu();
  plane.lines[0].events = {{.kind = 1, .offset_ps = kMax, .duration_ps = 1},
                           {.kind = 1, .offset_ps = 1, .duration_ps = kMax},
                           {.kind = 1, .offset_ps = 9'000, .duration_ps = -5'000}};

  const Trace trace = ReadBytes(SpaceOf({plane}));

  ASSERT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(trace.activities.duration_ns[0], 0);
  EXPECT_EQ(ProblemCount(trace, "event with an impossible time"), 2);
  EXPECT_EQ(ProblemCount(trace, "negative duration"), 1);
}

TEST(XplaneDamageTest, AggregatesAreCounted) {
  std::string event;
  protozero::pbf_writer event_writer(event);
  event_writer.add_int64(1, 1);
  event_writer.add_int64(5, 12);
  std::string line;
  protozero::pbf_writer line_writer(line);
  line_writer.add_message(4, event);
  std::string plane;
  protozero::pbf_writer plane_writer(plane);
  plane_writer.add_string(2, "/host:CPU");
  plane_writer.add_message(3, line);
  std::string space;
  protozero::pbf_writer(space).add_message(1, plane);

  const Trace trace = ReadBytes(space);

  EXPECT_EQ(ProblemCount(trace, "event that counts occurrences"), 1);
}

TEST(XplaneDamageTest, WhatFollowsThePlanesAndIsNoFieldIsALoss) {
  const Trace trace = ReadBytes(SpaceOf({SmallTpu()}) + "\xff\xff\xff");

  EXPECT_EQ(trace.activities.size(), 2U);
  EXPECT_EQ(ProblemCount(trace, "the rest of the file is not an XPlane message"), 1);
}

TEST(XplaneDamageTest, AnAbsurdLengthCostsNoMemory) {
  // Field 1 of 2^31 - 1 bytes, of which there are five.
  const std::string bytes = std::string("\x0a\xff\xff\xff\xff\x07", 6) + "\x12\x03/ho";

  const auto content = kFormat.Read(*InputFile::FromMemory("x.pb", bytes), {});

  ASSERT_FALSE(content.has_value());
  EXPECT_THAT(content.error().message(), HasSubstr("x.pb: an XPlane recording without"));
}

TEST(XplaneDamageTest, TextThatIsNotUtf8IsRepaired) {
  TestPlane plane = SmallTpu();
  plane.kinds[0].display_name =
      "a\xff"
      "b";

  const Trace trace = ReadBytes(SpaceOf({plane}));

  EXPECT_EQ(trace.Text(trace.activities.name[0]),
            "a\xef\xbf\xbd"
            "b");
}

TEST(XplaneDamageTest, ARecordingWithoutEventsIsSaidToBeEmpty) {
  const Trace trace = ReadBytes(SpaceOf({{.name = "/host:CPU"}}));

  EXPECT_EQ(ProblemCount(trace, "no plane has events"), 1);
  EXPECT_FALSE(trace.problems.has_loss());
}

}  // namespace
}  // namespace orrery::ingest::xplane
