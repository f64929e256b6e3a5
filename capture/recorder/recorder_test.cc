#include "capture/recorder/recorder.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "capture/recorder/tests/recording_test.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;

class RecorderTest : public ::testing::Test {
 protected:
  [[nodiscard]] RecorderSettings Settings() const { return {.path = path_, .producer = "test"}; }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  FakeClock clock_;
};

TEST_F(RecorderTest, EventsCarryNumberTimeAndThread) {
  Recorder recorder(Settings(), clock_);
  recorder.Step(1);
  clock_.time_ns = 2000;
  recorder.Step(2);
  recorder.Finish();

  const auto steps = RecordsOf<stream::Step>(path_);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].sequence, 1U);
  EXPECT_EQ(steps[0].time_ns, 1000);
  EXPECT_EQ(steps[0].thread, ThreadNumber());
  EXPECT_EQ(steps[1].sequence, 2U);
  EXPECT_EQ(steps[1].time_ns, 2000);
}

TEST_F(RecorderTest, ANameIsWrittenOnce) {
  Recorder recorder(Settings(), clock_);
  const std::uint64_t first = recorder.Function("add_kernel");
  const std::uint64_t again = recorder.Function("add_kernel");
  const std::uint64_t other = recorder.Function("add_kernel", 5);
  recorder.Finish();

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(RecordsOf<stream::String>(path_).size(), 1U);
  EXPECT_EQ(RecordsOf<stream::Function>(path_).size(), 2U);
}

// PASTA defect 32 is a leak of such names; here they are made once for each function.
TEST_F(RecorderTest, KernelsAreWrittenAsPeopleReadThem) {
  Recorder recorder(Settings(), clock_);
  static_cast<void>(recorder.Function("_Z3addIfEvPT_"));
  static_cast<void>(recorder.Function("nvjet_hsh_128x256"));
  recorder.Finish();

  const auto functions = RecordsOf<stream::Function>(path_);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(TextIn(path_, functions[0].name), "void add<float>(float*)");
  EXPECT_EQ(TextIn(path_, functions[1].name), "nvjet_hsh_128x256");
}

TEST_F(RecorderTest, EqualStacksAreOne) {
  Recorder recorder(Settings(), clock_);
  const std::vector<std::string_view> inner = {"a.py:1", "b.py:2"};
  const std::vector<std::string_view> outer = {"b.py:2"};

  EXPECT_EQ(recorder.Stack(codes::kPython, inner), recorder.Stack(codes::kPython, inner));
  EXPECT_NE(recorder.Stack(codes::kPython, inner), recorder.Stack(codes::kPython, outer));
}

// A segment and the tensor at its begin share an address; each is freed on its own level.
TEST_F(RecorderTest, LevelsAtOneAddressAreObjectsOfTheirOwn) {
  Recorder recorder(Settings(), clock_);
  const std::uint64_t segment =
      recorder.Allocated({.address = 64, .bytes = 4096, .level = codes::kSegment});
  const std::uint64_t tensor =
      recorder.Allocated({.address = 64, .bytes = 512, .level = codes::kTensor});
  recorder.Freed({.address = 64, .level = codes::kTensor});
  recorder.Freed({.address = 64, .level = codes::kSegment});
  recorder.Finish();

  const auto frees = RecordsOf<stream::Free>(path_);
  ASSERT_EQ(frees.size(), 2U);
  EXPECT_EQ(frees[0].object, tensor);
  EXPECT_EQ(frees[1].object, segment);
}

TEST_F(RecorderTest, ARequestedFreeDoesNotEndTheObject) {
  Recorder recorder(Settings(), clock_);
  const std::uint64_t tensor =
      recorder.Allocated({.address = 64, .bytes = 512, .level = codes::kTensor});
  recorder.Freed({.address = 64, .level = codes::kTensor, .phase = codes::kFreeRequested});
  recorder.Freed({.address = 64, .level = codes::kTensor, .phase = codes::kFreeCompleted});
  recorder.Freed({.address = 64, .level = codes::kTensor});
  recorder.Finish();

  const auto frees = RecordsOf<stream::Free>(path_);
  ASSERT_EQ(frees.size(), 3U);
  EXPECT_EQ(frees[0].object, tensor);
  EXPECT_EQ(frees[1].object, tensor);
  EXPECT_EQ(frees[2].object, 0U);
}

// PASTA defect 5: a free without a recorded allocation, as after a late attach, ends the target.
TEST_F(RecorderTest, AFreeOfUnknownMemoryIsRecordedAndCounted) {
  Recorder recorder(Settings(), clock_);
  recorder.Freed({.address = 0xABC, .level = codes::kTensor});
  recorder.Finish();

  EXPECT_EQ(RecordsOf<stream::Free>(path_).at(0).object, 0U);
  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage,
                    "free of memory that was allocated before the recording"),
            1U);
}

TEST_F(RecorderTest, MemoryThatWasThereBeforeIsKnownWhenItIsFreed) {
  Recorder recorder(Settings(), clock_);
  const std::uint64_t object = recorder.Existing(
      {.address = 0x1000, .bytes = 64, .memory_class = codes::kSegmentClass}, codes::kSegment);
  recorder.Freed({.address = 0x1000, .level = codes::kSegment});
  recorder.Finish();

  EXPECT_EQ(RecordsOf<stream::Free>(path_).at(0).object, object);
  EXPECT_EQ(RecordsOf<stream::Object>(path_).at(0).birth, -1);
}

// PASTA defect 8: sizes beyond 32 bits.
TEST_F(RecorderTest, FiveGibibytesStayFiveGibibytes) {
  constexpr std::uint64_t kBytes = 5ULL << 30;
  Recorder recorder(Settings(), clock_);
  recorder.Allocated({.address = 64, .bytes = kBytes});
  recorder.Record(stream::Set{.address = 64, .width_bytes = kBytes});
  recorder.Finish();

  EXPECT_EQ(RecordsOf<stream::Allocation>(path_).at(0).bytes, kBytes);
  EXPECT_EQ(RecordsOf<stream::Set>(path_).at(0).width_bytes, kBytes);
}

// PASTA defect 26: a limit ends the target. Here it ends the recording; what comes later is
// counted, and what was recorded before is whole, names included.
TEST_F(RecorderTest, ALimitStopsTheRecordingAndNothingElse) {
  RecorderSettings settings = Settings();
  settings.limit_bytes = 2000;
  settings.chunk_bytes = 256;
  Recorder recorder(settings, clock_);
  constexpr std::uint64_t kNumSteps = 10'000;
  const std::uint64_t name = recorder.Text("early");
  for (std::uint64_t step = 0; step < kNumSteps; ++step) {
    recorder.Step(step);
  }
  recorder.Finish();

  const std::size_t num_written = RecordsOf<stream::Step>(path_).size();
  EXPECT_GT(num_written, 0U);
  EXPECT_LT(num_written, kNumSteps);
  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped, "limit on size"), kNumSteps - num_written);
  EXPECT_EQ(CountIn(path_, codes::kRecordingEnded), 1U);
  EXPECT_EQ(TextIn(path_, name), "early");
}

// PASTA defect 28: outputs go elsewhere than where they were asked for.
TEST_F(RecorderTest, NothingIsWrittenBesideTheGivenPath) {
  Recorder first(Settings(), clock_);
  Recorder second(Settings(), clock_);
  first.Step(1);
  second.Step(2);
  first.Finish();
  second.Finish();

  EXPECT_EQ(RecordsOf<stream::Step>(path_).at(0).number, 1U);
  EXPECT_EQ(second.sink().path(), folder_.File("run." + std::to_string(getpid()) + ".orrs"));
  EXPECT_EQ(RecordsOf<stream::Step>(second.sink().path()).at(0).number, 2U);
  EXPECT_EQ(folder_.num_files(), 2U);
}

TEST_F(RecorderTest, ARecordLargerThanAChunkIsWrittenAllTheSame) {
  RecorderSettings settings = Settings();
  settings.chunk_bytes = 128;
  Recorder recorder(settings, clock_);
  const std::string bitmap(100'000, '\x55');
  recorder.Write(stream::PageTouch{.launch = 1, .page_bytes = 65536, .bitmap = bitmap});
  recorder.Write(stream::PageTouch{.launch = 2, .page_bytes = 65536, .bitmap = "x"});
  recorder.Finish();

  EXPECT_EQ(RecordsOf<stream::PageTouch>(path_).size(), 2U);
  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped), 0U);
}

TEST_F(RecorderTest, SumsOfCoverageAndCostAreWrittenOnceAndTheEndComesLast) {
  Recorder recorder(Settings(), clock_);
  recorder.Count(codes::kGraphsNotCovered, "device graph", 2);
  recorder.Count(codes::kGraphsNotCovered, "device graph", 3);
  recorder.AddOverhead(codes::kCollection, 40, 8);
  recorder.AddOverhead(codes::kCollection, 2, 1);
  recorder.AddOverhead(codes::kTotal, 100);
  recorder.Finish();
  recorder.Finish();

  EXPECT_EQ(CountIn(path_, codes::kGraphsNotCovered, "device graph"), 5U);
  const auto costs = RecordsOf<stream::Overhead>(path_);
  ASSERT_EQ(costs.size(), 2U);
  EXPECT_EQ(costs[0].total_ns, 42U);
  EXPECT_EQ(costs[0].count, 2U);
  EXPECT_EQ(costs[0].bytes, 9U);
  EXPECT_EQ(RecordsOf<stream::CoverageCount>(path_).back().kind, codes::kRecordingEnded);
}

TEST_F(RecorderTest, TheHeaderComesFirstAndSaysWhoRecordedWhere) {
  Recorder recorder(Settings(), clock_);
  recorder.SetFacts({.driver = "580.1", .toolkit = "CUDA 13.0", .rank = 2, .world_size = 4});
  recorder.Step(1);
  recorder.Flush();

  std::string first;
  ForEachRecordOf(BytesOf(path_), [&]<typename Any>(const Any& record) {
    if constexpr (std::is_same_v<Any, stream::Process>) {
      first =
          first.empty() ? std::string(record.driver) + " " + std::to_string(record.rank) : first;
    } else {
      first = first.empty() ? "another record" : first;
    }
  });
  EXPECT_EQ(first, "580.1 2");
}

// A process that is killed leaves what was flushed, and a reader says that the end is missing.
TEST_F(RecorderTest, WhatWasFlushedSurvives) {
  Recorder recorder(Settings(), clock_);
  recorder.Step(1);
  recorder.Flush();
  recorder.Step(2);

  EXPECT_EQ(RecordsOf<stream::Step>(path_).size(), 1U);
  EXPECT_EQ(CountIn(path_, codes::kRecordingEnded), 0U);
}

TEST_F(RecorderTest, ThreadsLoseNothingAndShareNoNumber) {
  constexpr std::uint64_t kNumThreads = 8;
  constexpr std::uint64_t kNumSteps = 5'000;
  RecorderSettings settings = Settings();
  settings.chunk_bytes = 512;
  Recorder recorder(settings, clock_);
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kNumThreads; ++thread) {
    threads.emplace_back([&recorder] {
      for (std::uint64_t step = 0; step < kNumSteps; ++step) {
        recorder.Step(step);
      }
    });
  }
  for (int flush = 0; flush < 50; ++flush) {
    recorder.Flush();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  recorder.Finish();

  auto steps = RecordsOf<stream::Step>(path_);
  ASSERT_EQ(steps.size(), kNumThreads * kNumSteps);
  std::sort(steps.begin(), steps.end(),
            [](const stream::Step& a, const stream::Step& b) { return a.sequence < b.sequence; });
  for (std::uint64_t i = 0; i < steps.size(); ++i) {
    ASSERT_EQ(steps[i].sequence, i + 1);
  }
}

class Heard : public RecorderListener {
 public:
  void OnAllocated(const stream::Allocation& allocation) override {
    Note("allocated", allocation.object);
  }

  void OnFreed(const stream::Free& free) override { Note("freed", free.object); }

  void OnDetailBegin(const DetailSelection& selection) override {
    Note(selection.kernels, selection.launches);
  }

  void OnDetailEnd(std::uint64_t id) override { Note("detail end", id); }

  std::vector<std::string> words;

 private:
  void Note(std::string_view word, std::uint64_t number) {
    words.push_back(std::string(word) + " " + std::to_string(number));
  }
};

TEST_F(RecorderTest, AListenerHearsEverythingInOrder) {
  Heard heard;
  Recorder recorder(Settings(), clock_);
  recorder.SetListener(&heard);
  recorder.Allocated({.address = 64, .bytes = 4096});
  recorder.DetailEnd(recorder.DetailBegin("layer_norm", 100));
  recorder.Freed({.address = 64});

  EXPECT_THAT(heard.words, ElementsAre("allocated 1", "layer_norm 100", "detail end 1", "freed 1"));
}

std::size_t NumChunks(const std::string& bytes) {
  const auto source = OpenMemory(bytes);
  auto reader = stream::StreamReader::Open(*source);
  std::size_t count = 0;
  for (auto chunk = reader->Next(); chunk && *chunk != nullptr; chunk = reader->Next()) {
    ++count;
  }
  return count;
}

// PASTA defect 33: one print and flush an event. A sealed chunk is one write: 10^5 events of a few
// bytes (sequence and region: less than 32 with their length) need one for each 64 KiB of them, and
// a few for header, names and sums. Nothing is printed at all.
TEST_F(RecorderTest, EventsAreWrittenByTheChunkAndNeverPrinted) {
  constexpr std::uint64_t kNumEvents = 100'000;
  constexpr std::uint64_t kMaxEventBytes = 32;
  const RecorderSettings settings = Settings();
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    Recorder recorder(settings, clock_);
    for (std::uint64_t i = 0; i < kNumEvents / 2; ++i) {
      recorder.RegionEnd(recorder.RegionBegin("forward"));
    }
  }

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(RecordsOf<stream::RegionBegin>(path_).size(), kNumEvents / 2);
  EXPECT_LE(NumChunks(BytesOf(path_)), kNumEvents * kMaxEventBytes / settings.chunk_bytes + 8);
}

// PASTA defect 24: allocations outside regions are lost. Regions only label.
TEST_F(RecorderTest, EventsAreRecordedWhetherOrNotARegionIsOpen) {
  Recorder recorder(Settings(), clock_);
  recorder.Allocated({.address = 64, .bytes = 1});
  const std::uint64_t region = recorder.RegionBegin("forward");
  recorder.Allocated({.address = 128, .bytes = 1});
  recorder.RegionEnd(region);
  recorder.Allocated({.address = 256, .bytes = 1});
  recorder.Finish();

  EXPECT_EQ(RecordsOf<stream::Allocation>(path_).size(), 3U);
}

TEST_F(RecorderTest, IngestReadsWhatWasRecorded) {
  {
    Recorder recorder(Settings(), clock_);
    const std::uint64_t begin = recorder.OperatorBegin("aten::add", 3, 0, 0);
    recorder.Allocated({.address = 64, .bytes = 512, .level = codes::kTensor});
    recorder.Record(stream::Launch{.function = recorder.Function("add_kernel"), .duration_ns = 5});
    recorder.OperatorEnd(begin);
    recorder.Freed({.address = 64, .level = codes::kTensor});
  }

  const std::string bytes = BytesOf(path_);
  const auto file = ingest::InputFile::FromMemory("run.orrs", bytes);
  ASSERT_TRUE(file);
  const auto content = ingest::orrs::kFormat.Read(*file, {});
  ASSERT_TRUE(content);
  const trace::Trace& trace = content->traces.at(0);
  ASSERT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "add_kernel");
  EXPECT_EQ(trace.Text(trace.host_ops.name.at(trace.activities.host_op[0])), "aten::add");
  ASSERT_EQ(trace.memory_objects.size(), 1U);
  EXPECT_EQ(trace.memory_objects.death_order[0], 5);
}

}  // namespace
}  // namespace orrery::capture
