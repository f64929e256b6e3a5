#include "orrery/export/chrome_json.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <ios>
#include <iterator>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/traces_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "test_paths.h"

namespace orrery::exporting {
namespace {

using simdjson::dom::element;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const trace::TraceSet& set, const std::vector<CollectiveSpan>& spans = {}) {
  MemorySink sink;
  EXPECT_TRUE(WriteChromeJson(set, spans, sink));
  return sink.bytes();
}

trace::TraceSet SetOf(trace::Trace trace) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(trace));
  return set;
}

// A written file, parsed again.
class ParsedFile {
 public:
  explicit ParsedFile(std::string text) : text_(std::move(text)) {
    EXPECT_EQ(parser_.parse(text_).get(root_), simdjson::SUCCESS) << text_;
  }

  [[nodiscard]] element root() const { return root_; }

  // The events whose `key` is `value`.
  [[nodiscard]] std::vector<element> EventsWith(std::string_view key,
                                                std::string_view value) const {
    std::vector<element> events;
    for (const element event : root_["traceEvents"].get_array()) {
      std::string_view found;
      if (event[key].get(found) == simdjson::SUCCESS && found == value) {
        events.push_back(event);
      }
    }
    return events;
  }

  [[nodiscard]] element Only(std::string_view key, std::string_view value) const {
    const auto events = EventsWith(key, value);
    EXPECT_EQ(events.size(), 1U) << key << " " << value;
    return events.at(0);
  }

 private:
  std::string text_;
  simdjson::dom::parser parser_;
  element root_;
};

std::string PlaceOf(element event) {
  return simdjson::to_string(event["pid"].value()) + "/" +
         simdjson::to_string(event["tid"].value());
}

std::int64_t Nanoseconds(element microseconds) {
  return static_cast<std::int64_t>(std::llround(microseconds.get_double().value() * 1000));
}

struct Interval {
  std::int64_t begin;
  std::int64_t end;
};

std::map<std::string, std::vector<Interval>> SlicesByPlace(const ParsedFile& file) {
  std::map<std::string, std::vector<Interval>> slices;
  for (const element event : file.EventsWith("ph", "X")) {
    const std::int64_t begin = Nanoseconds(event["ts"].value());
    slices[PlaceOf(event)].push_back({begin, begin + Nanoseconds(event["dur"].value())});
  }
  return slices;
}

void ExpectSlicesNest(const ParsedFile& file) {
  for (const auto& [place, slices] : SlicesByPlace(file)) {
    for (const Interval& a : slices) {
      for (const Interval& b : slices) {
        EXPECT_FALSE(a.begin < b.begin && b.begin < a.end && a.end < b.end) << place;
      }
    }
  }
}

// The version changes with every release and the expected files should not.
std::string WithoutVersion(const std::string& text) {
  return std::regex_replace(text, std::regex("\"version\": \"[^\"]*\""), "\"version\": \"*\"");
}

std::string GoldenText(const std::string& name) {
  std::ifstream file(std::string(ORRERY_TEST_DATA) + "/export/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ChromeJsonTest, OneRankIsWrittenAsExpected) {
  EXPECT_EQ(WithoutVersion(Written(SetOf(MakeTestTrace(0)))), GoldenText("one_rank.json"));
}

TEST(ChromeJsonTest, TwoRanksAreWrittenAsExpected) {
  EXPECT_EQ(WithoutVersion(Written(MakeTestSet(), {MakeTestCollective()})),
            GoldenText("two_ranks.json"));
}

TEST(ChromeJsonTest, AnEmptySetIsAValidFile) {
  const ParsedFile file(Written({}));
  EXPECT_EQ(file.root()["traceEvents"].get_array().size(), 0U);
}

TEST(ChromeJsonTest, TimesCountFromTheWholeSecondBeforeTheFirstEvent) {
  const ParsedFile file(Written(SetOf(MakeTestTrace(0))));
  EXPECT_EQ(file.root()["baseTimeNanoseconds"].get_int64().value(), kTestSecondNs);
  EXPECT_THAT(Written(SetOf(MakeTestTrace(0))), HasSubstr("\"ts\":250110.000,\"dur\":190.007,"));
}

TEST(ChromeJsonTest, TimesOfUnknownOriginStayAndClaimNoDate) {
  trace::Trace trace;
  trace.host_ops.Append({.begin_ns = 5'000'000'123, .duration_ns = 1});
  const std::string text = Written(SetOf(std::move(trace)));
  EXPECT_THAT(text, HasSubstr("\"ts\":5000000.123,\"dur\":0.001,"));
  EXPECT_EQ(text.find("baseTimeNanoseconds"), std::string::npos);
}

TEST(ChromeJsonTest, OneRankKeepsKinetosNumbers) {
  const ParsedFile file(Written(SetOf(MakeTestTrace(0))));
  EXPECT_EQ(PlaceOf(file.Only("cat", "kernel")), "0/7");
  EXPECT_EQ(PlaceOf(file.Only("name", "MmBackward0")), "538/598");
  EXPECT_EQ(file.root()["distributedInfo"]["pg_config"].at(0)["pg_desc"].get_string().value(),
            "default_pg");
  EXPECT_EQ(file.root()["trace_id"].get_string().value(), "1DF0\t");
}

TEST(ChromeJsonTest, AnOverlappingCopyMovesAsideAndStillNamesItsStream) {
  const ParsedFile file(Written(SetOf(MakeTestTrace(0))));
  const element copy = file.Only("cat", "gpu_memcpy");
  EXPECT_EQ(PlaceOf(copy), "0/8");
  EXPECT_EQ(copy["args"]["stream"].get_int64().value(), 7);
  const element lane = file.root()["orrery"]["ranks"].at(0)["lanes"].at(0);
  EXPECT_EQ(PlaceOf(lane), "0/8");
  EXPECT_EQ(lane["of"].get_int64().value(), 7);
}

TEST(ChromeJsonTest, SlicesOfEveryThreadNest) {
  ExpectSlicesNest(ParsedFile(Written(SetOf(MakeTestTrace(0)))));
  ExpectSlicesNest(ParsedFile(Written(MakeTestSet(), {MakeTestCollective()})));
}

TEST(ChromeJsonTest, EveryRowIsWrittenOnce) {
  const ParsedFile file(Written(MakeTestSet()));
  // Per rank: step, 2 operators, 1 python call, 1 launch, kernel, copy, sync and profiler window.
  EXPECT_EQ(file.EventsWith("ph", "X").size(), 2U * 9U);
  // Per rank: a memory event and a mark; a counter for each of memory and "sm active".
  EXPECT_EQ(file.EventsWith("ph", "i").size(), 2U * 2U);
  EXPECT_EQ(file.EventsWith("ph", "C").size(), 2U * 2U);
}

TEST(ChromeJsonTest, EveryArrowHasOneStartAndOneEndAtTheBeginsOfSlices) {
  const ParsedFile file(Written(MakeTestSet()));
  std::set<std::pair<std::string, std::string>> begins;
  for (const element event : file.EventsWith("ph", "X")) {
    begins.emplace(PlaceOf(event), simdjson::to_string(event["ts"].value()));
  }
  std::set<std::int64_t> starts;
  std::set<std::int64_t> ends;
  for (const auto& [phase, ids] : {std::pair{"s", &starts}, std::pair{"f", &ends}}) {
    for (const element event : file.EventsWith("ph", phase)) {
      EXPECT_TRUE(ids->insert(event["id"].get_int64().value()).second) << "id used twice";
      EXPECT_TRUE(begins.contains({PlaceOf(event), simdjson::to_string(event["ts"].value())}));
    }
  }
  EXPECT_EQ(starts, ends);
  // Per rank: the kernel and the copy of one launch, and one backward operator.
  EXPECT_EQ(starts.size(), 2U * 3U);
}

TEST(ChromeJsonTest, TheFirstArrowOfALoneRankHasItsCorrelationAsNumber) {
  const ParsedFile file(Written(SetOf(MakeTestTrace(0))));
  std::vector<std::int64_t> ids;
  for (const element event : file.EventsWith("ph", "s")) {
    ids.push_back(event["id"].get_int64().value());
  }
  // The copy shares the correlation, so it and the forward-backward arrow get new numbers.
  EXPECT_THAT(ids, ElementsAre(1234, 1235, 1236));
}

TEST(ChromeJsonTest, SeveralRanksHaveAProcessForEachHostAndDevice) {
  const ParsedFile file(Written(MakeTestSet(), {MakeTestCollective()}));
  std::map<std::string, std::int64_t> pid_of_name;
  for (const element event : file.EventsWith("name", "process_name")) {
    pid_of_name[std::string(event["args"]["name"].get_string().value())] =
        event["pid"].get_int64().value();
  }
  const std::map<std::string, std::int64_t> expected = {{"rank 0", 1},
                                                        {"rank 0 · GPU 0", 2},
                                                        {"rank 1", 3},
                                                        {"rank 1 · GPU 1", 4},
                                                        {"collectives", 5}};
  EXPECT_EQ(pid_of_name, expected);
  std::vector<std::int64_t> order;
  for (const element event : file.EventsWith("name", "process_sort_index")) {
    order.push_back(event["args"]["sort_index"].get_int64().value());
  }
  EXPECT_THAT(order, ElementsAre(0, 1, 10, 11, 20));
}

// Rank 0 arrives at 200 us, rank 1 at 220, both end at 260: rank 0 waits 20 us, the transfer is the
// 40 us of rank 1, and 2000 bytes in 40 us are 0.05 GB/s.
TEST(ChromeJsonTest, CollectivesShowFirstArrivalToLastEndAndWhoWaited) {
  const ParsedFile file(Written(MakeTestSet(), {MakeTestCollective()}));
  const element collective = file.Only("cat", "orrery_collective");
  EXPECT_EQ(collective["dur"].get_double().value(), 60);
  EXPECT_EQ(collective["args"]["last rank"].get_int64().value(), 1);
  EXPECT_EQ(collective["args"]["wait sum (us)"].get_double().value(), 20);
  EXPECT_EQ(collective["args"]["transfer (us)"].get_double().value(), 40);
  EXPECT_DOUBLE_EQ(collective["args"]["busbw (GB/s)"].get_double().value(), 0.05);
  const element wait = file.Only("cat", "orrery_wait");
  const element kernel = file.EventsWith("cat", "kernel").at(0);
  EXPECT_EQ(PlaceOf(wait), PlaceOf(kernel));
  EXPECT_EQ(wait["ts"].get_double().value(), kernel["ts"].get_double().value());
  EXPECT_EQ(wait["dur"].get_double().value(), 20);
}

TEST(ChromeJsonTest, AnyTextGivesValidJson) {
  trace::Trace trace;
  const StringId odd = trace.strings.Intern(std::string_view("\"\\\n\x00\xff\xe2\x82", 7));
  trace.host_ops.Append({.name = odd, .call_stack = odd});
  trace.instants.Append({.name = odd, .category = odd});
  trace.counters.Append({.name = odd, .value = std::numeric_limits<double>::quiet_NaN()});
  trace.metadata.Append({.key = odd, .value = odd});
  trace.tracks.Append({.process = -1, .thread = -1, .process_name = odd, .name = odd});
  trace.info.host_name = "\xff\"";
  const ParsedFile file(Written(SetOf(std::move(trace))));
  const std::string_view read_back = file.Only("cat", "cpu_op")["name"].get_string().value();
  EXPECT_EQ(read_back, std::string_view("\"\\\n\0\uFFFD\uFFFD", 10));
  EXPECT_TRUE(file.Only("ph", "C")["args"][""].is_null());
}

TEST(ChromeJsonTest, StepsWithoutAnAnnotationHaveARowOfTheirOwn) {
  trace::Trace trace;
  trace.steps.Append({.begin_ns = 5, .duration_ns = 10, .name = trace.strings.Intern("step 1")});
  trace.steps.Append({.begin_ns = 15, .name = trace.strings.Intern("step 2"), .annotation = 0});
  trace.annotations.Append({.begin_ns = 15, .name = trace.strings.Intern("step 2")});
  const ParsedFile file(Written(SetOf(std::move(trace))));
  EXPECT_EQ(file.Only("cat", "orrery_step")["name"].get_string().value(), "step 1");
}

}  // namespace
}  // namespace orrery::exporting
