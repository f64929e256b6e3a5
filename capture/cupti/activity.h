#pragma once

#include <cstdint>
#include <string_view>

// What CUPTI tells, in plain structures of our own: only cupti_calls.cc knows the vendor's. Times
// are nanoseconds on the recorder's clock; device, context and stream numbers are CUPTI's. Texts
// are valid during the call.

namespace orrery::capture {

/// Work on a device: where, when, and which call of the host began it.
struct DeviceWork {
  std::uint64_t correlation = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t graph = 0;
  std::uint64_t graph_node = 0;
};

struct Extent {
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
};

struct KernelActivity {
  DeviceWork work = {};
  std::string_view name = {};
  Extent grid = {};
  Extent block = {};
  Extent cluster = {};
  std::uint64_t shared_bytes = 0;
  std::uint64_t registers = 0;
};

/// CUPTI does not tell the addresses of copies and sets.
struct CopyActivity {
  DeviceWork work = {};
  std::uint64_t kind = 0;  // codes::CopyKind
  std::uint64_t bytes = 0;
  bool is_async = false;
};

struct SetActivity {
  DeviceWork work = {};
  std::uint64_t bytes = 0;
  std::uint64_t value = 0;
  bool is_async = false;
};

/// A whole graph as one piece of work.
struct GraphActivity {
  DeviceWork work = {};
};

/// A call of the runtime or driver.
struct CallActivity {
  std::uint64_t correlation = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t thread = 0;
  std::uint64_t api = 0;  // codes::Api
  std::string_view name = {};
  std::int64_t result = 0;
};

/// Memory that the driver hands out or takes back.
struct MemoryActivity {
  std::uint64_t correlation = 0;
  std::int64_t time_ns = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flags = 0;  // codes::AllocationFlag
  std::uint64_t device = 0;
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t pool = 0;
  bool is_free = false;
};

struct WaitActivity {
  std::uint64_t correlation = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t kind = 0;  // codes::SyncKind
  std::uint64_t context = 0;
  std::uint64_t stream = 0;
  std::uint64_t event = 0;
};

struct ManagedActivity {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t action = 0;  // codes::ManagedAction
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint64_t device = 0;
  std::uint64_t stream = 0;
};

struct DeviceActivity {
  std::uint64_t device = 0;
  std::string_view name = {};
  std::string_view uuid = {};
  std::int64_t memory_bytes = -1;
  std::int64_t multiprocessors = -1;
  std::int64_t compute_major = -1;
  std::int64_t compute_minor = -1;
};

/// What CUPTI itself cost.
struct CostActivity {
  std::int64_t duration_ns = 0;
};

/// Takes what a buffer of CUPTI holds.
class ActivityReceiver {
 public:
  virtual ~ActivityReceiver() = default;
  virtual void Take(const KernelActivity& kernel) = 0;
  virtual void Take(const CopyActivity& copy) = 0;
  virtual void Take(const SetActivity& set) = 0;
  virtual void Take(const GraphActivity& graph) = 0;
  virtual void Take(const CallActivity& call) = 0;
  virtual void Take(const MemoryActivity& memory) = 0;
  virtual void Take(const WaitActivity& wait) = 0;
  virtual void Take(const ManagedActivity& managed) = 0;
  virtual void Take(const DeviceActivity& device) = 0;
  virtual void Take(const CostActivity& cost) = 0;
};

}  // namespace orrery::capture
