#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include "orrery/stream/format.h"

// The records of a stream: the one source of their numbers and of the order of their fields, which
// docs/formats/orrs.md repeats and a test compares. Fields are added at the end of a record and
// kinds at the end of a chunk's list, and both then use no field relative to another record
// (kTime … kObject), so that older readers can step over them.

namespace orrery::stream {

/// How a field is written.
enum class Encoding : std::uint8_t {
  kUnsigned,   // varint
  kSigned,     // zig-zag varint
  kMaybe,      // varint of the value plus one; -1: not known
  kText,       // length as varint, bytes
  kNumbers,    // count as varint, varints
  kTime,       // zig-zag difference to the time before it in the chunk, nanoseconds
  kAddress,    // the same for addresses
  kSequence,   // the same for the record's own number; begins at the chunk's first
  kReference,  // the same for the number of another event
  kObject,     // the same for numbers of objects
};

inline constexpr Encoding kFirstRelative = Encoding::kTime;
inline constexpr std::size_t kNumRegisters = 5;

namespace schema {

template <Encoding encoding>
struct Value {
  using Type = std::uint64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kSigned> {
  using Type = std::int64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kTime> {
  using Type = std::int64_t;
  static constexpr Type kDefault = 0;
};

template <>
struct Value<Encoding::kMaybe> {
  using Type = std::int64_t;
  static constexpr Type kDefault = -1;
};

template <>
struct Value<Encoding::kText> {
  using Type = std::string_view;
  static constexpr Type kDefault = {};
};

template <>
struct Value<Encoding::kNumbers> {
  using Type = std::span<const std::uint64_t>;
  static constexpr Type kDefault = {};
};

/// A field of a record: its name, how it is written, and where it lives.
template <Encoding encoding_, typename Record>
struct Field {
  static constexpr Encoding encoding = encoding_;
  const char* name;
  typename Value<encoding_>::Type Record::* member;
};

}  // namespace schema

#define ORRERY_STREAM_MEMBER(encoding, name) \
  schema::Value<Encoding::encoding>::Type name = schema::Value<Encoding::encoding>::kDefault;
#define ORRERY_STREAM_FIELD(encoding, name) \
  std::tuple(schema::Field<Encoding::encoding, Self>{#name, &Self::name}),

/// Defines a record: the chunk it is in, its number there, and its fields in order.
#define ORRERY_STREAM_RECORD(Record, chunk_type, number, FIELDS)         \
  struct Record {                                                        \
    static constexpr ChunkType kChunk = ChunkType::chunk_type;           \
    static constexpr std::uint64_t kKind = number;                       \
    static constexpr const char* kName = #Record;                        \
    FIELDS(ORRERY_STREAM_MEMBER)                                         \
    static constexpr auto Fields() {                                     \
      using Self = Record;                                               \
      return std::tuple_cat(FIELDS(ORRERY_STREAM_FIELD) std::tuple<>()); \
    }                                                                    \
  }

// HDR. Its texts are written out, so that it says who recorded even when all else is lost.

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

// STR, STK, MOD, FUN: what other records name by number. Number 0 is "none".

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

// OBJ: memory that was there before the recording, or that no call allocates (static data).

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

/// All records, chunk after chunk.
using AllRecords =
    std::tuple<Process, Device, ClockPair, Setting, String, Stack, Module, Function, SourceLine,
               ContextChange, StreamChange, Allocation, Free, Copy, Set, Launch, LaunchEnd,
               DeviceTime, Synchronization, OperatorBegin, OperatorEnd, RegionBegin, RegionEnd,
               Step, ManagedMemory, OutOfMemory, GraphLaunch, ApiCall, Object, Touch, PageTouch,
               TensorMap, LaunchMap, LaunchArgument, WarpAccess, CoverageCount, Overhead>;

/// Calls `visit.operator()<Record>()` for each record of AllRecords.
template <typename Visit>
void ForEachRecordType(Visit&& visit) {
  [&]<typename... Records>(std::tuple<Records...>*) {
    (visit.template operator()<Records>(), ...);
  }(static_cast<AllRecords*>(nullptr));
}

}  // namespace orrery::stream
