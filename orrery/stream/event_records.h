#pragma once

#include <cstdint>

#include "orrery/stream/field.h"

// The events in order: the records of EVT chunks. See schema.h for the rules of change.

namespace orrery::stream {

// EVT. Every event begins with its number in the process, its time and its thread, also kinds that
// later versions add.

#define ORRERY_STREAM_EVENT(X) \
  X(kSequence, sequence)       \
  X(kTime, time_ns)            \
  X(kUnsigned, thread)

#define ORRERY_STREAM_CONTEXT_CHANGE(X) \
  ORRERY_STREAM_EVENT(X)                \
  X(kUnsigned, context)                 \
  X(kUnsigned, device)                  \
  X(kUnsigned, is_end)
ORRERY_STREAM_RECORD(ContextChange, kEvents, 1, ORRERY_STREAM_CONTEXT_CHANGE);

#define ORRERY_STREAM_STREAM_CHANGE(X) \
  ORRERY_STREAM_EVENT(X)               \
  X(kUnsigned, context)                \
  X(kUnsigned, device)                 \
  X(kUnsigned, stream)                 \
  X(kUnsigned, is_end)
ORRERY_STREAM_RECORD(StreamChange, kEvents, 2, ORRERY_STREAM_STREAM_CHANGE);

#define ORRERY_STREAM_ALLOCATION(X) \
  ORRERY_STREAM_EVENT(X)            \
  X(kObject, object)                \
  X(kAddress, address)              \
  X(kUnsigned, bytes)               \
  X(kUnsigned, level)               \
  X(kUnsigned, flags)               \
  X(kUnsigned, device)              \
  X(kUnsigned, context)             \
  X(kUnsigned, stream)              \
  X(kUnsigned, stack)               \
  X(kUnsigned, pool)                \
  X(kMaybe, requested_bytes)        \
  X(kMaybe, total_allocated_bytes)  \
  X(kMaybe, total_reserved_bytes)
ORRERY_STREAM_RECORD(Allocation, kEvents, 3, ORRERY_STREAM_ALLOCATION);

/// Object 0: the recorder does not know which; the address is all there is.
#define ORRERY_STREAM_FREE(X)      \
  ORRERY_STREAM_EVENT(X)           \
  X(kObject, object)               \
  X(kAddress, address)             \
  X(kUnsigned, level)              \
  X(kUnsigned, phase)              \
  X(kUnsigned, device)             \
  X(kUnsigned, stream)             \
  X(kUnsigned, stack)              \
  X(kMaybe, total_allocated_bytes) \
  X(kMaybe, total_reserved_bytes)
ORRERY_STREAM_RECORD(Free, kEvents, 4, ORRERY_STREAM_FREE);

/// `height` and `depth` 0 mean 1; a pitch of 0 means rows without gaps.
#define ORRERY_STREAM_COPY(X) \
  ORRERY_STREAM_EVENT(X)      \
  X(kAddress, source)         \
  X(kAddress, destination)    \
  X(kUnsigned, width_bytes)   \
  X(kUnsigned, kind)          \
  X(kUnsigned, device)        \
  X(kUnsigned, context)       \
  X(kUnsigned, stream)        \
  X(kUnsigned, correlation)   \
  X(kUnsigned, is_async)      \
  X(kMaybe, duration_ns)      \
  X(kUnsigned, height)        \
  X(kUnsigned, depth)         \
  X(kUnsigned, source_pitch)  \
  X(kUnsigned, destination_pitch)
ORRERY_STREAM_RECORD(Copy, kEvents, 5, ORRERY_STREAM_COPY);

#define ORRERY_STREAM_SET(X) \
  ORRERY_STREAM_EVENT(X)     \
  X(kAddress, address)       \
  X(kUnsigned, width_bytes)  \
  X(kUnsigned, device)       \
  X(kUnsigned, context)      \
  X(kUnsigned, stream)       \
  X(kUnsigned, correlation)  \
  X(kUnsigned, is_async)     \
  X(kMaybe, duration_ns)     \
  X(kUnsigned, height)       \
  X(kUnsigned, pitch)        \
  X(kUnsigned, value)
ORRERY_STREAM_RECORD(Set, kEvents, 6, ORRERY_STREAM_SET);

/// A launch that was left out is written too: `coverage` is 0 (unseen), `reason` a string, and
/// `inclusion_ppb` the probability with which such a launch is taken, in parts of 10^9.
#define ORRERY_STREAM_LAUNCH(X) \
  ORRERY_STREAM_EVENT(X)        \
  X(kUnsigned, function)        \
  X(kUnsigned, device)          \
  X(kUnsigned, context)         \
  X(kUnsigned, stream)          \
  X(kUnsigned, correlation)     \
  X(kUnsigned, grid_x)          \
  X(kUnsigned, grid_y)          \
  X(kUnsigned, grid_z)          \
  X(kUnsigned, block_x)         \
  X(kUnsigned, block_y)         \
  X(kUnsigned, block_z)         \
  X(kUnsigned, coverage)        \
  X(kMaybe, duration_ns)        \
  X(kUnsigned, shared_bytes)    \
  X(kUnsigned, registers)       \
  X(kUnsigned, stack)           \
  X(kUnsigned, reason)          \
  X(kMaybe, inclusion_ppb)      \
  X(kUnsigned, graph)           \
  X(kUnsigned, graph_node)      \
  X(kUnsigned, cluster_x)       \
  X(kUnsigned, cluster_y)       \
  X(kUnsigned, cluster_z)
ORRERY_STREAM_RECORD(Launch, kEvents, 7, ORRERY_STREAM_LAUNCH);

/// The host has handed the launch over; `coverage`, unless 0, is what is known of it by then.
#define ORRERY_STREAM_LAUNCH_END(X) \
  ORRERY_STREAM_EVENT(X)            \
  X(kReference, launch)             \
  X(kUnsigned, result)              \
  X(kUnsigned, coverage)
ORRERY_STREAM_RECORD(LaunchEnd, kEvents, 8, ORRERY_STREAM_LAUNCH_END);

/// When a launch, copy or set ran on its device, if that becomes known later; `time_ns` is its
/// begin.
#define ORRERY_STREAM_DEVICE_TIME(X) \
  ORRERY_STREAM_EVENT(X)             \
  X(kReference, work)                \
  X(kMaybe, duration_ns)
ORRERY_STREAM_RECORD(DeviceTime, kEvents, 9, ORRERY_STREAM_DEVICE_TIME);

#define ORRERY_STREAM_SYNCHRONIZATION(X) \
  ORRERY_STREAM_EVENT(X)                 \
  X(kUnsigned, kind)                     \
  X(kUnsigned, device)                   \
  X(kUnsigned, context)                  \
  X(kUnsigned, stream)                   \
  X(kUnsigned, event)                    \
  X(kUnsigned, correlation)              \
  X(kMaybe, duration_ns)
ORRERY_STREAM_RECORD(Synchronization, kEvents, 10, ORRERY_STREAM_SYNCHRONIZATION);

#define ORRERY_STREAM_OPERATOR_BEGIN(X) \
  ORRERY_STREAM_EVENT(X)                \
  X(kUnsigned, name)                    \
  X(kMaybe, sequence_number)            \
  X(kUnsigned, scope)                   \
  X(kUnsigned, forward_thread)          \
  X(kUnsigned, input_shapes)            \
  X(kUnsigned, stack)
ORRERY_STREAM_RECORD(OperatorBegin, kEvents, 11, ORRERY_STREAM_OPERATOR_BEGIN);

#define ORRERY_STREAM_OPERATOR_END(X) \
  ORRERY_STREAM_EVENT(X)              \
  X(kReference, begin)
ORRERY_STREAM_RECORD(OperatorEnd, kEvents, 12, ORRERY_STREAM_OPERATOR_END);

#define ORRERY_STREAM_REGION_BEGIN(X) \
  ORRERY_STREAM_EVENT(X)              \
  X(kUnsigned, name)
ORRERY_STREAM_RECORD(RegionBegin, kEvents, 13, ORRERY_STREAM_REGION_BEGIN);

#define ORRERY_STREAM_REGION_END(X) \
  ORRERY_STREAM_EVENT(X)            \
  X(kReference, begin)
ORRERY_STREAM_RECORD(RegionEnd, kEvents, 14, ORRERY_STREAM_REGION_END);

/// A step begins and lasts until the next one.
#define ORRERY_STREAM_STEP(X) \
  ORRERY_STREAM_EVENT(X)      \
  X(kUnsigned, number)
ORRERY_STREAM_RECORD(Step, kEvents, 15, ORRERY_STREAM_STEP);

#define ORRERY_STREAM_MANAGED_MEMORY(X) \
  ORRERY_STREAM_EVENT(X)                \
  X(kUnsigned, action)                  \
  X(kAddress, address)                  \
  X(kUnsigned, bytes)                   \
  X(kUnsigned, device)                  \
  X(kUnsigned, stream)                  \
  X(kUnsigned, count)                   \
  X(kMaybe, duration_ns)
ORRERY_STREAM_RECORD(ManagedMemory, kEvents, 16, ORRERY_STREAM_MANAGED_MEMORY);

#define ORRERY_STREAM_OUT_OF_MEMORY(X) \
  ORRERY_STREAM_EVENT(X)               \
  X(kUnsigned, bytes)                  \
  X(kUnsigned, device)                 \
  X(kMaybe, free_bytes)
ORRERY_STREAM_RECORD(OutOfMemory, kEvents, 17, ORRERY_STREAM_OUT_OF_MEMORY);

#define ORRERY_STREAM_GRAPH_LAUNCH(X) \
  ORRERY_STREAM_EVENT(X)              \
  X(kUnsigned, graph)                 \
  X(kUnsigned, device)                \
  X(kUnsigned, context)               \
  X(kUnsigned, stream)                \
  X(kUnsigned, correlation)           \
  X(kUnsigned, num_nodes)             \
  X(kMaybe, duration_ns)
ORRERY_STREAM_RECORD(GraphLaunch, kEvents, 18, ORRERY_STREAM_GRAPH_LAUNCH);

#define ORRERY_STREAM_API_CALL(X) \
  ORRERY_STREAM_EVENT(X)          \
  X(kUnsigned, name)              \
  X(kUnsigned, api)               \
  X(kUnsigned, correlation)       \
  X(kMaybe, duration_ns)          \
  X(kSigned, result)
ORRERY_STREAM_RECORD(ApiCall, kEvents, 19, ORRERY_STREAM_API_CALL);

}  // namespace orrery::stream
