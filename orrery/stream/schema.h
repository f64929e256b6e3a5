#pragma once

#include <cstdint>

#include "orrery/stream/event_records.h"
#include "orrery/stream/field.h"

// The records of a stream: the one source of their numbers and of the order of their fields, which
// docs/formats/orrs.md repeats and a test compares. Fields are added at the end of a record and
// kinds at the end of a chunk's list, and both then use no field relative to another record
// (kTime … kObject), so that older readers can step over them.

namespace orrery::stream {

// HDR. Its texts are written inline, so that it is readable even when all else is lost.

#define ORRERY_STREAM_PROCESS(X) \
  X(kText, producer)             \
  X(kText, host)                 \
  X(kUnsigned, process)          \
  X(kMaybe, rank)                \
  X(kMaybe, world_size)          \
  X(kUnsigned, time_origin)      \
  X(kText, driver)               \
  X(kText, toolkit)              \
  X(kText, framework)
ORRERY_STREAM_RECORD(Process, kHeader, 1, ORRERY_STREAM_PROCESS);

#define ORRERY_STREAM_DEVICE(X) \
  X(kUnsigned, device)          \
  X(kText, name)                \
  X(kText, uuid)                \
  X(kMaybe, memory_bytes)       \
  X(kMaybe, multiprocessors)    \
  X(kMaybe, compute_major)      \
  X(kMaybe, compute_minor)
ORRERY_STREAM_RECORD(Device, kHeader, 2, ORRERY_STREAM_DEVICE);

/// One moment on the clock of the host and on that of a device.
#define ORRERY_STREAM_CLOCK_PAIR(X) \
  X(kUnsigned, device)              \
  X(kTime, host_ns)                 \
  X(kSigned, device_ns)
ORRERY_STREAM_RECORD(ClockPair, kHeader, 3, ORRERY_STREAM_CLOCK_PAIR);

#define ORRERY_STREAM_SETTING(X) \
  X(kText, key)                  \
  X(kText, value)
ORRERY_STREAM_RECORD(Setting, kHeader, 4, ORRERY_STREAM_SETTING);

// STR, STK, MOD, FUN: what other records refer to by number. Number 0 is "none".

#define ORRERY_STREAM_STRING(X) \
  X(kUnsigned, id)              \
  X(kText, text)
ORRERY_STREAM_RECORD(String, kStrings, 1, ORRERY_STREAM_STRING);

/// Frames are strings, the innermost first.
#define ORRERY_STREAM_STACK(X) \
  X(kUnsigned, id)             \
  X(kUnsigned, language)       \
  X(kNumbers, frames)
ORRERY_STREAM_RECORD(Stack, kStacks, 1, ORRERY_STREAM_STACK);

#define ORRERY_STREAM_MODULE(X) \
  X(kUnsigned, id)              \
  X(kUnsigned, context)         \
  X(kText, hash)                \
  X(kUnsigned, name)            \
  X(kUnsigned, bytes)
ORRERY_STREAM_RECORD(Module, kModules, 1, ORRERY_STREAM_MODULE);

#define ORRERY_STREAM_FUNCTION(X) \
  X(kUnsigned, id)                \
  X(kUnsigned, module)            \
  X(kUnsigned, name)              \
  X(kUnsigned, bytes)             \
  X(kUnsigned, has_tensor_maps)
ORRERY_STREAM_RECORD(Function, kFunctions, 1, ORRERY_STREAM_FUNCTION);

#define ORRERY_STREAM_SOURCE_LINE(X) \
  X(kUnsigned, function)             \
  X(kUnsigned, pc)                   \
  X(kUnsigned, file)                 \
  X(kUnsigned, line)
ORRERY_STREAM_RECORD(SourceLine, kFunctions, 2, ORRERY_STREAM_SOURCE_LINE);

// OBJ: memory that existed before the recording, or that no call allocates (static data).

#define ORRERY_STREAM_OBJECT(X) \
  X(kObject, id)                \
  X(kAddress, address)          \
  X(kUnsigned, bytes)           \
  X(kUnsigned, memory_class)    \
  X(kMaybe, birth)              \
  X(kMaybe, death)              \
  X(kUnsigned, device)          \
  X(kUnsigned, stream)          \
  X(kUnsigned, stack)           \
  X(kUnsigned, name)
ORRERY_STREAM_RECORD(Object, kObjects, 1, ORRERY_STREAM_OBJECT);

// AGG. Object 0 counts what no object owns.

#define ORRERY_STREAM_TOUCH(X) \
  X(kReference, launch)        \
  X(kObject, object)           \
  X(kUnsigned, read_bytes)     \
  X(kUnsigned, write_bytes)    \
  X(kUnsigned, sectors)        \
  X(kUnsigned, lanes)          \
  X(kUnsigned, warps)          \
  X(kUnsigned, atomic_bytes)   \
  X(kUnsigned, coverage)
ORRERY_STREAM_RECORD(Touch, kTouches, 1, ORRERY_STREAM_TOUCH);

/// Pages are counted from address 0: page p begins at p * page_bytes.
#define ORRERY_STREAM_PAGE_TOUCH(X) \
  X(kReference, launch)             \
  X(kObject, object)                \
  X(kUnsigned, page_bytes)          \
  X(kUnsigned, first_page)          \
  X(kUnsigned, form)                \
  X(kText, bitmap)                  \
  X(kNumbers, numbers)
ORRERY_STREAM_RECORD(PageTouch, kTouches, 2, ORRERY_STREAM_PAGE_TOUCH);

// TMD. Strides and box are those of the tensor map, in bytes and elements.

#define ORRERY_STREAM_TENSOR_MAP(X) \
  X(kUnsigned, id)                  \
  X(kAddress, address)              \
  X(kUnsigned, element_bytes)       \
  X(kNumbers, shape)                \
  X(kNumbers, strides_bytes)        \
  X(kNumbers, box)                  \
  X(kText, key)
ORRERY_STREAM_RECORD(TensorMap, kTensorMaps, 1, ORRERY_STREAM_TENSOR_MAP);

#define ORRERY_STREAM_LAUNCH_MAP(X) \
  X(kReference, launch)             \
  X(kObject, object)                \
  X(kUnsigned, map)                 \
  X(kUnsigned, offset)
ORRERY_STREAM_RECORD(LaunchMap, kTensorMaps, 2, ORRERY_STREAM_LAUNCH_MAP);

#define ORRERY_STREAM_LAUNCH_ARGUMENT(X) \
  X(kReference, launch)                  \
  X(kObject, object)                     \
  X(kAddress, address)                   \
  X(kUnsigned, offset)
ORRERY_STREAM_RECORD(LaunchArgument, kTensorMaps, 3, ORRERY_STREAM_LAUNCH_ARGUMENT);

// TRC. Lanes are active unless `inactive_lanes` has their bit; an address says nothing of that.

#define ORRERY_STREAM_WARP_ACCESS(X) \
  X(kReference, launch)              \
  X(kAddress, address)               \
  X(kUnsigned, pc)                   \
  X(kUnsigned, block)                \
  X(kUnsigned, warp)                 \
  X(kUnsigned, access_bytes)         \
  X(kUnsigned, flags)                \
  X(kUnsigned, form)                 \
  X(kSigned, stride)                 \
  X(kUnsigned, inactive_lanes)       \
  X(kNumbers, offsets)
ORRERY_STREAM_RECORD(WarpAccess, kAccesses, 1, ORRERY_STREAM_WARP_ACCESS);

// COV and CAL.

/// `launch` 0: not of one launch.
#define ORRERY_STREAM_COVERAGE_COUNT(X) \
  X(kUnsigned, kind)                    \
  X(kText, name)                        \
  X(kUnsigned, count)                   \
  X(kMaybe, device)                     \
  X(kReference, launch)                 \
  X(kAddress, address)
ORRERY_STREAM_RECORD(CoverageCount, kCoverage, 1, ORRERY_STREAM_COVERAGE_COUNT);

#define ORRERY_STREAM_OVERHEAD(X) \
  X(kUnsigned, phase)             \
  X(kUnsigned, total_ns)          \
  X(kUnsigned, count)             \
  X(kUnsigned, bytes)             \
  X(kMaybe, device)
ORRERY_STREAM_RECORD(Overhead, kCalibration, 1, ORRERY_STREAM_OVERHEAD);

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
