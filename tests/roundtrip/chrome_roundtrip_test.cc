// Kineto file -> Trace -> Chrome JSON -> Trace: nothing that matters may change.

#include <filesystem>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/byte_sink.h"
#include "orrery/export/chrome_json.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace_set.h"

namespace orrery {
namespace {

using trace::kNoRow;
using trace::RowId;
using trace::Trace;

Trace Read(const ingest::InputFile& file) {
  for (const ingest::Format* format : ingest::KnownFormats()) {
    if (format->name == "Kineto JSON") {
      EXPECT_TRUE(format->matches(file)) << file.path();
      return std::move(format->read(file, {}).value().traces.at(0));
    }
  }
  ADD_FAILURE() << "no reader for Kineto JSON";
  return {};
}

Trace ReadText(std::string_view text) {
  return Read(ingest::InputFile::FromMemory("test.json", text).value());
}

std::string Exported(Trace trace) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(trace));
  MemorySink sink;
  EXPECT_TRUE(exporting::WriteChromeJson(set, {}, sink));
  return sink.bytes();
}

auto TrackOf(const Trace& trace, RowId row) {
  return row == kNoRow ? std::tuple(trace::TrackKind::kOther, std::int64_t{0}, std::int64_t{0}, 0)
                       : std::tuple(trace.tracks.kind[row], trace.tracks.process[row],
                                    trace.tracks.thread[row], trace.tracks.device[row]);
}

// Calls `compare(name, before, after)` with comparable forms of all columns of one row.
template <typename Table>
bool RowsAreEqual(const Trace& a, const Table& table_a, const Trace& b, const Table& table_b,
                  RowId row, std::string& difference);

// One value, so that it can be compared between traces: strings as text, and what is shared
// between rows by content.
template <typename T>
bool ValuesAreEqual(const Trace& a, const Trace& b, std::string_view column, T x, T y) {
  if constexpr (std::is_same_v<T, StringId>) {
    return a.Text(x) == b.Text(y);
  } else if constexpr (std::is_same_v<T, RowId>) {
    if (column == "track") {
      return TrackOf(a, x) == TrackOf(b, y);
    }
    if (column == "shape" && x != kNoRow && y != kNoRow) {
      std::string difference;
      return RowsAreEqual(a, Only(a.launch_shapes, x), b, Only(b.launch_shapes, y), 0, difference);
    }
    return x == y;
  } else {
    return x == y;
  }
}

template <typename Table>
Table Only(const Table& table, RowId row) {
  Table only;
  only.Append(table.At(row));
  return only;
}

template <typename Table>
bool RowsAreEqual(const Trace& a, const Table& table_a, const Trace& b, const Table& table_b,
                  RowId row, std::string& difference) {
  std::apply(
      [&](const auto&... column) {
        const auto compare = [&](const char* name, const auto& x, const auto& y) {
          if (!ValuesAreEqual(a, b, name, x[row], y[row])) {
            difference += std::string(" ") + name;
          }
        };
        (compare(column.name, table_a.*column.member, table_b.*column.member), ...);
      },
      Table::Columns());
  return difference.empty();
}

template <typename Table>
void ExpectSameRows(const char* name, const Trace& a, const Table& table_a, const Trace& b,
                    const Table& table_b) {
  ASSERT_EQ(table_a.size(), table_b.size()) << name;
  int num_failures = 0;
  for (RowId row = 0; row < table_a.size() && num_failures < 5; ++row) {
    std::string difference;
    const bool equal = RowsAreEqual(a, table_a, b, table_b, row, difference);
    EXPECT_TRUE(equal) << name << " row " << row << " differs in" << difference;
    num_failures += equal ? 0 : 1;
  }
}

void ExpectSameTrace(const Trace& a, const Trace& b) {
  ExpectSameRows("activities", a, a.activities, b, b.activities);
  ExpectSameRows("host_ops", a, a.host_ops, b, b.host_ops);
  ExpectSameRows("runtime_calls", a, a.runtime_calls, b, b.runtime_calls);
  ExpectSameRows("annotations", a, a.annotations, b, b.annotations);
  ExpectSameRows("python_calls", a, a.python_calls, b, b.python_calls);
  ExpectSameRows("syncs", a, a.syncs, b, b.syncs);
  ExpectSameRows("memory_events", a, a.memory_events, b, b.memory_events);
  ExpectSameRows("collectives", a, a.collectives, b, b.collectives);
  ExpectSameRows("steps", a, a.steps, b, b.steps);
  ExpectSameRows("devices", a, a.devices, b, b.devices);
  ExpectSameRows("instants", a, a.instants, b, b.instants);
  ExpectSameRows("other_slices", a, a.other_slices, b, b.other_slices);
  EXPECT_EQ(a.info.rank, b.info.rank);
  EXPECT_EQ(a.info.world_size, b.info.world_size);
  EXPECT_EQ(a.info.backend, b.info.backend);
  EXPECT_EQ(a.info.time_origin, b.info.time_origin);
}

void ExpectRoundTrip(const Trace& before) {
  const std::string text = Exported(before);
  const Trace after = ReadText(text);
  ExpectSameTrace(before, after);
  // Counters of the first export are derived again, not added.
  EXPECT_EQ(Exported(after).size(), Exported(ReadText(Exported(after))).size());
}

// One event of each kind, two streams of which one has work that overlaps, and a collective.
constexpr std::string_view kSmallFile = R"({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,
    "computeMajor": 9, "computeMinor": 0, "warpSize": 32, "numSms": 132}],
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "pg_count": 1,
    "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl",
      "pg_size": 2, "ranks": [0, 1]}], "nccl_version": "2.27.3"},
  "host_name": "node\t7",
  "displayTimeUnit": "ms", "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 538, "tid": 538,
   "ts": 100.000, "dur": 900.001, "args": {"External id": 1, "Record function id": 0, "Ev Idx": 9}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 538, "tid": 538, "ts": 110.001,
   "dur": 20.003, "args": {"External id": 2, "Record function id": 7, "Sequence number": 30,
   "Fwd thread id": 0, "Concrete Inputs": ["", "\"x\""], "Input type": ["c10::BFloat16", "Scalar"],
   "Input Strides": [[50257, 1], []], "Input Dims": [[4096, 50257], []], "Ev Idx": 2,
   "Call stack": "a.py(1): \"f\"; b\\c", "Module Hierarchy": "Net.layer", "Backend": "cuda"}},
  {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 538, "tid": 538, "ts": 140,
   "dur": 20, "args": {"External id": 3, "Collective name": "allreduce", "dtype": "BFloat16",
   "In msg nelems": 1000, "Out msg nelems": 1000, "In split size": "[]", "Out split size": "[]",
   "Group size": 2, "Process Group Name": "0", "Process Group Description": "default_pg",
   "Process Group Ranks": "[0, 1]", "Global rank start": 0, "Global rank stride": 1, "Seq": 5,
   "Comms Id": 18446744073709551615, "Is asynchronized op": true}},
  {"ph": "X", "cat": "cpu_op", "name": "MmBackward0", "pid": 538, "tid": 598, "ts": 400.5,
   "dur": 20, "args": {"External id": 4, "Sequence number": 30, "Fwd thread id": 1}},
  {"ph": "s", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 538, "tid": 538, "ts": 110.001},
  {"ph": "f", "id": 1, "cat": "fwdbwd", "name": "fwdbwd", "pid": 538, "tid": 598, "ts": 400.5,
   "bp": "e"},
  {"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 538, "tid": 538,
   "ts": 105, "dur": 700, "args": {"Python id": 4, "Python parent id": null, "Ev Idx": 1,
   "Python thread": 0}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 538, "tid": 538,
   "ts": 112, "dur": 3.014, "args": {"External id": 2, "cbid": 211, "correlation": 28108}},
  {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 538, "tid": 538,
   "ts": 142, "dur": 3, "args": {"External id": 3, "cbid": 652, "correlation": 28109}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 538, "tid": 538,
   "ts": 150, "dur": 3, "args": {"cbid": 41, "correlation": 28110}},
  {"ph": "X", "cat": "kernel", "name": "void gemm<\"q\">(int)",
                           "pid" : 0, "tid" : 7, "ts" : 200.25, "dur" : 50.75, "args" : {
                             "External id" : 2,
                             "queued" : 0,
                             "device" : 0,
                             "context" : 1,
                             "stream" : 7,
                             "correlation" : 28108,
                             "registers per thread" : 32,
                             "shared memory" : 48,
                             "blocks per SM" : 31.030304,
                             "warps per SM" : 93.090912,
                             "grid" : [ 4096, 2, 1 ],
                             "block" : [ 96, 1, 1 ],
                             "est. achieved occupancy %" : 98,
                             "graph node id" : 11
                           }
}

                                                                              ,
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "pid": 0,
   "tid": 20, "ts": 220, "dur": 60, "args": {"External id": 3, "device": 0, "context": 1,
   "stream": 20, "correlation": 28109, "grid": [16, 1, 1], "block": [544, 1, 1],
   "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000,
   "Out msg nelems": 1000, "Group size": 2, "Process Group Name": "0",
   "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]", "Seq": 5}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0, "tid": 7,
   "ts": 230, "dur": 40, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 28110,
   "bytes": 4096, "memory bandwidth (GB/s)": 0.1024}},
  {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 300,
   "dur": 0.736, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 28111,
   "bytes": 4}},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 200.249,
   "dur": 60, "args": {"External id": 1}},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 240,
   "dur": 15, "args": {"cuda_sync_kind": "Stream Wait Event", "stream": 7, "correlation": 28112,
   "device": 0, "context": 1, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 28107,
   "wait_on_cuda_event_id": 3}},
  {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 538, "tid": 538,
   "ts": 120, "args": {"Device Type": 1, "Device Id": 0, "Addr": 139637976727552, "Bytes": -512,
   "Total Allocated": 1024, "Total Reserved": 2048}},
  {"ph": "C", "cat": "hardware_counters", "name": "sm active", "pid": "GPU 0 Counters", "tid": 0,
   "ts": 130, "args": {"": 87.5}},
  {"ph": "M", "name": "process_name", "pid": 538, "tid": 0, "args": {"name": "python3"}},
  {"ph": "M", "name": "thread_name", "pid": 538, "tid": 598,
   "args": {"name": "thread 598 (pt_autograd_0)"}},
  {"ph": "X", "cat": "overhead", "name": "Buffer Flush", "pid": -1, "tid": 0, "ts": 130,
   "dur": 4, "args": {}},
  {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
   "tid": "PyTorch Profiler", "ts": 90, "dur": 1000, "args": {"Op count": 0}},
  {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1095}
  ],
  "traceName": "small.json"
                                                                              })";

TEST(ChromeRoundTripTest, EveryColumnOfASmallFileComesBack) {
                                                                                const Trace before =
                                                                                    ReadText(
                                                                                        kSmallFile);
                                                                                // The file is what
                                                                                // it should be, or
                                                                                // the comparison
                                                                                // would compare
                                                                                // nothing.
                                                                                EXPECT_EQ(
                                                                                    before
                                                                                        .activities
                                                                                        .size(),
                                                                                    4U);
                                                                                EXPECT_EQ(
                                                                                    before
                                                                                        .collectives
                                                                                        .size(),
                                                                                    1U);
                                                                                EXPECT_EQ(
                                                                                    before.host_ops
                                                                                        .size(),
                                                                                    3U);
                                                                                ExpectRoundTrip(
                                                                                    before);
                                                                                const Trace after =
                                                                                    ReadText(
                                                                                        Exported(
                                                                                            before));
                                                                                ExpectSameRows(
                                                                                    "counters",
                                                                                    before,
                                                                                    before.counters,
                                                                                    after,
                                                                                    Only(
                                                                                        after
                                                                                            .counters,
                                                                                        static_cast<
                                                                                            RowId>(
                                                                                            after
                                                                                                .counters
                                                                                                .size() -
                                                                                            1)));
                                                                              }

                                                                              TEST(
                                                                                  ChromeRoundTripTest,
                                                                                  ARecordedRunComesBack) {
                                                                                const std::string path =
                                                                                    std::string(
                                                                                        ORRERY_TEST_DATA) +
                                                                                    "/h200/"
                                                                                    "fake-tp8."
                                                                                    "kineto.json."
                                                                                    "gz";
                                                                                ExpectRoundTrip(Read(
                                                                                    ingest::InputFile::
                                                                                        Open(path)
                                                                                            .value()));
                                                                              }

                                                                              class SharedTrace
                                                                                  : public ::testing::
                                                                                        TestWithParam<
                                                                                            const char*> {
                                                                              };

                                                                              TEST_P(SharedTrace,
                                                                                     ComesBack) {
                                                                                const std::string path =
                                                                                    std::string(
                                                                                        ORRERY_SHARED) +
                                                                                    "/traces/" +
                                                                                    GetParam();
                                                                                if (!std::filesystem::
                                                                                        exists(
                                                                                            path)) {
                                                                                  GTEST_SKIP()
                                                                                      << "no "
                                                                                         "shared "
                                                                                         "traces "
                                                                                         "beside "
                                                                                         "the "
                                                                                         "repositor"
                                                                                         "y";
                                                                                }
                                                                                ExpectRoundTrip(Read(
                                                                                    ingest::InputFile::
                                                                                        Open(path)
                                                                                            .value()));
                                                                              }

                                                                              INSTANTIATE_TEST_SUITE_P(
                                                                                  ChromeRoundTripTest,
                                                                                  SharedTrace,
                                                                                  ::testing::Values(
                                                                                      "h200/"
                                                                                      "gpt2-small-"
                                                                                      "b4.kineto."
                                                                                      "json.gz",
                                                                                      "h200/"
                                                                                      "fake-fsdp64."
                                                                                      "kineto.json."
                                                                                      "gz",
                                                                                      "h200/"
                                                                                      "dlrm-b2048."
                                                                                      "kineto.json."
                                                                                      "gz"));

                                                                              }  // namespace
                                                                              }  // namespace orrery
