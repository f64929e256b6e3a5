#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/ingest/kineto/event_stream.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::Trace;

Trace ReadText(std::string_view text, const ReadOptions& options = {.threads = 1}) {
  auto file = InputFile::FromMemory("test.json", text);
  EXPECT_TRUE(file);
  auto content = kFormat.Read(*file, options);
  EXPECT_TRUE(content) << (content ? "" : content.error().message());
  return content ? std::move(content->traces.at(0)) : Trace{};
}

// A whole file around some events.
std::string FileOf(std::string_view events, std::string_view more = "") {
  return "{\"schemaVersion\": 1" + std::string(more) + ", \"traceEvents\": [" +
         std::string(events) + "], \"traceName\": \"t\"}";
}

std::int64_t CountOf(const Trace& trace, std::string_view what) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what == what) {
      return problem.count;
    }
  }
  return 0;
}

constexpr std::string_view kOp =
    R"json({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":6,"ts":1.5,"dur":2,"args":{}})json";

TEST(KinetoTest, AnOperatorKeepsItsColumns) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 5, "tid": 6, "ts": 10.001, "dur": 2.5,
          "args": {"External id": 3, "Record function id": 4, "Ev Idx": 7, "Sequence number": 8,
          "Fwd thread id": 0, "Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"],
          "Input Strides": [[3, 1], [4, 1]], "Concrete Inputs": ["", ""], "odd": {"a": [1]}}})json"));

  ASSERT_EQ(trace.host_ops.size(), 1U);
  const auto op = trace.host_ops.At(0);
  EXPECT_EQ(op.begin_ns, 10'001);
  EXPECT_EQ(op.duration_ns, 2'500);
  EXPECT_EQ(trace.Text(op.name), "aten::mm");
  EXPECT_EQ(trace.tracks.process[op.track], 5);
  EXPECT_EQ(trace.tracks.thread[op.track], 6);
  EXPECT_EQ(op.external_id, 3);
  EXPECT_EQ(op.record_function_id, 4);
  EXPECT_EQ(op.event_index, 7);
  EXPECT_EQ(op.sequence, 8);
  EXPECT_EQ(trace.Text(op.input_dims), "[[2, 3], [3, 4]]");
  EXPECT_EQ(trace.Text(op.input_types), R"json(["float", "float"])json");
  EXPECT_EQ(trace.Text(op.input_strides), "[[3, 1], [4, 1]]");
  EXPECT_EQ(trace.Text(op.extra), R"json("odd": {"a": [1]})json");
  EXPECT_TRUE(trace.problems.all().empty());
}

TEST(KinetoTest, AKernelKeepsItsColumnsAndFindsItsLaunchAndOperator) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":5,"tid":6,"ts":1,"dur":20,"args":{"External id":3}},
         {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":5,"tid":6,"ts":2,"dur":3,"args":{"cbid":211,"correlation":9,"External id":3}},
         {"ph":"s","id":9,"pid":5,"tid":6,"ts":2,"cat":"ac2g","name":"ac2g"},
         {"ph":"X","cat":"kernel","name":"sgemm","pid":1,"tid":7,"ts":8,"dur":4,
          "args":{"External id":3,"queued":0,"device":1,"context":1,"stream":7,"correlation":9,
                  "registers per thread":32,"shared memory":128,"grid":[4,2,1],"block":[96,1,1],
                  "est. achieved occupancy %":98,"graph node id":77}},
         {"ph":"f","id":9,"pid":1,"tid":7,"ts":8,"cat":"ac2g","name":"ac2g","bp":"e"})json"));

  ASSERT_EQ(trace.activities.size(), 1U);
  const auto kernel = trace.activities.At(0);
  EXPECT_EQ(kernel.launch, 0U);
  EXPECT_EQ(kernel.host_op, 0U);
  EXPECT_EQ(kernel.graph_node, 77);
  EXPECT_EQ(trace.tracks.device[kernel.track], 1);
  EXPECT_EQ(trace.tracks.thread[kernel.track], 7);
  const auto shape = trace.launch_shapes.At(kernel.shape);
  EXPECT_EQ(shape.grid_x, 4);
  EXPECT_EQ(shape.grid_y, 2);
  EXPECT_EQ(shape.block_x, 96);
  EXPECT_EQ(shape.registers_per_thread, 32);
  EXPECT_EQ(shape.shared_memory_bytes, 128);
  EXPECT_EQ(shape.occupancy_percent, 98);
  EXPECT_EQ(trace.Text(shape.extra), R"json("queued": 0, "context": 1)json");
}

TEST(KinetoTest, TimesAreAbsoluteWhereTheFileHasABase) {
  const Trace trace =
      ReadText(FileOf(kOp, R"json(, "baseTimeNanoseconds": 1790857026000000000)json"));

  EXPECT_EQ(trace.host_ops.begin_ns[0], 1790857026000001500);
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
}

// A double would round this stamp to a quarter of a microsecond.
TEST(KinetoTest, EpochTimesWithDecimalsKeepTheirNanoseconds) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1712170298123456.789,"dur":0.001})json"));

  EXPECT_EQ(trace.host_ops.begin_ns[0], 1712170298123456789);
  EXPECT_EQ(trace.host_ops.duration_ns[0], 1);
}

TEST(KinetoTest, FilesOf2021AreRead) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":1,"tid":"1","ts":1,"dur":90,"args":{"Device":1}},
         {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":5,"dur":2,"args":{"stream":7,"external id":2,"correlation":4}},
         {"ph":"X","cat":"Memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":"stream 7","ts":8,"dur":1,"args":{"bytes":64,"memory bandwidth (GB/s)":0.1}},
         {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":1,"tid":"1","ts":2,"dur":1,"args":{"correlation":4,"external id":2}},
         {"ph":"i","name":"[memory]","pid":1,"tid":1,"ts":3,"s":"t","args":{"Device Type":1,"Device Id":0,"Bytes":-512}})json"));

  EXPECT_EQ(trace.info.format_version, "2021");
  EXPECT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps.number[0], 5);
  EXPECT_THAT(trace.activities.kind,
              ElementsAre(trace::ActivityKind::kKernel, trace::ActivityKind::kMemcpy));
  EXPECT_EQ(trace.activities.launch[0], 0U);
  EXPECT_EQ(trace.activities.copy_kind[1], trace::CopyKind::kHostToDevice);
  EXPECT_EQ(trace.activities.bytes[1], 64);
  EXPECT_EQ(trace.memory_events.bytes[0], -512);
}

TEST(KinetoTest, CollectiveArgumentsBecomeACollectiveWithItsKernel) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":1,"dur":9,
          "args":{"External id":3,"Collective name":"allreduce","In msg nelems":100,"Out msg nelems":100,
          "Group size":2,"dtype":"BFloat16","Process Group Name":"7","Process Group Description":"tp",
          "Process Group Ranks":"[0, 1]","Seq":41,"Comms Id":18446744073709551615,"Is asynchronized op":true}},
         {"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":1,"tid":1,"ts":20,"dur":9,
          "args":{"External id":4,"Collective name":"wait","Group size":2}},
         {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":9,"External id":3}},
         {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)","pid":0,"tid":7,"ts":8,"dur":4,
          "args":{"External id":3,"device":0,"stream":7,"correlation":9,"Collective name":"allreduce","dtype":"BFloat16"}})json"));

  ASSERT_EQ(trace.collectives.size(), 1U);
  const auto collective = trace.collectives.At(0);
  EXPECT_EQ(collective.kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(collective.in_bytes, 200);
  EXPECT_EQ(collective.sequence, 41);
  EXPECT_EQ(collective.comms_id, 18446744073709551615ULL);
  EXPECT_EQ(collective.is_async, 1);
  EXPECT_EQ(collective.num_kernels, 1);
  EXPECT_EQ(collective.begin_ns, 8'000);
  EXPECT_EQ(trace.activities.collective[0], 0U);
  EXPECT_EQ(trace.host_ops.collective[0], 0U);
  EXPECT_EQ(trace.host_ops.collective[1], kNoRow);
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(trace.Text(trace.process_groups.ranks[0]), "[0,1]");
}

// Without peers there are neither record_param_comms nor kernels: the c10d operators count, once
// where one wraps another.
TEST(KinetoTest, FakeProcessGroupsHaveCollectivesFromTheirOperators) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"_c10d_functional::all_reduce","pid":1,"tid":1,"ts":1,"dur":9,
          "args":{"Input Dims":[[4, 8], [], []],"Input type":["c10::BFloat16","",""]}},
         {"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":1,"tid":1,"ts":2,"dur":5,"args":{}},
         {"ph":"X","cat":"cpu_op","name":"c10d::_allgather_base_","pid":1,"tid":1,"ts":20,"dur":5,
          "args":{"Input Dims":[[64], [16]],"Input type":["float","float"]}},
         {"ph":"X","cat":"cpu_op","name":"_c10d_functional::wait_tensor","pid":1,"tid":1,"ts":30,"dur":5,"args":{}})json"));

  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives.in_bytes[0], 64);
  EXPECT_EQ(trace.collectives.kind[1], CollectiveKind::kAllGather);
  EXPECT_EQ(trace.collectives.in_bytes[1], 64);
  EXPECT_EQ(trace.collectives.out_bytes[1], 256);
}

TEST(KinetoTest, DistributedInfoMayStandBehindTheEvents) {
  const Trace trace = ReadText(
      "{\"traceEvents\": [" + std::string(kOp) +
      R"json(], "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config":
        [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": 8, "ranks": "[0, 1]"}]},
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 5, "numSms": 132}]})json");

  EXPECT_EQ(trace.info.rank, 3);
  EXPECT_EQ(trace.info.world_size, 8);
  EXPECT_EQ(trace.Text(trace.process_groups.ranks[0]), "[0,1]");
  EXPECT_EQ(trace.devices.multiprocessors[0], 132);
  EXPECT_FALSE(trace.problems.has_loss());
}

TEST(KinetoTest, ForwardBackwardArrowsAreKeptApartFromLaunchArrowsOfTheSameId) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":9,"args":{}},
         {"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":1,"tid":2,"ts":21,"dur":9,"args":{}},
         {"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"fwdbwd","name":"fwdbwd"},
         {"ph":"s","id":1,"pid":1,"tid":1,"ts":3,"cat":"ac2g","name":"ac2g"},
         {"ph":"f","id":1,"pid":1,"tid":2,"ts":21,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
         {"ph":"s","id":4,"pid":1,"tid":1,"ts":1,"cat":"critical_path","name":"c"},
         {"ph":"f","id":4,"pid":1,"tid":2,"ts":21,"cat":"critical_path","name":"c"})json"));

  EXPECT_EQ(trace.host_ops.forward_op[1], 0U);
  EXPECT_EQ(trace.flows.size(), 1U);
}

TEST(KinetoTest, PythonCallsSyncsCountersAndUnknownCategoriesAreKept) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"python_function","name":"f.py(1): main","pid":1,"tid":1,"ts":1,"dur":9,"args":{"Python id":1,"Python parent id":null,"Ev Idx":3}},
         {"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":1,"ts":2,"dur":5,"args":{"Python id":2,"Python parent id":1,"Python module id":0}},
         {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":-1,"ts":4,"dur":0,"args":{"stream":-1,"correlation":5,"device":0,"wait_on_stream":7,"wait_on_cuda_event_record_corr_id":3,"wait_on_cuda_event_id":2}},
         {"ph":"C","cat":"hardware_counters","name":"sm","pid":"GPU 0 Counters","tid":0,"ts":4,"args":{"":0.25}},
         {"ph":"X","cat":"brand_new","name":"x","pid":1,"tid":1,"ts":4,"dur":1,"args":{"stream":3}})json"));

  EXPECT_THAT(trace.python_calls.parent, ElementsAre(kNoRow, 0));
  EXPECT_EQ(trace.syncs.kind[0], trace::SyncKind::kStreamWaitEvent);
  EXPECT_EQ(trace.syncs.record_correlation[0], 3);
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_EQ(trace.counters.value[0], 0.25);
  ASSERT_EQ(trace.other_slices.size(), 1U);
  EXPECT_EQ(trace.Text(trace.other_slices.category[0]), "brand_new");
  EXPECT_EQ(trace.Text(trace.other_slices.extra[0]), R"json("stream": 3)json");
}

TEST(KinetoTest, RocmCopiesRecordedAsKernelsAreCopies) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"kernel","name":"__amd_rocclr_copyBuffer.kd","pid":0,"tid":0,"ts":1,"dur":1,"args":{"device":0,"stream":0}},
         {"ph":"X","cat":"kernel","name":"__amd_rocclr_fillBufferAligned","pid":0,"tid":0,"ts":3,"dur":1,"args":{"device":0,"stream":0}})json"));

  EXPECT_THAT(trace.activities.kind,
              ElementsAre(trace::ActivityKind::kMemcpy, trace::ActivityKind::kMemset));
}

TEST(KinetoTest, XlaExportsAreSortedByTheNamesOfTheirProcesses) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
         {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
         {"ph":"M","pid":9,"name":"process_name","args":{"name":"/host:CPU"}},
         {"ph":"X","pid":3,"tid":1,"name":"fusion.1","ts":5,"dur":2,"args":{"hlo_category":"fusion"}},
         {"ph":"X","pid":9,"tid":1,"name":"StepMarker","ts":1,"dur":9})json"));

  EXPECT_EQ(trace.info.format, "XLA Chrome JSON");
  EXPECT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(trace.annotations.size(), 1U);
  EXPECT_TRUE(trace.other_slices.empty());
}

TEST(KinetoTest, XlaExportsHaveCopiesStepsAndTheDevicesOfTheirNames) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:1"}},
         {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
         {"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"Async XLA Ops"}},
         {"ph":"M","pid":3,"tid":3,"name":"thread_name","args":{"name":"Steps"}},
         {"ph":"X","pid":3,"tid":1,"name":"copy-start.1","ts":5,"dur":2,"args":{"hlo_category":"copy-start"}},
         {"ph":"X","pid":3,"tid":2,"name":"async-copy","ts":6,"dur":9,"args":{"flops":"0","hlo_category":"copy-start"}},
         {"ph":"X","pid":3,"tid":1,"name":"fusion.1","ts":8,"dur":2},
         {"ph":"X","pid":3,"tid":3,"name":"17","ts":5,"dur":10})json"));

  EXPECT_THAT(trace.activities.kind,
              ElementsAre(trace::ActivityKind::kMemcpy, trace::ActivityKind::kKernel));
  EXPECT_EQ(trace.annotations.size(), 2U) << "the copy's start, and the step";
  EXPECT_EQ(trace.tracks.device[trace.activities.track[0]], 1);
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps.number[0], 17);
}

TEST(KinetoTest, AListWithoutAFrameIsRead) {
  EXPECT_EQ(ReadText("[" + std::string(kOp) + "]").host_ops.size(), 1U);
  EXPECT_EQ(ReadText("\xEF\xBB\xBF [ " + std::string(kOp) + "\n]").host_ops.size(), 1U);
}

// --- damage, in the order of the list of robustness cases ---

TEST(KinetoDamageTest, ATruncatedFileKeepsItsCompleteEvents) {
  const std::string whole = FileOf(std::string(kOp) + ",\n" + std::string(kOp));
  const std::size_t second = whole.find("aten::mm", whole.find("aten::mm") + 1);
  for (const std::size_t cut : {second + 3, second - 12, whole.find("\"dur\"", second) + 6}) {
    const Trace trace = ReadText(whole.substr(0, cut));
    EXPECT_EQ(trace.host_ops.size(), 1U) << cut;
    EXPECT_EQ(CountOf(trace, "truncated JSON"), 1) << cut;
    EXPECT_TRUE(trace.problems.has_loss());
  }
}

TEST(KinetoDamageTest, AFileThatEndsBeforeItsEventsSaysSo) {
  const Trace trace = ReadText(R"json({"schemaVersion": 1, "deviceProperties": [], "traceEv)json");

  EXPECT_TRUE(trace.problems.has_loss());
  EXPECT_THAT(trace.problems.all().at(0).first, HasSubstr("before the list of events"));
}

TEST(KinetoDamageTest, OnlyTheEndMissing) {
  const Trace trace = ReadText("{\"traceEvents\": [" + std::string(kOp));

  EXPECT_EQ(trace.host_ops.size(), 1U);
  EXPECT_EQ(CountOf(trace, "closed early: the list of events has no end"), 1);
}

TEST(KinetoDamageTest, TrailingCommasAndEmptyObjects) {
  const Trace trace = ReadText(FileOf(std::string(kOp) + ", {}, " + std::string(kOp) + ",\n"));

  EXPECT_EQ(trace.host_ops.size(), 2U);
  EXPECT_EQ(CountOf(trace, "entry without a phase in the list of events"), 1);
  EXPECT_EQ(CountOf(trace, "comma without a following event"), 1);
  EXPECT_FALSE(trace.problems.has_loss());
}

TEST(KinetoDamageTest, ControlCharactersAndInvalidUtf8BecomeReplacements) {
  const Trace trace =
      ReadText(FileOf("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\x01"
                      "b\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
                      "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\xFF\",\"pid\":1,\"tid\":1,"
                      "\"ts\":2,\"dur\":1}," +
                      std::string(kOp)));

  ASSERT_EQ(trace.host_ops.size(), 3U);
  EXPECT_EQ(trace.Text(trace.host_ops.name[2]), "c\xEF\xBF\xBD");
  EXPECT_FALSE(trace.problems.all().empty());
  EXPECT_FALSE(trace.problems.has_loss());
}

// PyTorch issue 146900: a name with bare quotes. The event is lost, its neighbours are not.
TEST(KinetoDamageTest, UnescapedQuotesCostOneEvent) {
  const Trace trace = ReadText(FileOf(
      std::string(kOp) + ",\n" +
      R"json({"ph":"X","cat":"cpu_op","name":"bad "name" here","pid":1,"tid":1,"ts":1,"dur":1,"args":{}})json" +
      ",\n" + std::string(kOp) + ",\n" + std::string(kOp)));

  EXPECT_EQ(trace.host_ops.size(), 3U);
  EXPECT_EQ(CountOf(trace, "event that is not valid JSON, skipped"), 1);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(KinetoDamageTest, AnUnevenNumberOfQuotesCostsOneEvent) {
  const Trace trace = ReadText(FileOf(
      std::string(kOp) + ",\n" +
      R"json({"ph":"X","cat":"cpu_op","name":"bad "name","pid":1,"tid":1,"ts":1,"dur":1,"args":{}})json" +
      ",\n" + std::string(kOp) + ",\n" + std::string(kOp)));

  EXPECT_EQ(trace.host_ops.size(), 3U);
  EXPECT_EQ(CountOf(trace, "event that is not valid JSON, skipped"), 1);
}

TEST(KinetoDamageTest, BareNaNIsAnUnknownValue) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":NaN,"args":{"x":-Infinity}},)json"
      R"json({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":NaN,"dur":1})json"));

  EXPECT_EQ(trace.host_ops.size(), 1U);
  EXPECT_EQ(CountOf(trace, "duration that is not a number, taken as 0"), 1);
  EXPECT_EQ(CountOf(trace, "event without a usable time stamp"), 1);
}

TEST(KinetoDamageTest, TimesAsStringsAreRead) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"a","pid":"1","tid":"2","ts":"1.5","dur":"2","args":{"External id":"9"}})json"));

  ASSERT_EQ(trace.host_ops.size(), 1U);
  EXPECT_EQ(trace.host_ops.begin_ns[0], 1'500);
  EXPECT_EQ(trace.host_ops.external_id[0], 9);
  EXPECT_EQ(trace.tracks.thread[trace.host_ops.track[0]], 2);
  EXPECT_EQ(CountOf(trace, "time stamp written as a string"), 1);
}

TEST(KinetoDamageTest, MissingNegativeAndAbsurdDurations) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"Trace","name":"w","pid":"Spans","tid":"P","ts":0,"dur":100,"args":{}},
         {"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1},
         {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":2,"dur":-3},
         {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":1,"ts":40,"dur":1844674407370955,"args":{}})json"));

  EXPECT_EQ(CountOf(trace, "slice without a duration, taken as 0"), 1);
  EXPECT_EQ(CountOf(trace, "negative duration, taken as 0"), 1);
  EXPECT_EQ(CountOf(trace, "implausible duration, clipped to the end of the recording"), 1);
  EXPECT_EQ(trace.activities.duration_ns[0], 60'000);
}

TEST(KinetoDamageTest, EventsOutOfOrderAreSorted) {
  const Trace trace = ReadText(
      FileOf(R"json({"ph":"X","cat":"cpu_op","name":"late","pid":1,"tid":1,"ts":9,"dur":1},)json" +
             std::string(kOp)));

  EXPECT_THAT(trace.host_ops.begin_ns, ElementsAre(1'500, 9'000));
}

TEST(KinetoDamageTest, ArgsThatAreNoObjectAreCounted) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":null},
         {"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1,"dur":1,"args":[1]},
         {"ph":"X","cat":"cpu_op","name":"c","pid":null,"tid":4.0,"ts":1,"dur":1,"args":"x"})json"));

  EXPECT_EQ(trace.host_ops.size(), 3U);
  EXPECT_EQ(CountOf(trace, "event whose args are not an object"), 2);
}

TEST(KinetoDamageTest, OfDuplicateKeysTheLastWins) {
  const Trace trace = ReadText(FileOf(
      R"json({"ph":"X","cat":"cpu_op","name":"a","name":"b","pid":1,"tid":1,"ts":1,"dur":1,"args":{"Ev Idx":1,"Ev Idx":2}})json"));

  EXPECT_EQ(trace.Text(trace.host_ops.name[0]), "b");
  EXPECT_EQ(trace.host_ops.event_index[0], 2);
}

TEST(KinetoDamageTest, DeepNestingIsRefusedForItsEventOnly) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const Trace trace = ReadText(FileOf(
      std::string(kOp) +
      R"json(,{"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":2,"dur":1,"args":{"x":)json" +
      deep + "}}," + std::string(kOp)));

  EXPECT_GE(trace.host_ops.size(), 2U);
}

// Small windows put the cut inside a string that looks like the end of an event, and into a list of
// objects; the result must not depend on it.
TEST(KinetoTest, WindowsThatAreCutWronglyAreReadAllTheSame) {
  std::string events;
  for (int i = 0; i < 3000; ++i) {
    events += R"json({"ph":"X","cat":"cpu_op","name":"}, {\"ph\"","pid":1,"tid":1,"ts":)json" +
              std::to_string(i) + R"json(,"dur":1,"args":{"list":[{"a":1}, {"b":"}, {"}]}},)json" +
              "\n";
  }
  events.resize(events.size() - 2);
  const std::string text = FileOf(events);
  for (const std::size_t window_bytes : {200U, 1000U, 5000U}) {
    Assembler assembler;
    const auto frame =
        ReadEvents(OpenMemory(text), {.threads = 2, .window_bytes = window_bytes}, assembler);
    ASSERT_TRUE(frame);
    EXPECT_EQ(assembler.trace.host_ops.size(), 3000U) << window_bytes;
    EXPECT_FALSE(assembler.trace.problems.has_loss()) << window_bytes;
    EXPECT_THAT(frame->tail, HasSubstr("traceName"));
  }
}

TEST(KinetoTest, TheResultIsTheSameForAnyNumberOfThreads) {
  std::string events;
  for (int i = 0; i < 20000; ++i) {
    events += R"json({"ph":"X","cat":"cpu_op","name":"op)json" + std::to_string(i % 97) +
              R"json(","pid":1,"tid":)json" + std::to_string(i % 3) + R"json(,"ts":)json" +
              std::to_string(i) + R"json(,"dur":1.5,"args":{"External id":)json" +
              std::to_string(i) + "}},";
  }
  events.pop_back();
  const std::string text = FileOf(events);

  const auto read = [&](int threads) {
    Assembler assembler;
    EXPECT_TRUE(
        ReadEvents(OpenMemory(text), {.threads = threads, .window_bytes = 10'000}, assembler));
    return std::move(assembler.trace);
  };

  EXPECT_EQ(read(1), read(2));
}

}  // namespace
}  // namespace orrery::ingest::kineto
