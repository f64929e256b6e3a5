#pragma once

#include <cstdint>

// The codes in records. Stored by number: append at the end, never reorder. A
// reader takes numbers that it does not know for the "unknown" or "other" of their kind.

namespace orrery::stream::codes {

enum TimeOrigin : std::uint64_t { kUnknownOrigin = 0, kEpoch = 1, kRecordingStart = 2 };

enum StackLanguage : std::uint64_t { kPython = 0, kCpp = 1 };

/// The allocator of the memory.
enum Level : std::uint64_t { kDriver = 0, kSegment = 1, kTensor = 2 };

/// Bits of an allocation by the driver: several can be set at once.
enum AllocationFlag : std::uint64_t {
  kModuleFlag = 0x1,
  kManagedFlag = 0x2,
  kHostMappedFlag = 0x4,
  kPinnedFlag = 0x8,
  kPeerFlag = 0x10,
};

enum MemoryClass : std::uint64_t {
  kUnknownClass = 0,
  kDeviceClass = 1,
  kManagedClass = 2,
  kPinnedClass = 3,
  kSegmentClass = 4,
  kTensorClass = 5,
  kStaticClass = 6,
};

/// Phases of a free: the framework requests it, and it completes when the stream has passed.
enum FreePhase : std::uint64_t { kFreed = 0, kFreeRequested = 1, kFreeCompleted = 2 };

enum CopyKind : std::uint64_t {
  kUnknownCopy = 0,
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kHostToHost = 4,
  kPeerToPeer = 5,
};

/// The observation coverage of a launch, or of its use of an object. 0 at a touch: of its launch.
enum Coverage : std::uint64_t {
  kUnseen = 0,
  kExact = 1,
  kByArgument = 2,
  kByDescriptor = 3,
  kPartial = 4,
};

enum SyncKind : std::uint64_t {
  kUnknownSync = 0,
  kEventSync = 1,
  kStreamWaitEvent = 2,
  kStreamSync = 3,
  kContextSync = 4,
  kEventRecord = 5,
};

enum Api : std::uint64_t { kRuntimeApi = 0, kDriverApi = 1 };

enum ManagedAction : std::uint64_t {
  kPrefetch = 0,
  kAdvise = 1,
  kMigrationToDevice = 2,
  kMigrationToHost = 3,
  kDeviceFaults = 4,
  kHostFaults = 5,
  kThrashing = 6,
  kThrottling = 7,
  kRemoteMap = 8,
};

/// The encoding of the pages of a PageTouch.
enum PageForm : std::uint64_t {
  kBitmap = 0,  // bit i of byte i / 8: page first_page + i was touched
  kRuns = 1,    // numbers in pairs: pages to skip, pages touched
  kCounts = 2,  // number i: accesses to page first_page + i
};

enum AccessFlag : std::uint64_t { kRead = 1, kWrite = 2, kAtomic = 4 };

/// The encoding of the addresses of a warp's lanes.
enum AddressForm : std::uint64_t {
  kBroadcast = 0,  // all lanes at `address`
  kAffine = 1,     // lane i at address + i * stride
  kGeneral = 2,    // the k-th active lane at address + offset k
};

enum CoverageKind : std::uint64_t {
  kOtherCoverage = 0,
  kInstructionPatched = 1,  // named; count: modules
  kLaunchesSkipped = 2,     // the name says why
  kRecordsDropped = 3,      // the name says by whom
  kUnknownAddresses = 4,    // accesses that no object owns; address: a sample
  kInstructionsUnseen = 5,  // of launches that were instrumented: tensor-map loads and others
  kContextsNotCovered = 6,
  kGraphsNotCovered = 7,
  kLaunchesMerged = 8,  // counted with the launch of the same function before
  kRecordingEnded = 9,  // the last record of a recording that was not cut off
};

enum Phase : std::uint64_t {
  kExecution = 0,
  kCollection = 1,
  kTransfer = 2,
  kAnalysis = 3,
  kWaiting = 4,
  kTotal = 5,  // measured on its own, not the sum of the others
};

}  // namespace orrery::stream::codes
