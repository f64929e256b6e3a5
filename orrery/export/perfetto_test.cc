#include "orrery/export/perfetto.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/data_view.hpp>
#include <protozero/pbf_reader.hpp>

#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/traces_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): the fields of the messages
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

struct ReadTrack {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;
  std::string name;
  int order = 0;
};

struct ReadEvent {
  std::uint64_t at_ns = 0;
  std::uint32_t sequence = 0;
  int type = 0;
  std::uint64_t track = 0;
  std::string name;
  std::string category;
  std::int64_t counter = -1;
  double double_counter = -1;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> terminating_flows;
  std::map<std::string, std::string> args;
};

// The names that one sequence has numbered.
struct ReadNames {
  std::map<std::uint64_t, std::string> of_field[32];
};

// A written file, decoded again.
class ReadFile {
 public:
  explicit ReadFile(const std::string& bytes) {
    protozero::pbf_reader file(bytes);
    while (file.next(kTracePacket)) {
      ReadPacket(file.get_view());
    }
  }

  std::vector<ReadTrack> tracks;
  std::vector<ReadEvent> events;
  int num_clock_snapshots = 0;

  [[nodiscard]] const ReadTrack& Track(std::string_view name) const {
    for (const ReadTrack& track : tracks) {
      if (track.name == name) {
        return track;
      }
    }
    ADD_FAILURE() << "no track " << name;
    return tracks.front();
  }

  [[nodiscard]] std::vector<ReadEvent> EventsOf(int type) const {
    std::vector<ReadEvent> found;
    for (const ReadEvent& event : events) {
      if (event.type == type) {
        found.push_back(event);
      }
    }
    return found;
  }

  [[nodiscard]] const ReadEvent& Begin(std::string_view name, std::size_t nth = 0) const {
    for (const ReadEvent& event : events) {
      if (event.type == event::kSliceBegin && event.name == name && nth-- == 0) {
        return event;
      }
    }
    ADD_FAILURE() << "no slice " << name;
    return events.front();
  }

 private:
  void ReadPacket(protozero::data_view bytes) {
    ReadEvent event;
    protozero::data_view track_event;
    protozero::data_view interned_data;
    protozero::pbf_reader packet(bytes);
    while (packet.next()) {
      switch (packet.tag()) {
        case packet::kTimestamp:
          event.at_ns = packet.get_uint64();
          break;
        case packet::kSequenceId:
          event.sequence = packet.get_uint32();
          break;
        case packet::kInternedData:
          interned_data = packet.get_view();
          break;
        case packet::kTrackEvent:
          track_event = packet.get_view();
          break;
        case packet::kTrackDescriptor:
          ReadDescriptor(packet.get_view());
          break;
        case packet::kClockSnapshot:
          ++num_clock_snapshots;
          packet.skip();
          break;
        default:
          packet.skip();
      }
    }
    ReadInterned(interned_data, names_[event.sequence]);
    if (!track_event.empty()) {
      ReadTrackEvent(track_event, names_[event.sequence], event);
      events.push_back(event);
    }
  }

  static void ReadInterned(protozero::data_view bytes, ReadNames& names) {
    protozero::pbf_reader fields(bytes);
    while (fields.next()) {
      const auto field = fields.tag();
      protozero::pbf_reader entry(fields.get_view());
      std::uint64_t id = 0;
      std::string text;
      while (entry.next()) {
        if (entry.tag() == interned::kEntryId) {
          id = entry.get_uint64();
        } else {
          text = entry.get_string();
        }
      }
      EXPECT_NE(id, 0U);
      EXPECT_TRUE(names.of_field[field].emplace(id, text).second) << "defined twice: " << text;
    }
  }

  void ReadDescriptor(protozero::data_view bytes) {
    ReadTrack track;
    protozero::pbf_reader fields(bytes);
    while (fields.next()) {
      switch (fields.tag()) {
        case track::kUuid:
          track.uuid = fields.get_uint64();
          break;
        case track::kParentUuid:
          track.parent = fields.get_uint64();
          break;
        case track::kName:
          track.name = fields.get_string();
          break;
        case track::kSiblingOrderRank:
          track.order = fields.get_int32();
          break;
        default:
          fields.skip();
      }
    }
    tracks.push_back(track);
  }

  static void ReadAnnotation(protozero::data_view bytes, ReadNames& names, ReadEvent& event) {
    std::string key;
    std::string value;
    protozero::pbf_reader fields(bytes);
    while (fields.next()) {
      switch (fields.tag()) {
        case annotation::kNameId:
          key = names.of_field[interned::kAnnotationNames].at(fields.get_uint64());
          break;
        case annotation::kInteger:
          value = std::to_string(fields.get_int64());
          break;
        case annotation::kUnsigned:
          value = std::to_string(fields.get_uint64());
          break;
        case annotation::kBool:
          value = fields.get_bool() ? "true" : "false";
          break;
        case annotation::kDouble:
          value = std::to_string(fields.get_double());
          break;
        case annotation::kString:
          value = fields.get_string();
          break;
        case annotation::kStringId:
          value = names.of_field[interned::kAnnotationStrings].at(fields.get_uint64());
          break;
        default:
          ADD_FAILURE() << "unknown field";
          fields.skip();
      }
    }
    event.args[key] = value;
  }

  static void ReadTrackEvent(protozero::data_view bytes, ReadNames& names, ReadEvent& event) {
    protozero::pbf_reader fields(bytes);
    while (fields.next()) {
      switch (fields.tag()) {
        case event::kType:
          event.type = fields.get_enum();
          break;
        case event::kTrackUuid:
          event.track = fields.get_uint64();
          break;
        case event::kNameId:
          event.name = names.of_field[interned::kNames].at(fields.get_uint64());
          break;
        case event::kCategoryIds:
          event.category = names.of_field[interned::kCategories].at(fields.get_uint64());
          break;
        case event::kDebugAnnotations:
          ReadAnnotation(fields.get_view(), names, event);
          break;
        case event::kCounterValue:
          event.counter = fields.get_int64();
          break;
        case event::kDoubleCounterValue:
          event.double_counter = fields.get_double();
          break;
        case event::kFlowIds:
          event.flows.push_back(fields.get_fixed64());
          break;
        case event::kTerminatingFlowIds:
          event.terminating_flows.push_back(fields.get_fixed64());
          break;
        default:
          ADD_FAILURE() << "unknown field";
          fields.skip();
      }
    }
  }

  std::map<std::uint32_t, ReadNames> names_;
};

std::string Written(const trace::TraceSet& set, const std::vector<CollectiveSpan>& spans = {}) {
  MemorySink sink;
  EXPECT_TRUE(WritePerfetto(set, spans, sink));
  return sink.bytes();
}

trace::TraceSet SetOf(trace::Trace trace) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(trace));
  return set;
}

// As Perfetto does: an end closes the innermost open slice of its track. Returns the slices that
// result, as track, name, begin and end.
std::vector<std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t>> Replay(
    const ReadFile& file) {
  std::map<std::uint64_t, std::vector<ReadEvent>> open;
  std::vector<std::tuple<std::uint64_t, std::string, std::uint64_t, std::uint64_t>> slices;
  for (const ReadEvent& event : file.events) {
    std::vector<ReadEvent>& stack = open[event.track];
    if (event.type == event::kSliceBegin) {
      stack.push_back(event);
    } else if (event.type == event::kSliceEnd) {
      EXPECT_FALSE(stack.empty()) << "an end without a begin";
      slices.emplace_back(event.track, stack.back().name, stack.back().at_ns, event.at_ns);
      stack.pop_back();
    }
  }
  for (const auto& [track, stack] : open) {
    EXPECT_TRUE(stack.empty()) << "a begin without an end";
  }
  return slices;
}

constexpr std::uint64_t At(std::uint64_t microseconds) {
  return static_cast<std::uint64_t>(kTestSecondNs) + 250'000'000 + microseconds * 1000;
}

TEST(PerfettoTest, PacketsOfASequenceComeInOrderOfTime) {
  const ReadFile file(Written(MakeTestSet(), {MakeTestCollective()}));
  std::map<std::uint32_t, std::uint64_t> last;
  for (const ReadEvent& event : file.events) {
    EXPECT_GE(event.at_ns, last[event.sequence]);
    last[event.sequence] = event.at_ns;
  }
  // Slices and points of two ranks, and the collectives.
  EXPECT_EQ(last.size(), 5U);
}

TEST(PerfettoTest, EverySliceComesBackWithItsTimes) {
  const ReadFile file(Written(SetOf(MakeTestTrace(0))));
  const std::uint64_t thread = file.Track("thread 598 (python3)").uuid;
  EXPECT_THAT(
      Replay(file),
      UnorderedElementsAre(
          std::tuple(thread, "ProfilerStep#3", At(100), At(900)),
          std::tuple(thread, "train.py(3): step", At(105), At(805)),
          std::tuple(thread, "record_param_comms", At(110), At(300) + 7),
          std::tuple(thread, "cudaLaunchKernel", At(120), At(140)),
          std::tuple(thread, "MmBackward0", At(400), At(500)),
          std::tuple(file.Track("stream 7").uuid, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)",
                     At(200), At(260)),
          std::tuple(file.Track("stream 7 (2)").uuid, "Memcpy HtoD (Pinned -> Device)", At(240),
                     At(300)),
          std::tuple(file.Track("stream 7 (3)").uuid, "Stream Sync", At(250), At(280)),
          std::tuple(file.Track("no track").uuid, "PyTorch Profiler (0)", At(90), At(950))));
}

TEST(PerfettoTest, TracksFormATreeWithUniqueNumbers) {
  const ReadFile file(Written(MakeTestSet(), {MakeTestCollective()}));
  std::set<std::uint64_t> uuids;
  for (const ReadTrack& track : file.tracks) {
    EXPECT_TRUE(uuids.insert(track.uuid).second) << track.name;
    // A parent is described before its children.
    EXPECT_TRUE(track.parent == 0 || uuids.contains(track.parent)) << track.name;
  }
  for (const ReadEvent& event : file.events) {
    EXPECT_TRUE(uuids.contains(event.track));
  }
  EXPECT_EQ(file.Track("stream 7").parent, file.Track("GPU 0").uuid);
  EXPECT_EQ(file.Track("GPU 0").parent, file.Track("rank 0").uuid);
  EXPECT_EQ(file.Track("rank 1").parent, file.Track("ranks").uuid);
  EXPECT_LT(file.Track("rank 0").order, file.Track("rank 1").order);
  EXPECT_LT(file.Track("stream 7").order, file.Track("stream 7 (2)").order);
}

// The numbers depend on what a track is, not on what else is in the file.
TEST(PerfettoTest, ATrackHasTheSameNumberInEveryFile) {
  const ReadFile alone(Written(SetOf(MakeTestTrace(0))));
  const ReadFile together(Written(MakeTestSet()));
  for (const std::string name : {"rank 0", "GPU 0", "thread 598 (python3)"}) {
    EXPECT_EQ(alone.Track(name).uuid, together.Track(name).uuid) << name;
  }
}

TEST(PerfettoTest, TheSameTraceGivesTheSameBytes) {
  EXPECT_EQ(Written(MakeTestSet(), {MakeTestCollective()}),
            Written(MakeTestSet(), {MakeTestCollective()}));
}

TEST(PerfettoTest, EveryArrowHasOneStartAndOneEnd) {
  const ReadFile file(Written(MakeTestSet()));
  std::multiset<std::uint64_t> starts;
  std::multiset<std::uint64_t> ends;
  for (const ReadEvent& event : file.events) {
    starts.insert(event.flows.begin(), event.flows.end());
    ends.insert(event.terminating_flows.begin(), event.terminating_flows.end());
  }
  EXPECT_EQ(starts, ends);
  EXPECT_EQ(std::set(starts.begin(), starts.end()).size(), starts.size());
  // The launch starts a kernel and a copy, the first operator has a backward one.
  EXPECT_EQ(file.Begin("cudaLaunchKernel").flows.size(), 2U);
  EXPECT_EQ(file.Begin("record_param_comms").flows, file.Begin("MmBackward0").terminating_flows);
}

TEST(PerfettoTest, ImportantArgumentsAreAnnotations) {
  const ReadFile file(Written(SetOf(MakeTestTrace(0))));
  const auto& kernel = file.Begin("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)");
  EXPECT_EQ(kernel.category, "kernel");
  EXPECT_EQ(kernel.args.at("grid"), "[16, 2, 1]");
  EXPECT_EQ(kernel.args.at("correlation"), "1234");
  EXPECT_EQ(kernel.args.at("Collective name"), "allreduce");
  EXPECT_EQ(kernel.args.at("Comms Id"), "18446744073709551615");
  const auto& op = file.Begin("record_param_comms");
  EXPECT_EQ(op.args.at("Input Dims"), "[[4096, 50257], []]");
  EXPECT_EQ(op.args.at("Is asynchronized op"), "true");
}

TEST(PerfettoTest, CountersAndMarksComeOnTheirTracks) {
  const ReadFile file(Written(SetOf(MakeTestTrace(0))));
  const auto counters = file.EventsOf(event::kCounter);
  ASSERT_EQ(counters.size(), 3U);
  EXPECT_EQ(counters[0].track, file.Track("orrery memory of GPU 0 allocated").uuid);
  EXPECT_EQ(counters[0].counter, 1024);
  EXPECT_EQ(counters[1].counter, 2048);
  EXPECT_EQ(counters[2].track, file.Track("sm active %").uuid);
  EXPECT_EQ(counters[2].double_counter, 87.5);
  const auto marks = file.EventsOf(event::kInstant);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].name, "[memory]");
  EXPECT_EQ(marks[0].args.at("Bytes"), "-512");
  EXPECT_EQ(marks[1].name, "Record Window End");
}

TEST(PerfettoTest, CollectivesAndWaitsAreSlices) {
  const ReadFile file(Written(MakeTestSet(), {MakeTestCollective()}));
  const auto& collective = file.Begin("all_reduce");
  EXPECT_EQ(collective.track, file.Track("group default_pg").uuid);
  EXPECT_EQ(collective.args.at("members"), "[0, 1]");
  EXPECT_EQ(collective.args.at("wait sum (ns)"), "20000");
  const auto slices = Replay(file);
  EXPECT_THAT(slices, ::testing::Contains(
                          std::tuple(file.Track("stream 7").uuid, "wait", At(200), At(220))));
}

// Three slices at one moment: the first ends where the second, without length, lies, and the third
// begins there.
TEST(PerfettoTest, SlicesWithoutLengthAreKeptAndDoNotSwallowTheirNeighbours) {
  trace::Trace trace;
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  trace.host_ops.Append({.begin_ns = 10, .duration_ns = 10, .name = name("before")});
  trace.host_ops.Append({.begin_ns = 20, .duration_ns = 10, .name = name("after")});
  trace.host_ops.Append({.begin_ns = 20, .duration_ns = 0, .name = name("empty")});
  const ReadFile file(Written(SetOf(std::move(trace))));
  const std::uint64_t track = file.Track("no track").uuid;
  EXPECT_THAT(Replay(file),
              ElementsAre(std::tuple(track, "before", 10, 20), std::tuple(track, "empty", 20, 20),
                          std::tuple(track, "after", 20, 30)));
}

TEST(PerfettoTest, TimesBeforeZeroMoveUpByWholeSeconds) {
  trace::Trace trace;
  trace.host_ops.Append({.begin_ns = -5, .duration_ns = 10});
  const ReadFile file(Written(SetOf(std::move(trace))));
  ASSERT_EQ(file.events.size(), 2U);
  EXPECT_EQ(file.events[0].at_ns, 999'999'995U);
  EXPECT_EQ(file.events[1].at_ns, 1'000'000'005U);
}

TEST(PerfettoTest, OnlyTimesSince1970ClaimADate) {
  EXPECT_EQ(ReadFile(Written(MakeTestSet())).num_clock_snapshots, 1);
  EXPECT_EQ(ReadFile(Written(SetOf({}))).num_clock_snapshots, 0);
}

TEST(PerfettoTest, ArrowsOfTheFileAreMarksWithAnArrow) {
  trace::Trace trace;
  const StringId name = trace.strings.Intern("handover");
  trace.tracks.Append({.process = 1, .thread = 1});
  trace.flows.Append({.begin_ns = 1, .begin_track = 0, .end_ns = 9, .end_track = 0, .name = name});
  const ReadFile file(Written(SetOf(std::move(trace))));
  ASSERT_EQ(file.events.size(), 2U);
  EXPECT_EQ(file.events[0].flows, file.events[1].terminating_flows);
  EXPECT_EQ(file.events[0].flows.size(), 1U);
}

}  // namespace
}  // namespace orrery::exporting
