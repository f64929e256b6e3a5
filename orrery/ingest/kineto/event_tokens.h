#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::ingest::kineto {

/// The arguments of events that have a column, or help to find one, with their current spelling.
#define ORRERY_ARG_KEYS(X)                                   \
  X(kExternalId, "External id")                              \
  X(kRecordFunctionId, "Record function id")                 \
  X(kEventIndex, "Ev Idx")                                   \
  X(kSequenceNumber, "Sequence number")                      \
  X(kForwardThread, "Fwd thread id")                         \
  X(kInputDims, "Input Dims")                                \
  X(kInputType, "Input type")                                \
  X(kInputStrides, "Input Strides")                          \
  X(kConcreteInputs, "Concrete Inputs")                      \
  X(kCallStack, "Call stack")                                \
  X(kModuleHierarchy, "Module Hierarchy")                    \
  X(kPythonId, "Python id")                                  \
  X(kPythonParentId, "Python parent id")                     \
  X(kPythonModuleId, "Python module id")                     \
  X(kCallbackId, "cbid")                                     \
  X(kCorrelation, "correlation")                             \
  X(kDevice, "device")                                       \
  X(kInDevice, "inDevice")                                   \
  X(kStream, "stream")                                       \
  X(kRegisters, "registers per thread")                      \
  X(kSharedMemory, "shared memory")                          \
  X(kGrid, "grid")                                           \
  X(kBlock, "block")                                         \
  X(kOccupancy, "est. achieved occupancy %")                 \
  X(kBytes, "bytes")                                         \
  X(kGraphNode, "graph node id")                             \
  X(kBandwidth, "memory bandwidth (GB/s)")                   \
  X(kWaitOnStream, "wait_on_stream")                         \
  X(kRecordCorrelation, "wait_on_cuda_event_record_corr_id") \
  X(kWaitOnEvent, "wait_on_cuda_event_id")                   \
  X(kEventId, "event_id")                                    \
  X(kDeviceType, "Device Type")                              \
  X(kDeviceId, "Device Id")                                  \
  X(kAddress, "Addr")                                        \
  X(kMemoryBytes, "Bytes")                                   \
  X(kTotalAllocated, "Total Allocated")                      \
  X(kTotalReserved, "Total Reserved")                        \
  X(kCollectiveName, "Collective name")                      \
  X(kDataType, "dtype")                                      \
  X(kInElements, "In msg nelems")                            \
  X(kOutElements, "Out msg nelems")                          \
  X(kInMessageBytes, "In msg bytes")                         \
  X(kOutMessageBytes, "Out msg bytes")                       \
  X(kCollectiveKind, "Collective kind")                      \
  X(kInSplits, "In split size")                              \
  X(kOutSplits, "Out split size")                            \
  X(kRankStart, "Global rank start")                         \
  X(kRankStride, "Global rank stride")                       \
  X(kGroupSize, "Group size")                                \
  X(kGroupName, "Process Group Name")                        \
  X(kGroupDescription, "Process Group Description")          \
  X(kGroupRanks, "Process Group Ranks")                      \
  X(kCommunicator, "Communicator")                           \
  X(kRank, "Rank")                                           \
  X(kDestinationRank, "Dst Rank")                            \
  X(kSourceRank, "Src Rank")                                 \
  X(kGroupSequence, "Seq")                                   \
  X(kCommsId, "Comms Id")                                    \
  X(kIsAsync, "Is asynchronized op")                         \
  X(kMetadataName, "name")                                   \
  X(kMetadataLabels, "labels")                               \
  X(kMetadataSortIndex, "sort_index")

enum class ArgKey : std::uint8_t {
#define ORRERY_ARG_KEY(key, name) key,
  ORRERY_ARG_KEYS(ORRERY_ARG_KEY)
#undef ORRERY_ARG_KEY
      kNone,
};

inline constexpr std::size_t kNumArgKeys = static_cast<std::size_t>(ArgKey::kNone);
static_assert(kNumArgKeys <= 64, "the set of present arguments is one word");

/// Keys as the bits of one word.
[[nodiscard]] constexpr std::uint64_t ArgKeySet(std::initializer_list<ArgKey> keys) {
  std::uint64_t set = 0;
  for (const ArgKey key : keys) {
    set |= std::uint64_t{1} << static_cast<unsigned>(key);
  }
  return set;
}

/// Arguments of operators and kernels that describe their collective.
inline constexpr std::uint64_t kCollectiveKeys =
    ArgKeySet({ArgKey::kCollectiveName, ArgKey::kDataType,       ArgKey::kInElements,
               ArgKey::kOutElements,    ArgKey::kInMessageBytes, ArgKey::kOutMessageBytes,
               ArgKey::kCollectiveKind, ArgKey::kCommunicator,   ArgKey::kInSplits,
               ArgKey::kOutSplits,      ArgKey::kRankStart,      ArgKey::kRankStride,
               ArgKey::kGroupSize,      ArgKey::kGroupName,      ArgKey::kGroupDescription,
               ArgKey::kGroupRanks,     ArgKey::kRank,           ArgKey::kDestinationRank,
               ArgKey::kSourceRank,     ArgKey::kGroupSequence,  ArgKey::kCommsId,
               ArgKey::kIsAsync});

/// Returns the key of an argument's name, or kNone.
[[nodiscard]] ArgKey FindArgKey(std::string_view name);

/// Returns the current spelling of an argument's name.
[[nodiscard]] std::string_view ArgKeyName(ArgKey key);

/// One event of the file as the text of its values: numbers as they stand, strings with their
/// quotes, arrays and objects whole. Absent fields are empty.
struct EventTokens {
  std::string_view phase;
  std::string_view category;
  std::string_view name;
  std::string_view process;
  std::string_view thread;
  std::string_view time;
  std::string_view duration;
  std::string_view id;
  bool args_are_not_an_object = false;

  std::uint64_t present = 0;
  std::array<std::string_view, kNumArgKeys> args;
  std::string extra;  // all other arguments, as fields of a JSON object

  [[nodiscard]] bool Has(ArgKey key) const {
    return (present >> static_cast<unsigned>(key) & 1U) != 0;
  }

  /// The text of an argument, empty when absent.
  [[nodiscard]] std::string_view Arg(ArgKey key) const {
    return Has(key) ? args[static_cast<std::size_t>(key)] : std::string_view();
  }

  void SetArg(ArgKey key, std::string_view value) {
    present |= std::uint64_t{1} << static_cast<unsigned>(key);
    args[static_cast<std::size_t>(key)] = value;
  }

  void AddExtra(std::string_view quoted_key, std::string_view value);

  void Clear();
};

/// The place of an event in a trace, by its category.
enum class Category : std::uint8_t {
  kHostOp,
  kHostAnnotation,
  kDeviceAnnotation,
  kKernel,
  kCopy,
  kSet,
  kOtherDeviceWork,
  kRuntime,
  kDriver,
  kOtherApi,
  kSync,
  kEventRecord,
  kPython,
  kMemory,
  kLaunchFlow,
  kForwardBackwardFlow,
  kOther,
};

/// Recognizes the categories of the PyTorch profiler from 2021 to today.
[[nodiscard]] Category FindCategory(std::string_view name);

/// Returns the kind of device work of a category; nothing for others.
[[nodiscard]] std::optional<trace::ActivityKind> ActivityKindOf(Category category);

/// The capitalised names of 2021.
[[nodiscard]] bool IsCategoryOf2021(std::string_view name);

}  // namespace orrery::ingest::kineto
