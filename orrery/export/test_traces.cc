#include <cstdint>
#include <string_view>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/traces_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

using trace::Trace;

constexpr std::int64_t kMicrosecond = 1000;

std::int64_t At(std::int64_t microseconds) {
  return kTestSecondNs + 250'000'000 + microseconds * kMicrosecond;
}

struct TestTracks {
  RowId main;
  RowId other;
  RowId stream;
};

TestTracks AddTracks(Trace& trace, std::int32_t device) {
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  trace.devices.Append({.id = device,
                        .name = name("NVIDIA H200"),
                        .memory_bytes = 150'109'880'320,
                        .multiprocessors = 132,
                        .compute_major = 9,
                        .compute_minor = 0,
                        .extra = name("\"warpSize\": 32")});
  return {.main = trace.tracks.Append({.process = 538,
                                       .thread = 598,
                                       .process_name = name("python3"),
                                       .name = name("thread 598 (python3)")}),
          .other = trace.tracks.Append({.process = 538, .thread = 599}),
          .stream = trace.tracks.Append({.kind = trace::TrackKind::kDevice,
                                         .process = device,
                                         .thread = 7,
                                         .device = device,
                                         .name = name("stream 7")})};
}

void AddHostRows(Trace& trace, const TestTracks& tracks) {
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  trace.annotations.Append({.begin_ns = At(100),
                            .duration_ns = 800 * kMicrosecond,
                            .name = name("ProfilerStep#3"),
                            .track = tracks.main,
                            .external_id = 1});
  const RowId forward =
      trace.host_ops.Append({.begin_ns = At(110),
                             .duration_ns = 190 * kMicrosecond + 7,
                             .name = name("record_param_comms"),
                             .track = tracks.main,
                             .external_id = 2,
                             .record_function_id = 77,
                             .event_index = 5,
                             .sequence = 9,
                             .forward_thread = 0,
                             .input_dims = name("[[4096, 50257], []]"),
                             .input_types = name("[\"c10::BFloat16\", \"Scalar\"]"),
                             .input_strides = name("[[50257, 1], []]"),
                             .concrete_inputs = name("[\"\", \"0\"]"),
                             .call_stack = name("a.py(1): \"f\"\nb.py(2): g"),
                             .module_hierarchy = name("Net.layer"),
                             .extra = name("\"Backend\": \"nccl\""),
                             .collective = 0});
  trace.host_ops.Append({.begin_ns = At(400),
                         .duration_ns = 100 * kMicrosecond,
                         .name = name("MmBackward0"),
                         .track = tracks.main,
                         .external_id = 3,
                         .forward_op = forward});
  trace.python_calls.Append({.begin_ns = At(105),
                             .duration_ns = 700 * kMicrosecond,
                             .name = name("train.py(3): step"),
                             .track = tracks.main,
                             .python_id = 4,
                             .python_parent_id = 3});
}

void AddDeviceRows(Trace& trace, const TestTracks& tracks, std::int64_t shift_ns) {
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  const RowId launch = trace.runtime_calls.Append({.begin_ns = At(120),
                                                   .duration_ns = 20 * kMicrosecond,
                                                   .name = name("cudaLaunchKernel"),
                                                   .track = tracks.main,
                                                   .correlation = 1234,
                                                   .external_id = 2,
                                                   .callback_id = 211});
  const RowId shape = trace.launch_shapes.Append({.grid_x = 16,
                                                  .grid_y = 2,
                                                  .grid_z = 1,
                                                  .block_x = 256,
                                                  .block_y = 1,
                                                  .block_z = 1,
                                                  .registers_per_thread = 32,
                                                  .shared_memory_bytes = 48,
                                                  .occupancy_percent = 98,
                                                  .extra = name("\"queued\": 0, \"context\": 1")});
  trace.activities.Append({.begin_ns = At(200) + shift_ns,
                           .duration_ns = 60 * kMicrosecond - shift_ns,
                           .name = name("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)"),
                           .track = tracks.stream,
                           .correlation = 1234,
                           .external_id = 2,
                           .shape = shape,
                           .launch = launch,
                           .host_op = 0,
                           .collective = 0});
  trace.activities.Append({.begin_ns = At(240) + shift_ns,
                           .duration_ns = 60 * kMicrosecond,
                           .name = name("Memcpy HtoD (Pinned -> Device)"),
                           .track = tracks.stream,
                           .kind = trace::ActivityKind::kMemcpy,
                           .copy_kind = trace::CopyKind::kHostToDevice,
                           .correlation = 1234,
                           .bytes = 4096,
                           .launch = launch});
}

void AddCollective(Trace& trace, std::int64_t shift_ns) {
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  const RowId group = trace.process_groups.Append({.name = name("0"),
                                                   .description = name("default_pg"),
                                                   .backend = name("nccl"),
                                                   .num_ranks = 2,
                                                   .ranks = name("[0, 1]")});
  trace.collectives.Append({.begin_ns = At(200) + shift_ns,
                            .duration_ns = 60 * kMicrosecond - shift_ns,
                            .name = name("allreduce"),
                            .kind = CollectiveKind::kAllReduce,
                            .group = group,
                            .data_type = DataType::kBf16,
                            .in_elements = 1000,
                            .out_elements = 1000,
                            .in_bytes = 2000,
                            .out_bytes = 2000,
                            .sequence = 12,
                            .comms_id = 18'446'744'073'709'551'615ULL,
                            .is_async = 1,
                            .host_op = 0,
                            .num_kernels = 1});
}

void AddPoints(Trace& trace, const TestTracks& tracks) {
  const auto name = [&](std::string_view text) { return trace.strings.Intern(text); };
  trace.memory_events.Append({.begin_ns = At(300),
                              .bytes = -512,
                              .address = 139'637'976'727'552,
                              .device_kind = trace::DeviceKind::kGpu,
                              .device = 0,
                              .total_allocated_bytes = 1024,
                              .total_reserved_bytes = 2048,
                              .track = tracks.other,
                              .name = name("[memory]")});
  trace.counters.Append(
      {.begin_ns = At(310), .name = name("sm active %"), .device = 0, .value = 87.5});
  trace.instants.Append({.begin_ns = At(950), .name = name("Record Window End")});
  trace.syncs.Append({.begin_ns = At(250),
                      .duration_ns = 30 * kMicrosecond,
                      .name = name("Stream Sync"),
                      .track = tracks.stream,
                      .kind = trace::SyncKind::kStream,
                      .device = 0,
                      .stream = 7,
                      .correlation = 1300});
  trace.other_slices.Append({.begin_ns = At(90),
                             .duration_ns = 860 * kMicrosecond,
                             .name = name("PyTorch Profiler (0)"),
                             .category = name("Trace"),
                             .extra = name("\"Op count\": 0")});
}

}  // namespace

Trace MakeTestTrace(std::int32_t rank, std::int64_t shift_ns) {
  Trace trace;
  trace.info.rank = rank;
  trace.info.world_size = 2;
  trace.info.backend = "nccl";
  trace.info.format = "Kineto JSON";
  trace.info.time_origin = trace::TimeOrigin::kEpoch;
  trace.info.files = {"/runs/of \"today\"/trace.json"};
  trace.metadata.Append(
      {.key = trace.strings.Intern("trace_id"), .value = trace.strings.Intern("1DF0\t")});
  const TestTracks tracks = AddTracks(trace, rank);
  AddHostRows(trace, tracks);
  AddDeviceRows(trace, tracks, shift_ns);
  AddCollective(trace, shift_ns);
  AddPoints(trace, tracks);
  return trace;
}

trace::TraceSet MakeTestSet() {
  trace::TraceSet set;
  set.ranks.push_back(MakeTestTrace(0));
  set.ranks.push_back(MakeTestTrace(1, 20 * kMicrosecond));
  return set;
}

CollectiveSpan MakeTestCollective() {
  CollectiveSpan span{
      .group = "default_pg",
      .name = "all_reduce",
      .bytes = 2000,
      .bus_factor = 1.0,
      .members = {{.rank_index = 0,
                   .collective = 0,
                   .begin_ns = At(200),
                   .end_ns = At(260),
                   .wait_ns = 20'000},
                  {.rank_index = 1, .collective = 0, .begin_ns = At(220), .end_ns = At(260)}}};
  return span;
}

}  // namespace orrery::exporting
