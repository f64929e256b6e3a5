#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/stream/schema.h"

// The calls that the capture makes into the vendor's library, and nothing else: the logic knows
// only this interface and the plain structures of vendor_events.h. sanitizer_calls.cc translates to
// the real library, mock_vendor_test.h stands in for it.

// The events of the vendor's callbacks, in plain structures. Pointers are valid during the callback
// only. `stream` numbers are the program's own (the driver's handle), as they stand in a recording;
// handles are for calls.

namespace orrery::capture::sanitizer {

/// A handle of the vendor, as a number; 0: none.
template <typename Tag>
struct Handle {
  std::uint64_t value = 0;

  auto operator<=>(const Handle&) const = default;
};

using ContextHandle = Handle<struct ContextTag>;
using StreamHandle =
    Handle<struct StreamTag>;  // the library's own, which its copies take; not the driver's
using ModuleHandle = Handle<struct ModuleTag>;
using FunctionHandle = Handle<struct FunctionTag>;
using LaunchHandle = Handle<struct LaunchTag>;

/// 0: success; anything else is the vendor's own number.
using CallResult = int;

/// The place of a function's parameter in its parameter block.
struct ParameterPlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The properties of a device in a recording.
struct DeviceFacts {
  std::string name;
  std::string uuid;
  std::int64_t memory_bytes = -1;
  std::int64_t multiprocessors = -1;
  std::int64_t compute_major = -1;
  std::int64_t compute_minor = -1;
};

/// The calls that are made from callbacks. All are safe from several threads, except the three that
/// patch: those the caller must serialise.
class VendorCalls {
 public:
  virtual ~VendorCalls() = default;

  /// Loads the image with all patches into a context, once.
  [[nodiscard]] virtual CallResult AddPatches(ContextHandle context, const void* image) = 0;
  /// `instruction` is a name of device/patch_list.h; fails where the library does not know it.
  [[nodiscard]] virtual CallResult PatchInstructions(const char* instruction, ModuleHandle module,
                                                     const char* patch) = 0;
  [[nodiscard]] virtual CallResult PatchModule(ModuleHandle module) = 0;

  [[nodiscard]] virtual CallResult Allocate(ContextHandle context, std::uint64_t bytes,
                                            std::uint64_t* address) = 0;
  /// Pinned memory of the host, which the device sees at the same address.
  [[nodiscard]] virtual CallResult AllocateHost(ContextHandle context, std::uint64_t bytes,
                                                void** memory) = 0;
  [[nodiscard]] virtual CallResult Free(ContextHandle context, std::uint64_t address) = 0;
  [[nodiscard]] virtual CallResult FreeHost(ContextHandle context, void* memory) = 0;

  [[nodiscard]] virtual CallResult Memset(std::uint64_t address, int value, std::uint64_t bytes,
                                          StreamHandle stream) = 0;
  /// Returns before the copy is done: `source` stays as it is until the stream has passed.
  [[nodiscard]] virtual CallResult CopyToDevice(std::uint64_t address, const void* source,
                                                std::uint64_t bytes, StreamHandle stream) = 0;
  /// Returns when the copy is done, and so everything that the stream had to do before it.
  [[nodiscard]] virtual CallResult CopyToHost(void* destination, std::uint64_t address,
                                              std::uint64_t bytes, StreamHandle stream) = 0;
  [[nodiscard]] virtual CallResult Synchronize(StreamHandle stream) = 0;

  /// Binds what the patches are called with to one launch: allowed between its begin and its end.
  /// Of nodes of graphs, what was bound last counts for all nodes of the graph.
  [[nodiscard]] virtual CallResult SetLaunchData(LaunchHandle launch, FunctionHandle function,
                                                 StreamHandle stream, std::uint64_t address) = 0;

  /// Place of a parameter; fails beyond the last one.
  [[nodiscard]] virtual CallResult ParameterInfo(FunctionHandle function, std::uint32_t index,
                                                 ParameterPlace* place) = 0;

  /// Finds the address and the length of a function's code.
  [[nodiscard]] virtual CallResult FunctionPlace(ModuleHandle module, const char* name,
                                                 std::uint64_t* pc, std::uint64_t* bytes) = 0;

  [[nodiscard]] virtual CallResult FactsOf(std::uint64_t device, DeviceFacts* facts) = 0;

  /// Returns the message for a result that is not 0.
  [[nodiscard]] virtual const char* TextOf(CallResult result) = 0;
};

struct ContextEvent {
  ContextHandle context{};
  std::uint64_t device = 0;
};

struct StreamEvent {
  ContextHandle context{};
  StreamHandle handle{};
  std::uint64_t stream = 0;
};

struct ModuleEvent {
  ContextHandle context{};
  ModuleHandle module{};
  std::span<const std::byte> cubin{};
};

/// Bits of MemoryEvent::flags: several may be set at once. The low five are those of the stream's
/// records.
enum MemoryFlag : std::uint64_t {
  kModuleMemory = 0x1,
  kManagedMemory = 0x2,
  kHostMappedMemory = 0x4,
  kPinnedMemory = 0x8,
  kPeerMemory = 0x10,
};

struct MemoryEvent {
  ContextHandle context{};
  std::uint64_t device = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flags = 0;
};

struct Dimensions {
  std::uint64_t x = 1;
  std::uint64_t y = 1;
  std::uint64_t z = 1;
};

struct LaunchEvent {
  ContextHandle context{};      // in which the kernel runs
  ContextHandle api_context{};  // of graph nodes: where the graph was launched
  std::uint64_t device = 0;
  StreamHandle handle{};  // of graph nodes: the stream of the graph's launch
  std::uint64_t stream = 0;
  ModuleHandle module{};
  FunctionHandle function{};
  LaunchHandle launch{};
  const char* name = "";
  Dimensions grid{};
  Dimensions block{};
  Dimensions cluster{0, 0, 0};
  std::uint64_t graph = 0;
  std::uint64_t graph_node = 0;
};

/// A thread enters a function of the driver that launches; the launch's own callbacks follow on the
/// same thread. Parameters come one by one, or all in one block.
struct LaunchCall {
  FunctionHandle function{};
  const void* const* parameters = nullptr;
  std::span<const std::byte> block{};
};

/// A tensor map that was made, or changed.
struct TensorMapEvent {
  std::span<const std::byte> map{};  // kTensorMapBytes
  std::uint64_t address = 0;
  std::uint64_t element_bytes = 0;
  std::vector<std::uint64_t> shape{};
  std::vector<std::uint64_t> strides_bytes{};
  std::vector<std::uint64_t> box{};
};

inline constexpr std::size_t kTensorMapBytes = 128;

/// A memcpy or memset (stream::Copy, stream::Set), without the context's number and device.
template <typename Record>
struct TransferEvent {
  ContextHandle context{};
  Record record{};
};

using CopyEvent = TransferEvent<stream::Copy>;
using SetEvent = TransferEvent<stream::Set>;

/// A wait that is over, or a mark or wait that was put into a stream.
struct SyncEvent {
  std::uint64_t kind = 0;  // as stream::codes::SyncKind
  ContextHandle context{};
  StreamHandle handle{};
  std::uint64_t stream = 0;
  std::uint64_t event = 0;
};

struct GraphEvent {
  ContextHandle context{};
  StreamHandle handle{};
  std::uint64_t stream = 0;
  std::uint64_t graph = 0;
};

}  // namespace orrery::capture::sanitizer
