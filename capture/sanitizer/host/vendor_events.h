#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/sanitizer/host/vendor_calls.h"

// What the vendor's callbacks tell, in plain structures. Pointers are valid during the callback
// only. `stream` numbers are the program's own (the driver's handle), as they stand in a recording;
// handles are for calls.

namespace orrery::capture::sanitizer {

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
  ContextHandle context{};      // where the kernel runs
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

struct CopyEvent {
  ContextHandle context{};
  std::uint64_t stream = 0;
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint64_t width_bytes = 0;
  std::uint64_t height = 0;
  std::uint64_t depth = 0;
  std::uint64_t source_pitch = 0;
  std::uint64_t destination_pitch = 0;
  std::uint64_t kind = 0;  // as stream::codes::CopyKind
  bool is_async = false;
};

struct SetEvent {
  ContextHandle context{};
  std::uint64_t stream = 0;
  std::uint64_t address = 0;
  std::uint64_t width_bytes = 0;
  std::uint64_t height = 0;
  std::uint64_t pitch = 0;
  std::uint64_t value = 0;
  bool is_async = false;
};

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

/// A node of a graph that launches graphs itself: no callback tells of those.
struct DeviceGraphEvent {
  std::uint64_t graph = 0;
};

}  // namespace orrery::capture::sanitizer
