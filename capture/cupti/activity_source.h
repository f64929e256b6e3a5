#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// What is to be collected beyond kernels, copies, sets, memory and waits.
struct CollectionOptions {
  bool all_calls = false;     // every call of the runtime and driver becomes a record
  bool whole_graphs = false;  // a graph is one piece of work, cheaper than its nodes
  bool managed = false;       // counters of managed memory
  std::uint32_t flush_ms = 1000;
};

/// Hands buffers out and takes them back; called by the source on any thread, and never waits.
class BufferOwner {
 public:
  virtual ~BufferOwner() = default;

  /// An empty buffer; null when there are too many, and then the source drops records.
  virtual std::uint8_t* Request(std::size_t& bytes) = 0;
  virtual void Complete(std::uint8_t* buffer, std::size_t valid_bytes,
                        std::uint64_t num_dropped) = 0;
};

/// The calls that recording makes: CUPTI, or a mock.
class ActivitySource {
 public:
  virtual ~ActivitySource() = default;

  /// Begins to collect; returns why not, or nothing.
  virtual std::string Start(const CollectionOptions& options, BufferOwner& owner) = 0;

  /// Brings home complete buffers, or all of them.
  virtual void Flush(bool is_last) = 0;

  /// Shows the records of a completed buffer; false: some of it could not be read.
  virtual bool Decode(std::uint8_t* buffer, std::size_t valid_bytes,
                      ActivityReceiver& receiver) = 0;

  /// The source's clock, for comparing with the recorder's.
  virtual std::int64_t now_ns() = 0;

  /// "CUPTI 13.0.1".
  virtual std::string version() = 0;
};

}  // namespace orrery::capture
