#pragma once

#include <cstdint>

#include "orrery/stream/field.h"

// The records of a stream: the one source of their numbers and of the order of their fields, which
// docs/formats/orrs.md repeats and a test compares. Fields are added at the end of a record and
// kinds at the end of a chunk's list, and both then use no field relative to another record
// (kTime … kObject), so that older readers can step over them.

namespace orrery::stream {

// EVT. Every event begins with its number in the process, its time and its thread, also kinds that
// later versions add.

#define ORRERY_STREAM_EVENT (kSequence, sequence), (kTime, time_ns), (kUnsigned, thread)

ORRERY_STREAM_RECORD(ContextChange, kEvents, 1, ORRERY_STREAM_EVENT, (kUnsigned, context),
                     (kUnsigned, device), (kUnsigned, is_end));

ORRERY_STREAM_RECORD(StreamChange, kEvents, 2, ORRERY_STREAM_EVENT, (kUnsigned, context),
                     (kUnsigned, device), (kUnsigned, stream), (kUnsigned, is_end));

ORRERY_STREAM_RECORD(Allocation, kEvents, 3, ORRERY_STREAM_EVENT, (kObject, object),
                     (kAddress, address), (kUnsigned, bytes), (kUnsigned, level),
                     (kUnsigned, flags), (kUnsigned, device), (kUnsigned, context),
                     (kUnsigned, stream), (kUnsigned, stack), (kUnsigned, pool),
                     (kMaybe, requested_bytes), (kMaybe, total_allocated_bytes),
                     (kMaybe, total_reserved_bytes));

/// Object 0: the recorder does not know which; the address is all there is.
ORRERY_STREAM_RECORD(Free, kEvents, 4, ORRERY_STREAM_EVENT, (kObject, object), (kAddress, address),
                     (kUnsigned, level), (kUnsigned, phase), (kUnsigned, device),
                     (kUnsigned, stream), (kUnsigned, stack), (kMaybe, total_allocated_bytes),
                     (kMaybe, total_reserved_bytes));

/// `height` and `depth` 0 mean 1; a pitch of 0 means rows without gaps.
ORRERY_STREAM_RECORD(Copy, kEvents, 5, ORRERY_STREAM_EVENT, (kAddress, source),
                     (kAddress, destination), (kUnsigned, width_bytes), (kUnsigned, kind),
                     (kUnsigned, device), (kUnsigned, context), (kUnsigned, stream),
                     (kUnsigned, correlation), (kUnsigned, is_async), (kMaybe, duration_ns),
                     (kUnsigned, height), (kUnsigned, depth), (kUnsigned, source_pitch),
                     (kUnsigned, destination_pitch));

ORRERY_STREAM_RECORD(Set, kEvents, 6, ORRERY_STREAM_EVENT, (kAddress, address),
                     (kUnsigned, width_bytes), (kUnsigned, device), (kUnsigned, context),
                     (kUnsigned, stream), (kUnsigned, correlation), (kUnsigned, is_async),
                     (kMaybe, duration_ns), (kUnsigned, height), (kUnsigned, pitch),
                     (kUnsigned, value));

/// A launch that was left out is written too: `coverage` is 0 (unseen), `reason` a string, and
/// `inclusion_ppb` the probability with which such a launch is taken, in parts of 10^9.
ORRERY_STREAM_RECORD(Launch, kEvents, 7, ORRERY_STREAM_EVENT, (kUnsigned, function),
                     (kUnsigned, device), (kUnsigned, context), (kUnsigned, stream),
                     (kUnsigned, correlation), (kUnsigned, grid_x), (kUnsigned, grid_y),
                     (kUnsigned, grid_z), (kUnsigned, block_x), (kUnsigned, block_y),
                     (kUnsigned, block_z), (kUnsigned, coverage), (kMaybe, duration_ns),
                     (kUnsigned, shared_bytes), (kUnsigned, registers), (kUnsigned, stack),
                     (kUnsigned, reason), (kMaybe, inclusion_ppb), (kUnsigned, graph),
                     (kUnsigned, graph_node), (kUnsigned, cluster_x), (kUnsigned, cluster_y),
                     (kUnsigned, cluster_z));

/// The host has handed the launch over; `coverage`, unless 0, is what is known of it by then.
ORRERY_STREAM_RECORD(LaunchEnd, kEvents, 8, ORRERY_STREAM_EVENT, (kReference, launch),
                     (kUnsigned, result), (kUnsigned, coverage));

/// When a launch, copy or set ran on its device, if that becomes known later; `time_ns` is its
/// begin.
ORRERY_STREAM_RECORD(DeviceTime, kEvents, 9, ORRERY_STREAM_EVENT, (kReference, work),
                     (kMaybe, duration_ns));

ORRERY_STREAM_RECORD(Synchronization, kEvents, 10, ORRERY_STREAM_EVENT, (kUnsigned, kind),
                     (kUnsigned, device), (kUnsigned, context), (kUnsigned, stream),
                     (kUnsigned, event), (kUnsigned, correlation), (kMaybe, duration_ns));

ORRERY_STREAM_RECORD(OperatorBegin, kEvents, 11, ORRERY_STREAM_EVENT, (kUnsigned, name),
                     (kMaybe, sequence_number), (kUnsigned, scope), (kUnsigned, forward_thread),
                     (kUnsigned, input_shapes), (kUnsigned, stack));

ORRERY_STREAM_RECORD(OperatorEnd, kEvents, 12, ORRERY_STREAM_EVENT, (kReference, begin));

ORRERY_STREAM_RECORD(RegionBegin, kEvents, 13, ORRERY_STREAM_EVENT, (kUnsigned, name));

ORRERY_STREAM_RECORD(RegionEnd, kEvents, 14, ORRERY_STREAM_EVENT, (kReference, begin));

/// A step begins and lasts until the next one.
ORRERY_STREAM_RECORD(Step, kEvents, 15, ORRERY_STREAM_EVENT, (kUnsigned, number));

ORRERY_STREAM_RECORD(ManagedMemory, kEvents, 16, ORRERY_STREAM_EVENT, (kUnsigned, action),
                     (kAddress, address), (kUnsigned, bytes), (kUnsigned, device),
                     (kUnsigned, stream), (kUnsigned, count), (kMaybe, duration_ns));

ORRERY_STREAM_RECORD(OutOfMemory, kEvents, 17, ORRERY_STREAM_EVENT, (kUnsigned, bytes),
                     (kUnsigned, device), (kMaybe, free_bytes));

ORRERY_STREAM_RECORD(GraphLaunch, kEvents, 18, ORRERY_STREAM_EVENT, (kUnsigned, graph),
                     (kUnsigned, device), (kUnsigned, context), (kUnsigned, stream),
                     (kUnsigned, correlation), (kUnsigned, num_nodes), (kMaybe, duration_ns));

ORRERY_STREAM_RECORD(ApiCall, kEvents, 19, ORRERY_STREAM_EVENT, (kUnsigned, name), (kUnsigned, api),
                     (kUnsigned, correlation), (kMaybe, duration_ns), (kSigned, result));

// HDR. Its texts are written inline, so that it is readable even when all else is lost.

ORRERY_STREAM_RECORD(Process, kHeader, 1, (kText, producer), (kText, host), (kUnsigned, process),
                     (kMaybe, rank), (kMaybe, world_size), (kUnsigned, time_origin),
                     (kText, driver), (kText, toolkit), (kText, framework));

ORRERY_STREAM_RECORD(Device, kHeader, 2, (kUnsigned, device), (kText, name), (kText, uuid),
                     (kMaybe, memory_bytes), (kMaybe, multiprocessors), (kMaybe, compute_major),
                     (kMaybe, compute_minor));

/// One moment on the clock of the host and on that of a device.
ORRERY_STREAM_RECORD(ClockPair, kHeader, 3, (kUnsigned, device), (kTime, host_ns),
                     (kSigned, device_ns));

ORRERY_STREAM_RECORD(Setting, kHeader, 4, (kText, key), (kText, value));

// STR, STK, MOD, FUN: what other records refer to by number. Number 0 is "none".

ORRERY_STREAM_RECORD(String, kStrings, 1, (kUnsigned, id), (kText, text));

/// Frames are strings, the innermost first.
ORRERY_STREAM_RECORD(Stack, kStacks, 1, (kUnsigned, id), (kUnsigned, language), (kNumbers, frames));

ORRERY_STREAM_RECORD(Module, kModules, 1, (kUnsigned, id), (kUnsigned, context), (kText, hash),
                     (kUnsigned, name), (kUnsigned, bytes));

ORRERY_STREAM_RECORD(Function, kFunctions, 1, (kUnsigned, id), (kUnsigned, module),
                     (kUnsigned, name), (kUnsigned, bytes), (kUnsigned, has_tensor_maps));

ORRERY_STREAM_RECORD(SourceLine, kFunctions, 2, (kUnsigned, function), (kUnsigned, pc),
                     (kUnsigned, file), (kUnsigned, line));

// OBJ: memory that existed before the recording, or that no call allocates (static data).

ORRERY_STREAM_RECORD(Object, kObjects, 1, (kObject, id), (kAddress, address), (kUnsigned, bytes),
                     (kUnsigned, memory_class), (kMaybe, birth), (kMaybe, death),
                     (kUnsigned, device), (kUnsigned, stream), (kUnsigned, stack),
                     (kUnsigned, name));

// AGG. Object 0 counts what no object owns.

ORRERY_STREAM_RECORD(Touch, kTouches, 1, (kReference, launch), (kObject, object),
                     (kUnsigned, read_bytes), (kUnsigned, write_bytes), (kUnsigned, sectors),
                     (kUnsigned, lanes), (kUnsigned, warps), (kUnsigned, atomic_bytes),
                     (kUnsigned, coverage));

/// Pages are counted from address 0: page p begins at p * page_bytes.
ORRERY_STREAM_RECORD(PageTouch, kTouches, 2, (kReference, launch), (kObject, object),
                     (kUnsigned, page_bytes), (kUnsigned, first_page), (kUnsigned, form),
                     (kText, bitmap), (kNumbers, numbers));

// TMD. Strides and box are those of the tensor map, in bytes and elements.

ORRERY_STREAM_RECORD(TensorMap, kTensorMaps, 1, (kUnsigned, id), (kAddress, address),
                     (kUnsigned, element_bytes), (kNumbers, shape), (kNumbers, strides_bytes),
                     (kNumbers, box), (kText, key));

ORRERY_STREAM_RECORD(LaunchMap, kTensorMaps, 2, (kReference, launch), (kObject, object),
                     (kUnsigned, map), (kUnsigned, offset));

ORRERY_STREAM_RECORD(LaunchArgument, kTensorMaps, 3, (kReference, launch), (kObject, object),
                     (kAddress, address), (kUnsigned, offset));

// TRC. Lanes are active unless `inactive_lanes` has their bit; an address says nothing of that.

ORRERY_STREAM_RECORD(WarpAccess, kAccesses, 1, (kReference, launch), (kAddress, address),
                     (kUnsigned, pc), (kUnsigned, block), (kUnsigned, warp),
                     (kUnsigned, access_bytes), (kUnsigned, flags), (kUnsigned, form),
                     (kSigned, stride), (kUnsigned, inactive_lanes), (kNumbers, offsets));

// COV and CAL.

/// `launch` 0: not of one launch.
ORRERY_STREAM_RECORD(CoverageCount, kCoverage, 1, (kUnsigned, kind), (kText, name),
                     (kUnsigned, count), (kMaybe, device), (kReference, launch),
                     (kAddress, address));

ORRERY_STREAM_RECORD(Overhead, kCalibration, 1, (kUnsigned, phase), (kUnsigned, total_ns),
                     (kUnsigned, count), (kUnsigned, bytes), (kMaybe, device));

template <typename... Records>
struct RecordList {};

/// All records, chunk after chunk.
using AllRecords =
    RecordList<Process, Device, ClockPair, Setting, String, Stack, Module, Function, SourceLine,
               ContextChange, StreamChange, Allocation, Free, Copy, Set, Launch, LaunchEnd,
               DeviceTime, Synchronization, OperatorBegin, OperatorEnd, RegionBegin, RegionEnd,
               Step, ManagedMemory, OutOfMemory, GraphLaunch, ApiCall, Object, Touch, PageTouch,
               TensorMap, LaunchMap, LaunchArgument, WarpAccess, CoverageCount, Overhead>;

/// Calls `visit.operator()<Record>()` for each record of AllRecords.
template <typename Visit>
void ForEachRecordType(Visit&& visit) {
  [&]<typename... Records>(RecordList<Records...>) {
    (visit.template operator()<Records>(), ...);
  }(AllRecords());
}

}  // namespace orrery::stream
