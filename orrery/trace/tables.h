#pragma once

#include <cstdint>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"

// The tables of a Trace. Times are integer nanoseconds, sizes bytes; -1 (or kNoRow) means "not
// known" wherever 0 is a possible value. Text that repeats is interned. `extra` holds the arguments
// that have no column of their own, as the fields of a JSON object without braces: none is lost.
//
// Rows of a table with `begin_ns` are in order of begin time (ties: longer first, then file order).
//
// `order` (memory tables) is the number of an event in its process: the order of the host's
// actions, also where times are equal or come from several clocks.

namespace orrery::trace {

/// A host thread or a device stream. `process` and `thread` are the numbers
/// the profiler gave; text ids of old files are mapped to negative numbers and kept in `name`.
#define ORRERY_TRACK_COLUMNS(X)                                 \
  X(TrackKind, kind, TrackKind::kHost)                          \
  X(std::int64_t, process, 0)                                   \
  X(std::int64_t, thread, 0) /* the stream number on devices */ \
  X(std::int32_t, device, -1)                                   \
  X(StringId, process_name, StringId::kEmpty)                   \
  X(StringId, name, StringId::kEmpty)
ORRERY_TABLE(Tracks, ORRERY_TRACK_COLUMNS);

/// Accelerators the profiler saw.
#define ORRERY_DEVICE_COLUMNS(X)       \
  X(std::int32_t, id, 0)               \
  X(StringId, name, StringId::kEmpty)  \
  X(std::int64_t, memory_bytes, -1)    \
  X(std::int32_t, multiprocessors, -1) \
  X(std::int32_t, compute_major, -1)   \
  X(std::int32_t, compute_minor, -1)   \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(Devices, ORRERY_DEVICE_COLUMNS);

/// Launch configurations of kernels; few distinct rows, shared by many kernels.
#define ORRERY_LAUNCH_SHAPE_COLUMNS(X)                                 \
  X(std::int32_t, grid_x, -1)                                          \
  X(std::int32_t, grid_y, -1)                                          \
  X(std::int32_t, grid_z, -1)                                          \
  X(std::int32_t, block_x, -1)                                         \
  X(std::int32_t, block_y, -1)                                         \
  X(std::int32_t, block_z, -1)                                         \
  X(std::int32_t, registers_per_thread, -1)                            \
  X(std::int64_t, shared_memory_bytes, -1)                             \
  X(std::int32_t, occupancy_percent, -1) /* the profiler's estimate */ \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(LaunchShapes, ORRERY_LAUNCH_SHAPE_COLUMNS);

/// Work on a device: kernels, memcpys, memsets, and the work of other accelerators.
#define ORRERY_ACTIVITY_COLUMNS(X)             \
  X(std::int64_t, begin_ns, 0)                 \
  X(std::int64_t, duration_ns, 0)              \
  X(StringId, name, StringId::kEmpty)          \
  X(RowId, track, kNoRow)                      \
  X(ActivityKind, kind, ActivityKind::kKernel) \
  X(CopyKind, copy_kind, CopyKind::kNone)      \
  X(std::int64_t, correlation, -1)             \
  X(std::int64_t, external_id, -1)             \
  X(std::int64_t, bytes, -1)                   \
  X(std::int64_t, graph_node, -1)              \
  X(RowId, shape, kNoRow)  /* LaunchShapes */  \
  X(RowId, launch, kNoRow) /* RuntimeCalls */  \
  X(RowId, host_op, kNoRow)                    \
  X(RowId, collective, kNoRow)                 \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(Activities, ORRERY_ACTIVITY_COLUMNS);

/// Operators of the framework on the host. Shapes, types and values are JSON text.
#define ORRERY_HOST_OP_COLUMNS(X)                            \
  X(std::int64_t, begin_ns, 0)                               \
  X(std::int64_t, duration_ns, 0)                            \
  X(StringId, name, StringId::kEmpty)                        \
  X(RowId, track, kNoRow)                                    \
  X(std::int64_t, external_id, -1)                           \
  X(std::int64_t, record_function_id, 0)                     \
  X(std::int64_t, event_index, -1)                           \
  X(std::int64_t, sequence, -1)                              \
  X(std::int64_t, forward_thread, -1)                        \
  X(StringId, input_dims, StringId::kEmpty)                  \
  X(StringId, input_types, StringId::kEmpty)                 \
  X(StringId, input_strides, StringId::kEmpty)               \
  X(StringId, concrete_inputs, StringId::kEmpty)             \
  X(StringId, call_stack, StringId::kEmpty)                  \
  X(StringId, module_hierarchy, StringId::kEmpty)            \
  X(StringId, extra, StringId::kEmpty)                       \
  X(RowId, parent, kNoRow)     /* HostOps */                 \
  X(RowId, annotation, kNoRow) /* innermost one around it */ \
  X(RowId, forward_op, kNoRow) /* of a backward operator */  \
  X(RowId, collective, kNoRow) /* the one it requests */     \
  X(RowId, graph_node, kNoRow) /* GraphNodes */
ORRERY_TABLE(HostOps, ORRERY_HOST_OP_COLUMNS);

/// Calls of the accelerator's runtime and driver libraries.
#define ORRERY_RUNTIME_CALL_COLUMNS(X)                                     \
  X(std::int64_t, begin_ns, 0)                                             \
  X(std::int64_t, duration_ns, 0)                                          \
  X(StringId, name, StringId::kEmpty)                                      \
  X(RowId, track, kNoRow)                                                  \
  X(ApiKind, api, ApiKind::kRuntime)                                       \
  X(std::int64_t, correlation, -1)                                         \
  X(std::int64_t, external_id, -1)                                         \
  X(std::int32_t, callback_id, -1)                                         \
  X(std::int32_t, return_value, 0)                                         \
  X(StringId, extra, StringId::kEmpty)                                     \
  X(RowId, parent, kNoRow) /* RuntimeCalls: the call that made this one */ \
  X(RowId, host_op, kNoRow)
ORRERY_TABLE(RuntimeCalls, ORRERY_RUNTIME_CALL_COLUMNS);

/// Named ranges of the user (NVTX, record_function), on the host and mirrored on the device.
#define ORRERY_ANNOTATION_COLUMNS(X)                                               \
  X(std::int64_t, begin_ns, 0)                                                     \
  X(std::int64_t, duration_ns, 0)                                                  \
  X(StringId, name, StringId::kEmpty)                                              \
  X(RowId, track, kNoRow)                                                          \
  X(AnnotationKind, kind, AnnotationKind::kHost)                                   \
  X(StringId, domain, StringId::kEmpty)                                            \
  X(std::int64_t, external_id, -1)                                                 \
  X(std::int64_t, record_function_id, 0)                                           \
  X(StringId, extra, StringId::kEmpty)                                             \
  X(RowId, parent, kNoRow)     /* Annotations, same track */                       \
  X(RowId, host, kNoRow)       /* Annotations: the host range of a device range */ \
  X(RowId, graph_node, kNoRow) /* GraphNodes */
ORRERY_TABLE(Annotations, ORRERY_ANNOTATION_COLUMNS);

/// Training or inference steps, found from markers.
#define ORRERY_STEP_COLUMNS(X)        \
  X(std::int64_t, begin_ns, 0)        \
  X(std::int64_t, duration_ns, 0)     \
  X(StringId, name, StringId::kEmpty) \
  X(std::int64_t, number, -1)         \
  X(RowId, annotation, kNoRow)
ORRERY_TABLE(Steps, ORRERY_STEP_COLUMNS);

/// Groups of ranks that communicate. `ranks` is a JSON array; empty when the file does not say.
#define ORRERY_PROCESS_GROUP_COLUMNS(X)                                          \
  X(StringId, name, StringId::kEmpty)                                            \
  X(StringId, description, StringId::kEmpty)                                     \
  X(StringId, backend, StringId::kEmpty)                                         \
  X(std::int32_t, num_ranks, -1)                                                 \
  X(StringId, ranks, StringId::kEmpty)                                           \
  X(std::uint8_t, ranks_cut, 0) /* the profiler shortened the list with "..." */ \
  X(std::int32_t, rank_start, -1)                                                \
  X(std::int32_t, rank_stride, -1)                                               \
  X(std::uint64_t, communicator, 0) /* if the tool names it (nsys, old execution traces) */
ORRERY_TABLE(ProcessGroups, ORRERY_PROCESS_GROUP_COLUMNS);

/// Collective and point-to-point calls of this rank. The time is that of the kernels when there are
/// any (`num_kernels` > 0), else of the call on the host.
#define ORRERY_COLLECTIVE_COLUMNS(X)                                                           \
  X(std::int64_t, begin_ns, 0)                                                                 \
  X(std::int64_t, duration_ns, 0)                                                              \
  X(StringId, name, StringId::kEmpty) /* as the file has it */                                 \
  X(CollectiveKind, kind, CollectiveKind::kUnknown)                                            \
  X(RowId, group, kNoRow) /* ProcessGroups */                                                  \
  X(DataType, data_type, DataType::kUnknown)                                                   \
  X(std::int64_t, in_elements, -1)                                                             \
  X(std::int64_t, out_elements, -1)                                                            \
  X(std::int64_t, in_bytes, -1)                                                                \
  X(std::int64_t, out_bytes, -1)                                                               \
  X(StringId, in_splits, StringId::kEmpty)                                                     \
  X(StringId, out_splits, StringId::kEmpty)                                                    \
  X(std::int64_t, sequence, -1) /* inside the group */                                         \
  X(std::uint64_t, comms_id, 0)                                                                \
  X(std::int32_t, peer, -1) /* global rank, or rank inside the group if that is all we have */ \
  X(std::uint8_t, is_async, 0)                                                                 \
  X(RowId, host_op, kNoRow)                                                                    \
  X(RowId, graph_node, kNoRow) /* GraphNodes */                                                \
  X(RowId, track, kNoRow)      /* stream of its first kernel */                                \
  X(std::int32_t, num_kernels, 0)
ORRERY_TABLE(Collectives, ORRERY_COLLECTIVE_COLUMNS);

/// Waits of the host or of a stream, and event records.
#define ORRERY_SYNC_COLUMNS(X)                                                         \
  X(std::int64_t, begin_ns, 0)                                                         \
  X(std::int64_t, duration_ns, 0)                                                      \
  X(StringId, name, StringId::kEmpty)                                                  \
  X(RowId, track, kNoRow)                                                              \
  X(SyncKind, kind, SyncKind::kUnknown)                                                \
  X(std::int32_t, device, -1)                                                          \
  X(std::int64_t, stream, -1)                                                          \
  X(std::int64_t, correlation, -1)                                                     \
  X(std::int64_t, event_id, -1)                                                        \
  X(std::int64_t, wait_on_stream, -1)                                                  \
  X(std::int64_t, record_correlation, -1) /* of the event record that is waited for */ \
  X(StringId, extra, StringId::kEmpty)                                                 \
  X(RowId, call, kNoRow) /* RuntimeCalls */
ORRERY_TABLE(Syncs, ORRERY_SYNC_COLUMNS);

/// Allocations (bytes > 0) and frees (bytes < 0) of the framework's allocator.
#define ORRERY_MEMORY_EVENT_COLUMNS(X)         \
  X(std::int64_t, begin_ns, 0)                 \
  X(std::int64_t, bytes, 0)                    \
  X(std::uint64_t, address, 0)                 \
  X(DeviceKind, device_kind, DeviceKind::kCpu) \
  X(std::int32_t, device, -1)                  \
  X(std::int64_t, total_allocated_bytes, -1)   \
  X(std::int64_t, total_reserved_bytes, -1)    \
  X(RowId, track, kNoRow)                      \
  X(StringId, name, StringId::kEmpty)          \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(MemoryEvents, ORRERY_MEMORY_EVENT_COLUMNS);

/// Samples of named counters.
#define ORRERY_COUNTER_COLUMNS(X)     \
  X(std::int64_t, begin_ns, 0)        \
  X(StringId, name, StringId::kEmpty) \
  X(RowId, track, kNoRow)             \
  X(std::int32_t, device, -1)         \
  X(double, value, 0.0)
ORRERY_TABLE(Counters, ORRERY_COUNTER_COLUMNS);

/// Python functions on the host.
#define ORRERY_PYTHON_CALL_COLUMNS(X)   \
  X(std::int64_t, begin_ns, 0)          \
  X(std::int64_t, duration_ns, 0)       \
  X(StringId, name, StringId::kEmpty)   \
  X(RowId, track, kNoRow)               \
  X(std::int32_t, python_id, -1)        \
  X(std::int32_t, python_parent_id, -1) \
  X(std::int32_t, module_id, -1)        \
  X(std::int32_t, event_index, -1)      \
  X(StringId, extra, StringId::kEmpty)  \
  X(RowId, parent, kNoRow) /* PythonCalls */
ORRERY_TABLE(PythonCalls, ORRERY_PYTHON_CALL_COLUMNS);

/// Instant events.
#define ORRERY_INSTANT_COLUMNS(X)         \
  X(std::int64_t, begin_ns, 0)            \
  X(StringId, name, StringId::kEmpty)     \
  X(StringId, category, StringId::kEmpty) \
  X(RowId, track, kNoRow)                 \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(Instants, ORRERY_INSTANT_COLUMNS);

/// Slices of categories that have no table: profiler overhead, profiler windows, unknown ones.
#define ORRERY_OTHER_SLICE_COLUMNS(X)     \
  X(std::int64_t, begin_ns, 0)            \
  X(std::int64_t, duration_ns, 0)         \
  X(StringId, name, StringId::kEmpty)     \
  X(StringId, category, StringId::kEmpty) \
  X(RowId, track, kNoRow)                 \
  X(StringId, extra, StringId::kEmpty)
ORRERY_TABLE(OtherSlices, ORRERY_OTHER_SLICE_COLUMNS);

/// Arrows of the file that have no link column (launch and forward-backward arrows become links).
#define ORRERY_FLOW_COLUMNS(X)            \
  X(std::int64_t, begin_ns, 0)            \
  X(RowId, begin_track, kNoRow)           \
  X(std::int64_t, end_ns, 0)              \
  X(RowId, end_track, kNoRow)             \
  X(StringId, category, StringId::kEmpty) \
  X(StringId, name, StringId::kEmpty)     \
  X(std::int64_t, id, 0)
ORRERY_TABLE(Flows, ORRERY_FLOW_COLUMNS);

/// Nodes of a PyTorch execution trace: operators without times, in order of `id` (start order).
/// Values, shapes, types and strides are JSON text.
#define ORRERY_GRAPH_NODE_COLUMNS(X)                                                              \
  X(std::int64_t, id, 0)                                                                          \
  X(StringId, name, StringId::kEmpty)                                                             \
  X(GraphNodeKind, kind, GraphNodeKind::kOperator)                                                \
  X(std::int64_t, record_function_id, 0)                                                          \
  X(std::int64_t, forward_parent, 0)                                                              \
  X(std::int64_t, sequence, -1)                                                                   \
  X(std::int32_t, scope, 0)                                                                       \
  X(std::int32_t, thread, 0)                                                                      \
  X(std::int32_t, forward_thread, 0)                                                              \
  X(StringId, op_schema, StringId::kEmpty)                                                        \
  X(StringId, input_values, StringId::kEmpty)                                                     \
  X(StringId, input_shapes, StringId::kEmpty)                                                     \
  X(StringId, input_types, StringId::kEmpty)                                                      \
  X(StringId, input_strides, StringId::kEmpty)                                                    \
  X(StringId, output_values, StringId::kEmpty)                                                    \
  X(StringId, output_shapes, StringId::kEmpty)                                                    \
  X(StringId, output_types, StringId::kEmpty)                                                     \
  X(StringId, output_strides, StringId::kEmpty)                                                   \
  X(StringId, attributes, StringId::kEmpty) /* those without a column, as JSON object fields */   \
  X(std::int64_t, begin_ns, -1)             /* execution traces merged with Kineto carry times */ \
  X(std::int64_t, duration_ns, -1)                                                                \
  X(RowId, parent, kNoRow) /* GraphNodes */                                                       \
  X(RowId, host_op, kNoRow)                                                                       \
  X(RowId, annotation, kNoRow)
ORRERY_TABLE(GraphNodes, ORRERY_GRAPH_NODE_COLUMNS);

/// Metadata of the file, key and value (strings as they are, all else as JSON text).
#define ORRERY_METADATA_COLUMNS(X)     \
  X(StringId, key, StringId::kEmpty)   \
  X(StringId, value, StringId::kEmpty) \
  X(std::uint8_t, is_json, 0)
ORRERY_TABLE(Metadata, ORRERY_METADATA_COLUMNS);

/// Memory objects and their lifetimes: allocations of the driver, segments and tensors of the
/// framework's allocator, static data. `begin_ns` is the birth, or the begin of the recording for
/// older objects (`birth_order` -1); `duration_ns` is -1 for objects never freed.
#define ORRERY_MEMORY_OBJECT_COLUMNS(X)                                       \
  X(std::int64_t, begin_ns, 0)                                                \
  X(std::int64_t, duration_ns, -1)                                            \
  X(std::int64_t, id, -1) /* the recorder's number */                         \
  X(std::uint64_t, address, 0)                                                \
  X(std::int64_t, bytes, 0)                                                   \
  X(std::int64_t, requested_bytes, -1) /* before the allocator rounded up */  \
  X(MemoryClass, memory_class, MemoryClass::kUnknown)                         \
  X(std::int32_t, device, -1)                                                 \
  X(std::int64_t, stream, -1)                                                 \
  X(std::int64_t, birth_order, -1)                                            \
  X(std::int64_t, death_order, -1)                                            \
  X(StringId, name, StringId::kEmpty)                                         \
  X(StringId, call_stack, StringId::kEmpty) /* frames, the innermost first */ \
  X(RowId, host_op, kNoRow)                 /* that allocated it */           \
  X(RowId, parent, kNoRow)                  /* MemoryObjects: what it lies in */
ORRERY_TABLE(MemoryObjects, ORRERY_MEMORY_OBJECT_COLUMNS);

/// The observation of each launch, memcpy and memset of a recording, in order. A launch that was
/// left out has its reason, and the probability with which such a launch is taken.
#define ORRERY_OBSERVATION_COLUMNS(X)     \
  X(RowId, activity, kNoRow)              \
  X(std::int64_t, order, 0)               \
  X(Coverage, coverage, Coverage::kExact) \
  X(StringId, reason, StringId::kEmpty)   \
  X(double, inclusion_probability, 1.0)   \
  X(StringId, call_stack, StringId::kEmpty)
ORRERY_TABLE(Observations, ORRERY_OBSERVATION_COLUMNS);

/// The accesses of one activity to one object: bytes issued (which exceed the object when data are
/// read again), 32-byte sectors, accesses of lanes and of warps. Without an object: addresses that
/// no object owns. Known only by argument or descriptor: all counts are -1, and [address, address +
/// extent_bytes) is what the activity can reach. Memcpys and memsets have their extent too,
/// which exceeds their bytes when rows have gaps.
#define ORRERY_TOUCH_COLUMNS(X)           \
  X(RowId, activity, kNoRow)              \
  X(RowId, object, kNoRow)                \
  X(Coverage, coverage, Coverage::kExact) \
  X(std::int64_t, read_bytes, -1)         \
  X(std::int64_t, write_bytes, -1)        \
  X(std::int64_t, atomic_bytes, -1)       \
  X(std::int64_t, sectors, -1)            \
  X(std::int64_t, lanes, -1)              \
  X(std::int64_t, warps, -1)              \
  X(std::uint64_t, address, 0)            \
  X(std::int64_t, extent_bytes, -1)
ORRERY_TABLE(Touches, ORRERY_TOUCH_COLUMNS);

/// Pages that an activity touched, neighbours with equal counts in one row. `address` is that of
/// the first page, `accesses` is for each page.
#define ORRERY_PAGE_RUN_COLUMNS(X) \
  X(RowId, activity, kNoRow)       \
  X(RowId, object, kNoRow)         \
  X(std::uint64_t, address, 0)     \
  X(std::int64_t, num_pages, 0)    \
  X(std::int64_t, page_bytes, 0)   \
  X(std::int64_t, accesses, -1)
ORRERY_TABLE(PageRuns, ORRERY_PAGE_RUN_COLUMNS);

/// Single accesses of warps, of activities that were recorded in full. Lane i is active if
/// `lane_mask` has bit i. It is at address + i * stride, or, if there is a `first_lane`, the k-th
/// active lane is at the address in row first_lane + k of AccessLanes.
#define ORRERY_ACCESS_COLUMNS(X)                               \
  X(RowId, activity, kNoRow)                                   \
  X(std::uint64_t, pc, 0) /* from the begin of the function */ \
  X(std::int64_t, block, 0)                                    \
  X(std::int64_t, warp, 0)                                     \
  X(std::uint64_t, lane_mask, 0)                               \
  X(std::int32_t, access_bytes, 0) /* of one lane */           \
  X(std::uint8_t, is_read, 0)                                  \
  X(std::uint8_t, is_write, 0)                                 \
  X(std::uint8_t, is_atomic, 0)                                \
  X(std::uint64_t, address, 0)                                 \
  X(std::int64_t, stride, 0)                                   \
  X(RowId, first_lane, kNoRow) /* AccessLanes */
ORRERY_TABLE(Accesses, ORRERY_ACCESS_COLUMNS);

/// Addresses of lanes that follow no rule.
#define ORRERY_ACCESS_LANE_COLUMNS(X) X(std::uint64_t, address, 0)
ORRERY_TABLE(AccessLanes, ORRERY_ACCESS_LANE_COLUMNS);

/// Coverage according to the recorder: what it patched, skipped, dropped and could not observe.
#define ORRERY_COVERAGE_COUNT_COLUMNS(X)      \
  X(CoverageKind, kind, CoverageKind::kOther) \
  X(StringId, name, StringId::kEmpty)         \
  X(std::int64_t, count, 0)                   \
  X(std::int32_t, device, -1)                 \
  X(RowId, activity, kNoRow)                  \
  X(std::uint64_t, address, 0) /* a sample */
ORRERY_TABLE(CoverageCounts, ORRERY_COVERAGE_COUNT_COLUMNS);

/// The overhead of the recording itself. The total is measured separately.
#define ORRERY_OVERHEAD_COLUMNS(X)               \
  X(OverheadPhase, phase, OverheadPhase::kTotal) \
  X(std::int64_t, total_ns, 0)                   \
  X(std::int64_t, count, 0)                      \
  X(std::int64_t, bytes, 0)                      \
  X(std::int32_t, device, -1)
ORRERY_TABLE(Overheads, ORRERY_OVERHEAD_COLUMNS);

}  // namespace orrery::trace
