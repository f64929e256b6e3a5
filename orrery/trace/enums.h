#pragma once

#include <cstdint>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"

namespace orrery::trace {

// Stored on disk by number: append at the end, never reorder.

enum class TrackKind : std::uint8_t { kHost, kDevice, kOther };

enum class ActivityKind : std::uint8_t {
  kKernel,
  kMemcpy,
  kMemset,
  kOther,  // device work of other accelerators, whole graphs
};

enum class CopyKind : std::uint8_t {
  kNone,
  kHostToDevice,
  kDeviceToHost,
  kHostToArray,
  kArrayToHost,
  kArrayToArray,
  kArrayToDevice,
  kDeviceToArray,
  kDeviceToDevice,
  kHostToHost,
  kPeerToPeer,
  kUnknown,
};

enum class ApiKind : std::uint8_t { kRuntime, kDriver, kOther };

enum class AnnotationKind : std::uint8_t { kHost, kDevice };

enum class SyncKind : std::uint8_t {
  kUnknown,
  kEvent,            // the host waits for an event
  kStreamWaitEvent,  // a stream waits for an event
  kStream,
  kContext,
  kEventRecord,  // not a wait: a stream passes an event
};

enum class DeviceKind : std::uint8_t { kCpu, kGpu, kOther };

enum class GraphNodeKind : std::uint8_t {
  kRoot,  // process and thread roots
  kOperator,
  kAnnotation,  // user scopes
  kDeviceWork,  // GPU rows inside execution traces that were merged with Kineto
};

enum class TimeOrigin : std::uint8_t {
  kUnknown,         // usable inside one file only
  kEpoch,           // nanoseconds since 1970-01-01 UTC
  kRecordingStart,  // nanoseconds since the recording began
};

enum class Severity : std::uint8_t {
  kNote,  // worth knowing; nothing is lost
  kLoss,  // something of the input is not in the trace
};

enum class MemoryClass : std::uint8_t {
  kUnknown,
  kDevice,
  kManaged,
  kPinned,
  kSegment,  // of the framework's allocator
  kTensor,
  kStatic,  // data of a module
};

/// The completeness with which the memory accesses of an activity were observed.
enum class Coverage : std::uint8_t {
  kExact,         // every access was counted
  kByArgument,    // an argument of the launch points there: an upper bound
  kByDescriptor,  // a tensor map among the arguments names it: an upper bound
  kPartial,       // some accesses were counted and some are known to be missing
  kUnseen,
};

enum class CoverageKind : std::uint8_t {
  kOther,
  kInstructionPatched,
  kLaunchesSkipped,
  kRecordsDropped,
  kUnknownAddresses,
  kInstructionsUnseen,
  kContextsNotCovered,
  kGraphsNotCovered,
  kLaunchesMerged,
};

enum class OverheadPhase : std::uint8_t {
  kExecution,
  kCollection,
  kTransfer,
  kAnalysis,
  kWaiting,
  kTotal,
};

}  // namespace orrery::trace
