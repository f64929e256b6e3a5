#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/nsys/database_test.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {
namespace {

using testing::ElementsAre;
using trace::ActivityKind;
using trace::CopyKind;
using trace::SyncKind;
using trace::Trace;

constexpr std::int64_t Thread(std::int64_t process, std::int64_t thread) {
  return process << 24 | thread;
}

constexpr std::int64_t Process(std::int64_t process) {
  return process << 24;
}

// The columns that nsys has written since 2025, as far as we read them.
constexpr const char* kTables = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,
    correlationId, globalPid, demangledName, shortName, mangledName, registersPerThread, gridX,
    gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory, graphNodeId);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId,
    nameId, returnValue);
  CREATE TABLE NVTX_EVENTS (start, end, eventType, category, text, globalTid, textId, domainId,
    uint64Value, doubleValue, binaryData);
)";

class NsysFormatTest : public testing::Test {
 protected:
  void SetUp() override { Run(kTables); }

  void Run(const std::string& statements) { ASSERT_EQ(database_.Run(statements), ""); }

  void AddString(int id, const std::string& text) {
    Run(fmt::format("INSERT INTO StringIds VALUES ({}, '{}')", id, text));
  }

  void AddKernel(std::int64_t start, std::int64_t end, std::int64_t process, int device,
                 std::int64_t correlation, int name = 1) {
    Run(
        fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, "
                    "streamId, correlationId, globalPid, demangledName, gridX, gridY, gridZ, "
                    "blockX, blockY, blockZ, registersPerThread, staticSharedMemory, "
                    "dynamicSharedMemory) VALUES ({}, {}, {}, {}, 7, {}, {}, {}, 8, 2, 1, 128, 1, "
                    "1, 32, 100, 24)",
                    start, end, device, device + 1, correlation, Process(process), name));
  }

  void AddCall(std::int64_t start, std::int64_t end, std::int64_t thread, std::int64_t correlation,
               int name, const std::string& event_class = "0") {
    Run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, {}, {}, 0)",
                    start, end, event_class, thread, correlation, name));
  }

  void AddRange(const std::string& start, const std::string& end, const std::string& text,
                std::int64_t thread, int type = 59, int domain = 0) {
    Run(
        fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) "
                    "VALUES ({}, {}, {}, {}, {}, {})",
                    start, end, type, text, thread, domain));
  }

  std::vector<Trace> Read() {
    bytes_ = database_.Bytes();
    auto content = ReadBytes(bytes_);
    EXPECT_TRUE(content) << content.error().message();
    return content ? std::move(content->traces) : std::vector<Trace>(1);
  }

  Trace ReadOne() {
    std::vector<Trace> traces = Read();
    EXPECT_EQ(traces.size(), 1U);
    return std::move(traces[0]);
  }

  TestDatabase database_;
  std::string bytes_;
};

TEST_F(NsysFormatTest, OnlyExportsMatch) {
  EXPECT_TRUE(MatchesBytes(database_.Bytes()));
  TestDatabase other;
  ASSERT_EQ(other.Run("CREATE TABLE notes (text); "
                      "INSERT INTO notes VALUES ('META_DATA_EXPORT CUPTI_ACTIVITY_KIND_KERNEL')"),
            "");
  EXPECT_FALSE(MatchesBytes(other.Bytes()));
  TestDatabase rocpd;
  ASSERT_EQ(rocpd.Run("CREATE TABLE rocpd_kernel_dispatch (id); "
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start)"),
            "");
  EXPECT_FALSE(MatchesBytes(rocpd.Bytes()));
  EXPECT_FALSE(MatchesBytes("{\"traceEvents\": []}"));
  EXPECT_FALSE(MatchesBytes(""));
}

// The head holds 256 KiB; a table of 1 MB before ours pushes the schema's second page beyond it.
TEST_F(NsysFormatTest, ASchemaBeyondTheHeadIsFound) {
  TestDatabase late;
  ASSERT_EQ(late.Run("CREATE TABLE filler (b); INSERT INTO filler VALUES (zeroblob(1000000));"),
            "");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(late.Run(fmt::format("CREATE TABLE t{} (a_column_with_a_long_name_{})", i, i)), "");
  }
  ASSERT_EQ(late.Run("CREATE TABLE META_DATA_EXPORT (name, value)"), "");
  const std::string bytes = late.Bytes();

  EXPECT_TRUE(MatchesBytes(bytes));
}

TEST_F(NsysFormatTest, AKernelHasItsNameShapeStreamAndLaunch) {
  AddString(1, "gemm");
  AddString(2, "cudaLaunchKernel_v7000");
  AddKernel(100, 160, 5, 0, 77);
  AddKernel(200, 210, 5, 0, 78);
  AddCall(50, 60, Thread(5, 9), 77, 2);
  AddCall(70, 80, Thread(5, 9), 78, 2);

  const auto traces = Read();

  ASSERT_EQ(traces.size(), 1U);
  const Trace& trace = traces[0];
  ASSERT_EQ(trace.activities.size(), 2U);
  EXPECT_EQ(trace.activities.begin_ns[0], 100);
  EXPECT_EQ(trace.activities.duration_ns[0], 60);
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "gemm");
  const auto track = trace.tracks.At(trace.activities.track[0]);
  EXPECT_EQ(track.kind, trace::TrackKind::kDevice);
  EXPECT_EQ(track.thread, 7);
  EXPECT_EQ(track.device, 0);
  ASSERT_EQ(trace.launch_shapes.size(), 1U) << "equal launches share a shape";
  const auto shape = trace.launch_shapes.At(trace.activities.shape[0]);
  EXPECT_EQ(shape.grid_x, 8);
  EXPECT_EQ(shape.block_x, 128);
  EXPECT_EQ(shape.registers_per_thread, 32);
  EXPECT_EQ(shape.shared_memory_bytes, 124);
  ASSERT_NE(trace.activities.launch[0], kNoRow);
  const auto call = trace.runtime_calls.At(trace.activities.launch[0]);
  EXPECT_EQ(trace.Text(call.name), "cudaLaunchKernel");
  EXPECT_EQ(trace.Text(call.extra), R"("symbol":"cudaLaunchKernel_v7000")");
  EXPECT_EQ(trace.tracks.thread[call.track], 9);
  EXPECT_EQ(trace.info.rank, -1) << "one rank, and nothing says which";
}

TEST_F(NsysFormatTest, KernelsWithoutANameFallBackAndAreNoted) {
  AddString(4, "short");
  Run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, demangledName, shortName) VALUES "
      "(1, 2, NULL, 4), (3, 4, 99, NULL)");

  const auto traces = Read();

  EXPECT_EQ(traces[0].Text(traces[0].activities.name[0]), "short");
  EXPECT_EQ(traces[0].activities.name[1], StringId::kEmpty);
  EXPECT_EQ(FindProblem(traces[0], "kernel without a name")->count, 1);
}

TEST_F(NsysFormatTest, RowsWithoutATimeAreDroppedAndCountedAndOddEndsBecomeInstants) {
  Run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES "
      "(NULL, 5), ('soon', 5), (9223372036854775807, 5), (10, NULL), (20, 15), ('30', 40.0)");

  const auto traces = Read();

  EXPECT_THAT(traces[0].activities.begin_ns, ElementsAre(10, 20, 30));
  EXPECT_THAT(traces[0].activities.duration_ns, ElementsAre(0, 0, 10));
  const auto lost = FindProblem(traces[0], "row without a usable time");
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->count, 3);
  EXPECT_EQ(lost->severity, trace::Severity::kLoss);
  EXPECT_EQ(lost->first, "CUPTI_ACTIVITY_KIND_KERNEL");
  EXPECT_EQ(FindProblem(traces[0], "without an end")->count, 1);
  EXPECT_EQ(FindProblem(traces[0], "ends before it begins")->count, 1);
}

TEST_F(NsysFormatTest, CopiesSetsAndGraphsAreActivitiesOfTheirKind) {
  Run(R"(CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, bytes, copyKind, srcKind,
           dstKind);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 4096, 1, 1, 2),
           (3, 4, 0, 64, 12, 2, 0), (5, 6, 0, 8, 99, NULL, NULL);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, bytes, memKind);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (7, 8, 0, 16, 2);
         CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, graphId);
         INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (9, 19, 0, 3))");

  const auto traces = Read();

  const auto& rows = traces[0].activities;
  EXPECT_THAT(rows.kind,
              ElementsAre(ActivityKind::kMemcpy, ActivityKind::kMemcpy, ActivityKind::kMemcpy,
                          ActivityKind::kMemset, ActivityKind::kOther));
  EXPECT_THAT(rows.copy_kind, ElementsAre(CopyKind::kHostToDevice, CopyKind::kDeviceToHost,
                                          CopyKind::kUnknown, CopyKind::kNone, CopyKind::kNone));
  EXPECT_THAT(rows.bytes, ElementsAre(4096, 64, 8, 16, -1));
  EXPECT_EQ(traces[0].Text(rows.name[0]), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(traces[0].Text(rows.name[3]), "Memset (Device)");
  EXPECT_EQ(traces[0].Text(rows.name[4]), "CUDA graph 3");
}

TEST_F(NsysFormatTest, CopyKindsFollowTheExportsOwnTable) {
  Run(R"(CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id, name, label);
         INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (1, 'CUDA_MEMCPY_KIND_DTOD', 'x');
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, copyKind);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 1))");

  EXPECT_EQ(Read()[0].activities.copy_kind[0], CopyKind::kDeviceToDevice);
}

// Process 5 drives devices 0 and 1. Calls follow their work, ranges the first launch inside; what
// launches nothing stays with the first device.
TEST_F(NsysFormatTest, AProcessWithTwoDevicesIsTwoRanksAndHostRowsFollowTheirWork) {
  AddString(1, "k");
  AddString(2, "cudaLaunchKernel_v7000");
  const std::int64_t thread = Thread(5, 9);
  AddKernel(110, 120, 5, 0, 10);
  AddKernel(210, 220, 5, 1, 20);
  AddCall(100, 105, thread, 10, 2);
  AddCall(200, 205, thread, 20, 2);
  AddCall(300, 305, thread, 30, 2);
  AddRange("190", "250", "'second device'", thread);
  AddRange("400", "500", "'no launch'", thread);

  const auto traces = Read();

  ASSERT_EQ(traces.size(), 2U);
  EXPECT_EQ(traces[0].info.rank, 0);
  EXPECT_EQ(traces[1].info.rank, 1);
  EXPECT_THAT(traces[0].runtime_calls.correlation, ElementsAre(10, 30));
  EXPECT_THAT(traces[1].runtime_calls.correlation, ElementsAre(20));
  ASSERT_EQ(traces[0].annotations.size(), 1U);
  EXPECT_EQ(traces[0].Text(traces[0].annotations.name[0]), "no launch");
  ASSERT_EQ(traces[1].annotations.size(), 1U);
  EXPECT_EQ(traces[1].Text(traces[1].annotations.name[0]), "second device");
  EXPECT_NE(traces[1].activities.launch[0], kNoRow);
}

// Both processes use correlation id 10; each kernel must find the call of its own process.
TEST_F(NsysFormatTest, CorrelationIdsCountPerProcess) {
  AddKernel(110, 120, 5, 0, 10);
  AddKernel(210, 220, 6, 0, 10);
  AddCall(100, 105, Thread(5, 1), 10, 2);
  AddCall(200, 205, Thread(6, 1), 10, 2);
  AddCall(101, 102, Thread(4, 1), 10, 2);

  const auto traces = Read();

  ASSERT_EQ(traces.size(), 2U);
  // The call of process 4, which has no device work, is kept without its id.
  EXPECT_THAT(traces[0].runtime_calls.correlation, ElementsAre(10, -1));
  EXPECT_EQ(traces[0].Text(traces[0].runtime_calls.extra[1]), R"("correlation":10)");
  EXPECT_EQ(traces[0].runtime_calls.begin_ns[traces[0].activities.launch[0]], 100);
  EXPECT_EQ(traces[1].runtime_calls.begin_ns[traces[1].activities.launch[0]], 200);
}

TEST_F(NsysFormatTest, WithoutEventClassTheNameTellsTheLibrary) {
  AddString(1, "cuLaunchKernelEx");
  AddString(2, "cudaMalloc_v3020");
  AddString(3, "cublasCreate");
  for (int name = 1; name <= 3; ++name) {
    AddCall(name, name, Thread(1, 1), name, name, "NULL");
  }

  EXPECT_THAT(
      Read()[0].runtime_calls.api,
      ElementsAre(trace::ApiKind::kDriver, trace::ApiKind::kRuntime, trace::ApiKind::kOther));
}

TEST_F(NsysFormatTest, OnlyInterfaceVersionsAreCutFromNames) {
  EXPECT_EQ(WithoutInterfaceVersion("cudaMemcpyAsync_v3020"), "cudaMemcpyAsync");
  EXPECT_EQ(WithoutInterfaceVersion("cudaStreamGetCaptureInfo_v2_v11030"),
            "cudaStreamGetCaptureInfo_v2");
  EXPECT_EQ(WithoutInterfaceVersion("cuMemcpyHtoD_v2"), "cuMemcpyHtoD_v2");
  EXPECT_EQ(WithoutInterfaceVersion("_v3020"), "_v3020");
  EXPECT_EQ(WithoutInterfaceVersion("12345"), "12345");
}

// 1,000,000,000,000 ns since 1970 at the start, everything shifted by 7 in the export.
TEST_F(NsysFormatTest, TimesCountFrom1970WhereTheExportSaysWhenItBegan) {
  AddKernel(107, 117, 5, 0, 1);
  Run("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs, utcTime);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000000000, 'x');"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_SHIFT', '7')");

  const auto shifted = Read();
  Run("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true')");
  const auto normalized = Read();

  EXPECT_EQ(shifted[0].activities.begin_ns[0], 1000000000100);
  EXPECT_EQ(shifted[0].info.time_origin, trace::TimeOrigin::kEpoch);
  EXPECT_EQ(normalized[0].activities.begin_ns[0], 107);
  EXPECT_EQ(normalized[0].info.time_origin, trace::TimeOrigin::kEpoch);
}

TEST_F(NsysFormatTest, WithoutASessionStartTimesCountFromTheRecording) {
  AddKernel(107, 117, 5, 0, 1);

  const auto traces = Read();

  EXPECT_EQ(traces[0].activities.begin_ns[0], 107);
  EXPECT_EQ(traces[0].info.time_origin, trace::TimeOrigin::kRecordingStart);
}

TEST_F(NsysFormatTest, EmittedOperatorsBecomeHostOperatorsAroundTheirLaunches) {
  AddString(1, "k");
  const std::int64_t thread = Thread(5, 9);
  AddKernel(110, 120, 5, 0, 10);
  AddCall(100, 105, thread, 10, 2);
  AddRange("90", "108", "'aten::mm, seq = 12, op_id = 314, sizes = [[4, 8], [8, 2]]'", thread);

  const Trace trace = ReadOne();

  ASSERT_EQ(trace.host_ops.size(), 1U);
  const auto op = trace.host_ops.At(0);
  EXPECT_EQ(trace.Text(op.name), "aten::mm");
  EXPECT_EQ(op.sequence, 12);
  EXPECT_EQ(op.record_function_id, 314);
  EXPECT_EQ(trace.Text(op.input_dims), "[[4, 8], [8, 2]]");
  EXPECT_EQ(trace.activities.host_op[0], 0U);
  EXPECT_TRUE(trace.annotations.empty());
}

// The last row of the export ends at 120, so the open range lasts from 90 to there.
TEST_F(NsysFormatTest, ARangeThatIsStillOpenLastsToTheEnd) {
  AddKernel(110, 120, 5, 0, 10);
  AddRange("90", "NULL", "'epoch'", Thread(5, 9));

  const Trace trace = ReadOne();

  ASSERT_EQ(trace.annotations.size(), 1U);
  EXPECT_EQ(trace.annotations.duration_ns[0], 30);
  EXPECT_EQ(FindProblem(trace, "still open")->count, 1);
}

TEST_F(NsysFormatTest, NvtxNamesOfDomainsThreadsAndRegisteredStringsAreResolved) {
  AddString(8, "registered");
  const std::int64_t thread = Thread(5, 9);
  Run(
      fmt::format("INSERT INTO NVTX_EVENTS (start, end, eventType, textId, globalTid, domainId, "
                  "category, uint64Value) VALUES (10, 20, 60, 8, {}, 4, 3, 99)",
                  thread));
  AddRange("5", "NULL", "'a mark'", thread, 34, 4);
  AddRange("1", "NULL", "'my.domain'", thread, 75, 4);
  AddRange("1", "NULL", "'loader'", thread, 39);

  const Trace trace = ReadOne();

  ASSERT_EQ(trace.annotations.size(), 1U);
  EXPECT_EQ(trace.Text(trace.annotations.name[0]), "registered");
  EXPECT_EQ(trace.Text(trace.annotations.domain[0]), "my.domain");
  EXPECT_EQ(trace.Text(trace.annotations.extra[0]), R"("category":3,"payload":99)");
  ASSERT_EQ(trace.instants.size(), 1U);
  EXPECT_EQ(trace.Text(trace.instants.category[0]), "my.domain");
  EXPECT_EQ(trace.Text(trace.tracks.name[trace.annotations.track[0]]), "loader");
}

TEST_F(NsysFormatTest, StepsAreFoundFromRanges) {
  AddRange("10", "20", "'iteration1'", Thread(5, 9));
  AddRange("20", "30", "'iteration2'", Thread(5, 9));

  EXPECT_THAT(Read()[0].steps.number, ElementsAre(1, 2));
}

TEST_F(NsysFormatTest, AWaitKnowsTheRecordOfItsEvent) {
  AddKernel(110, 120, 5, 1, 10);
  AddCall(40, 45, Thread(5, 9), 30, 2);
  Run(fmt::format(
      R"(CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp, contextId, streamId, correlationId,
           globalPid, eventId, eventSyncId);
         INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 2, 7, 30, {0}, 55, 900);
         CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, deviceId, contextId,
           streamId, correlationId, globalPid, syncType, eventId, eventSyncId);
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
           (50, 51, 0, 2, 13, 31, {0}, 2, 55, 900),
           (60, 69, 0, 2, 4294967295, 32, {0}, 4, 4294967295, 0))",
      Process(5)));

  const Trace trace = ReadOne();

  EXPECT_THAT(trace.syncs.kind,
              ElementsAre(SyncKind::kEventRecord, SyncKind::kStreamWaitEvent, SyncKind::kContext));
  EXPECT_EQ(trace.syncs.begin_ns[0], 40) << "a record without a time has that of its call";
  EXPECT_EQ(trace.syncs.record_correlation[1], 30);
  EXPECT_EQ(trace.syncs.wait_on_stream[1], 7);
  EXPECT_EQ(trace.syncs.device[1], 1) << "by the context, not by deviceId";
  EXPECT_EQ(trace.syncs.stream[2], -1);
  EXPECT_EQ(trace.syncs.event_id[2], -1);
}

// Context 2 is that of device 1; the call of the wait launches nothing and must go there too.
TEST_F(NsysFormatTest, WithTwoDevicesTheCallOfAWaitFollowsTheContext) {
  AddKernel(110, 120, 5, 0, 10);
  AddKernel(110, 120, 5, 1, 11);
  AddCall(50, 60, Thread(5, 9), 32, 2);
  Run(fmt::format(
      R"(CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, contextId, correlationId,
           globalPid, syncType);
         INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (50, 60, 2, 32, {}, 4))",
      Process(5)));

  const auto traces = Read();

  ASSERT_EQ(traces.size(), 2U);
  EXPECT_TRUE(traces[0].syncs.empty());
  ASSERT_EQ(traces[1].syncs.size(), 1U);
  EXPECT_EQ(traces[1].syncs.call[0], 0U);
}

// GPU 1 of the machine is device 0 of process 5.
TEST_F(NsysFormatTest, MetricsGoToTheRankThatWorksOnTheirGpu) {
  AddKernel(110, 120, 4, 0, 10);
  AddKernel(110, 120, 5, 0, 10);
  Run(R"(CREATE TABLE TARGET_INFO_GPU (id, name, totalMemory);
         INSERT INTO TARGET_INFO_GPU VALUES (0, 'H200', 100), (1, 'H200', 200);
         CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);
         INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 4), (1, 0, 5);
         CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, metricId, metricName);
         INSERT INTO TARGET_INFO_GPU_METRICS VALUES (769, 3, 'SMs Active [Throughput %]'),
           (768, 3, 'something else');
         CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);
         INSERT INTO GPU_METRICS VALUES (115, 769, 3, 87), (116, 769, 4, 1.5))");

  const auto traces = Read();

  ASSERT_EQ(traces.size(), 2U);
  EXPECT_TRUE(traces[0].counters.empty());
  ASSERT_EQ(traces[1].counters.size(), 2U);
  EXPECT_EQ(traces[1].Text(traces[1].counters.name[0]), "SMs Active [Throughput %]");
  EXPECT_EQ(traces[1].counters.value[0], 87);
  EXPECT_EQ(traces[1].counters.device[0], 0);
  EXPECT_EQ(traces[1].Text(traces[1].counters.name[1]), "metric 4");
  ASSERT_EQ(traces[1].devices.size(), 1U);
  EXPECT_EQ(traces[1].devices.memory_bytes[0], 200);
}

TEST_F(NsysFormatTest, AllocationsArePositiveAndFreesNegative) {
  AddKernel(110, 120, 5, 0, 10);
  Run(fmt::format(R"(CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, address,
                       bytes, memKind, memoryOperationType);
                     INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, {0}, 0, 4096, 512, 2, 0),
                       (2, {0}, 0, 4096, 512, 2, 1), (3, {0}, 0, 64, 16, 1, 0))",
                  Process(5)));

  const Trace trace = ReadOne();

  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(512, -512, 16));
  EXPECT_EQ(trace.memory_events.address[0], 4096U);
  EXPECT_EQ(trace.memory_events.device_kind[0], trace::DeviceKind::kGpu);
  EXPECT_EQ(trace.memory_events.device_kind[2], trace::DeviceKind::kCpu);
}

TEST_F(NsysFormatTest, OtherHostSlicesAreKeptAndTablesWithoutAPlaceAreNamed) {
  AddString(1, "poll");
  Run("CREATE TABLE OSRT_API (start, end, globalTid, nameId);"
      "INSERT INTO OSRT_API VALUES (1, 5, 16777217, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, globalTid, nameId, overheadType);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (2, 3, 16777217, 1, 3);"
      "CREATE TABLE SCHED_EVENTS (start, cpu); INSERT INTO SCHED_EVENTS VALUES (1, 1);"
      "CREATE TABLE COMPOSITE_EVENTS (start)");

  const Trace trace = ReadOne();

  ASSERT_EQ(trace.other_slices.size(), 2U);
  EXPECT_EQ(trace.Text(trace.other_slices.category[0]), "OSRT_API");
  EXPECT_EQ(trace.Text(trace.other_slices.category[1]), "overhead");
  const auto left_out = FindProblem(trace, "without an equivalent in a trace");
  ASSERT_TRUE(left_out);
  EXPECT_EQ(left_out->count, 1);
  EXPECT_EQ(left_out->first, "SCHED_EVENTS");
}

TEST_F(NsysFormatTest, WarningsOfTheProfilerAreNotes) {
  Run("CREATE TABLE DIAGNOSTIC_EVENT (timestamp, severity, text, globalPid);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'started', 0), (2, 2, 'events lost', 0)");

  const Trace trace = ReadOne();

  EXPECT_TRUE(FindProblem(trace, "events lost"));
  EXPECT_FALSE(FindProblem(trace, "started"));
  EXPECT_FALSE(trace.problems.has_loss());
}

TEST_F(NsysFormatTest, ADamagedTableKeepsItsFirstRowsAndIsNamed) {
  Run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000)"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) SELECT i, i + 1 FROM n");
  std::string bytes = database_.Bytes();
  bytes.resize(bytes.size() / 2);

  const auto content = ReadBytes(bytes);

  ASSERT_TRUE(content) << content.error().message();
  const Trace& trace = content->traces[0];
  EXPECT_GT(trace.activities.size(), 100U);
  EXPECT_LT(trace.activities.size(), 3000U);
  const auto damage = FindProblem(trace, "table CUPTI_ACTIVITY_KIND_KERNEL is damaged");
  ASSERT_TRUE(damage);
  EXPECT_EQ(damage->severity, trace::Severity::kLoss);
  EXPECT_TRUE(FindProblem(trace, "incomplete"));
}

TEST_F(NsysFormatTest, ReadingTwiceGivesTheSameTraces) {
  AddString(1, "k");
  AddKernel(110, 120, 5, 0, 10);
  AddKernel(110, 120, 6, 1, 10);
  AddRange("90", "108", "'aten::mm, seq = 12'", Thread(5, 1));

  EXPECT_TRUE(Read() == Read());
}

}  // namespace
}  // namespace orrery::ingest::nsys
