#include <cstdint>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/reading_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/xplane/reading_test.h"
#include "orrery/ingest/xplane/space_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using trace::ActivityKind;
using trace::AnnotationKind;
using trace::Trace;

TEST(XplaneTest, OperationsOfACoreAreKernelsWithTheStatsOfTheirKind) {
  const Trace trace = ReadBytes(SpaceOf({SmallTpu()}));

  EXPECT_EQ(trace.info.format, "XPlane");
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kRecordingStart);
  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(5, 7));
  EXPECT_THAT(trace.activities.duration_ns, ElementsAre(2, 10));
  EXPECT_THAT(trace.activities.kind, ElementsAre(ActivityKind::kKernel, ActivityKind::kKernel));
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "fusion.1");
  EXPECT_THAT(std::string(trace.Text(trace.activities.extra[0])),
              AllOf(HasSubstr(R"json("long_name":"%fusion.1 = )json"),
                    HasSubstr(R"json("hlo_category":"loop fusion","flops":256)json")));
  ASSERT_EQ(trace.tracks.size(), 1U);
  EXPECT_EQ(trace.tracks.device[0], 2);
  EXPECT_EQ(trace.tracks.thread[0], 3);
  EXPECT_EQ(trace.tracks.kind[0], trace::TrackKind::kDevice);
}

// 4 x 8 floats are 128 bytes; an all-reduce reads as much as it writes.
TEST(XplaneTest, ACollectiveOfTheCoreIsARowWithItsSize) {
  const Trace trace = ReadBytes(SpaceOf({SmallTpu()}));

  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kAllReduce);
  EXPECT_EQ(trace.collectives.begin_ns[0], 7);
  EXPECT_EQ(trace.collectives.duration_ns[0], 10);
  EXPECT_EQ(trace.collectives.data_type[0], DataType::kFp32);
  EXPECT_EQ(trace.collectives.in_bytes[0], 128);
  EXPECT_EQ(trace.collectives.out_bytes[0], 128);
  EXPECT_EQ(trace.collectives.num_kernels[0], 1);
  EXPECT_THAT(trace.activities.collective, ElementsAre(kNoRow, 0));
}

TEST(XplaneTest, LoopsProgramsAndWaitsAreRangesOnTheDevice) {
  TestPlane plane{.name = "/device:TPU:0",
                  .lines = {{.id = 1, .name = "XLA Modules", .events = {{.kind = 1}}},
                            {.id = 2, .name = "XLA TraceMe", .events = {{.kind = 2}}},
                            {.id = 3, .name = "XLA Ops", .events = {{.kind = 3}}}},
                  .kinds = {{1, "jit_step(7)"}, {2, "barrier-cores"}, {3, "while.12"}}};

  const Trace trace = ReadBytes(SpaceOf({plane}));

  EXPECT_TRUE(trace.activities.empty());
  EXPECT_THAT(trace.annotations.kind, ElementsAre(AnnotationKind::kDevice, AnnotationKind::kDevice,
                                                  AnnotationKind::kDevice));
}

// The copy lasts from the begin of its start (10 ns) to the end of its done (45 + 5 ns).
TestPlane TpuWithCopy() {
  return {.name = "/device:TPU:0",
          .lines = {{.id = 3,
                     .name = "XLA Ops",
                     .events = {{.kind = 1, .offset_ps = 10'000, .duration_ps = 1'000},
                                {.kind = 2, .offset_ps = 45'000, .duration_ps = 5'000}}},
                    {.id = 4, .name = "Async XLA Ops", .events = {}}},
          .kinds = {{.id = 1,
                     .name = "%copy-start.2 = (f32[8]{0}) copy-start(f32[8]{0:S(5)} %p)",
                     .display_name = "copy-start.2",
                     .stats = {TextStat(1, "copy-start"), IntegerStat(2, 32)}},
                    {.id = 2,
                     .name = "%copy-done.9 = f32[8] copy-done((f32[8]) %copy-start.2)",
                     .display_name = "copy-done.9",
                     .stats = {TextStat(1, "copy-done")}},
                    {.id = 3,
                     .name = "%copy-start.2 = (f32[8]) copy-start(f32[8] %p)",
                     .display_name = "async-copy",
                     .stats = {TextStat(1, "copy-start"), IntegerStat(2, 32)}}},
          .stat_names = {{1, "hlo_category"}, {2, "bytes_accessed"}}};
}

TEST(XplaneTest, AnAsynchronousCopyIsPutTogetherFromItsHalves) {
  const Trace trace = ReadBytes(SpaceOf({TpuWithCopy()}));

  EXPECT_THAT(trace.activities.kind, ElementsAre(ActivityKind::kMemcpy));
  EXPECT_THAT(trace.activities.copy_kind, ElementsAre(trace::CopyKind::kHostToDevice));
  EXPECT_THAT(trace.annotations.begin_ns, ElementsAre(10, 45)) << "issued, and waited for";
  EXPECT_EQ(trace.activities.begin_ns[0], 10);
  EXPECT_EQ(trace.activities.duration_ns[0], 40);
  EXPECT_EQ(trace.activities.bytes[0], 32);
  const RowId track = trace.activities.track[0];
  EXPECT_EQ(trace.Text(trace.tracks.name[track]), "Async XLA Ops");
  EXPECT_EQ(trace.tracks.thread[track], 4);
  EXPECT_EQ(ProblemCount(trace, "asynchronous operation reconstructed"), 1);
}

TEST(XplaneTest, TheProfilersLineOfAsynchronousWorkWinsOverTheHalves) {
  TestPlane plane = TpuWithCopy();
  plane.lines[1].events = {{.kind = 3, .offset_ps = 10'000, .duration_ps = 39'000}};

  const Trace trace = ReadBytes(SpaceOf({plane}));

  ASSERT_EQ(trace.activities.size(), 1U);
  ASSERT_EQ(RowsNamed(trace, "async-copy").size(), 1U);
  const RowId copy = RowsNamed(trace, "async-copy")[0];
  EXPECT_EQ(trace.activities.kind[copy], ActivityKind::kMemcpy);
  EXPECT_EQ(trace.activities.duration_ns[copy], 39);
}

TestPlane SmallGpu() {
  return {.name = "/device:GPU:1",
          .lines = {{.id = 16,
                     .name = "Stream #16(Kernel)",
                     .events = {{.kind = 1,
                                 .offset_ps = 20'000,
                                 .duration_ps = 5'000,
                                 .stats = {UnsignedStat(1, 77), ReferenceStat(2, 9),
                                           TextStat(3, "dot.1")}},
                                {.kind = 2,
                                 .offset_ps = 30'000,
                                 .duration_ps = 1'000,
                                 .stats = {UnsignedStat(1, 78),
                                           TextStat(4, "kind:device size:4096 dest:0 async:1")}},
                                {.kind = 3, .offset_ps = 40'000, .duration_ps = 1'000}},
                     .timestamp_ns = 1'000}},
          .kinds = {{1, "gemm"}, {2, "MemcpyH2D"}, {3, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"}},
          .stat_names = {{1, "correlation_id"},
                         {2, "kernel_details"},
                         {3, "hlo_op"},
                         {4, "memcpy_details"},
                         {9, "regs:32 grid:4,2,1 block:128,1,1 dynamic_shared:512"}},
          .stats = {TextStat(3, "x"), TextStat(9, "y")}};
}

TEST(XplaneTest, StreamsOfAGpuGiveKernelsCopiesAndCollectives) {
  const Trace trace = ReadBytes(SpaceOf({SmallGpu()}));

  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(1'020, 1'030, 1'040));
  EXPECT_THAT(trace.activities.kind,
              ElementsAre(ActivityKind::kKernel, ActivityKind::kMemcpy, ActivityKind::kKernel));
  EXPECT_THAT(trace.activities.correlation, ElementsAre(77, 78, -1));
  EXPECT_EQ(trace.activities.bytes[1], 4096);
  EXPECT_EQ(trace.activities.copy_kind[1], trace::CopyKind::kHostToDevice);
  EXPECT_EQ(trace.Text(trace.activities.extra[0]), R"json("hlo_op":"dot.1")json");
  ASSERT_EQ(trace.launch_shapes.size(), 1U);
  EXPECT_EQ(trace.activities.shape[0], 0U);
  EXPECT_EQ(trace.launch_shapes.grid_y[0], 2);
  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kAllReduce);
  EXPECT_EQ(trace.collectives.data_type[0], DataType::kBf16);
}

TEST(XplaneTest, ALaunchOnTheHostFindsItsKernel) {
  const TestPlane host{
      .name = "/host:CPU",
      .lines = {{.id = 583,
                 .name = "Host Threads/583",
                 .events = {{.kind = 1, .stats = {UnsignedStat(1, 77)}}, {.kind = 2, .stats = {}}},
                 .timestamp_ns = 1'000}},
      .kinds = {{1, "cuLaunchKernel"}, {2, "PjitFunction(f)"}},
      .stat_names = {{1, "correlation_id"}}};

  const Trace trace = ReadBytes(SpaceOf({SmallGpu(), host}));

  ASSERT_EQ(trace.runtime_calls.size(), 1U);
  EXPECT_EQ(trace.runtime_calls.api[0], trace::ApiKind::kDriver);
  EXPECT_EQ(trace.activities.launch[0], 0U);
  ASSERT_EQ(trace.annotations.size(), 1U);
  EXPECT_EQ(trace.annotations.kind[0], trace::AnnotationKind::kHost);
}

TEST(XplaneTest, StepsOfTheFirstDeviceAreTheSteps) {
  const auto device = [](const std::string& name) {
    return TestPlane{.name = name,
                     .lines = {{.id = 1,
                                .name = "Steps",
                                .events = {{.kind = 1, .offset_ps = 0, .duration_ps = 9'000},
                                           {.kind = 2, .offset_ps = 9'000, .duration_ps = 8'000}}}},
                     .kinds = {{1, "41"}, {2, "42"}}};
  };

  const Trace trace = ReadBytes(SpaceOf({device("/device:TPU:0"), device("/device:TPU:1")}));

  EXPECT_EQ(trace.annotations.size(), 4U);
  EXPECT_THAT(trace.steps.number, ElementsAre(41, 42));
  EXPECT_THAT(trace.steps.duration_ns, ElementsAre(9, 8));
}

// The device's line counts from the start of the profile, the host's from 1970.
TEST(XplaneTest, TimesCountFrom1970WhereTheProfilesStartIsKnown) {
  constexpr std::int64_t kStart = 1'771'595'639'214'724'894;
  const TestPlane host{
      .name = "/host:CPU",
      .lines = {{.id = 1, .name = "main", .events = {{.kind = 1}}, .timestamp_ns = kStart + 3}},
      .kinds = {{1, "f"}}};
  const TestPlane environment{.name = "Task Environment",
                              .stat_names = {{1, "profile_start_time"}},
                              .stats = {UnsignedStat(1, kStart)}};

  const Trace trace = ReadBytes(SpaceOf({SmallTpu(), host, environment}));

  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(kStart + 5, kStart + 7));
  EXPECT_THAT(trace.annotations.begin_ns, ElementsAre(kStart + 3));
  ASSERT_EQ(trace.metadata.size(), 1U);
  EXPECT_EQ(trace.Text(trace.metadata.value[0]), "1771595639214724894");
}

TEST(XplaneTest, StatsOfAPlaneDescribeItsDevice) {
  TestPlane plane = SmallGpu();
  plane.stat_names = {{1, "device_vendor"}, {2, "memory_size"}, {3, "core_count"}, {4, "clock"}};
  plane.stats = {TextStat(1, "AMD"), UnsignedStat(2, 64), IntegerStat(3, 304), NumberStat(4, 1.5)};

  const Trace trace = ReadBytes(SpaceOf({plane}));

  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.devices.id[0], 1);
  EXPECT_EQ(trace.Text(trace.devices.name[0]), "AMD");
  EXPECT_EQ(trace.devices.memory_bytes[0], 64);
  EXPECT_EQ(trace.devices.multiprocessors[0], 304);
  EXPECT_THAT(std::string(trace.Text(trace.devices.extra[0])), HasSubstr(R"json("clock":1.5)json"));
}

TEST(XplaneTest, BytesAreHexadecimalAndTheDevicesClockIsLeftOut) {
  TestPlane plane = SmallTpu();
  plane.stat_names.emplace_back(4, "device_offset_ps");
  plane.stat_names.emplace_back(5, "memory_access_breakdown");
  plane.lines[0].events = {
      {.kind = 1, .stats = {UnsignedStat(4, 1), BytesStat(5, std::string("\x0a\xff", 2))}}};

  const Trace trace = ReadBytes(SpaceOf({plane}));

  EXPECT_THAT(std::string(trace.Text(trace.activities.extra[0])),
              AllOf(HasSubstr(R"json("memory_access_breakdown":"0aff")json"),
                    Not(HasSubstr("device_offset_ps"))));
}

TEST(XplaneTest, OtherFilesAreLeftAlone) {
  const std::string space = SpaceOf({{.name = "a plane of something else"}});
  for (const std::string_view bytes :
       {std::string_view(), std::string_view("\n"), std::string_view("\n\n\n\n/host:CPU"),
        std::string_view("{\"a\": 1}"), std::string_view(space)}) {
    EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("x", bytes)));
  }
}

}  // namespace
}  // namespace orrery::ingest::xplane
