#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "orrery/stream/schema.h"

// CUPTI behind an interface: only cupti_*.cc know the vendor's structures. They hand over
// records of the stream, without the numbers that the writer gives them. Times are nanoseconds on
// the recorder's clock; device, context and stream numbers are CUPTI's. Texts are valid during the
// call.

namespace orrery::capture {

/// Memory that the driver allocates or frees.
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

/// Receives the content of a buffer of CUPTI. Memcpy and memset have no addresses, CUPTI does not
/// report them.
class ActivityReceiver {
 public:
  virtual ~ActivityReceiver() = default;
  virtual void Take(stream::Launch launch, std::string_view kernel) = 0;
  virtual void Take(const stream::Copy& copy) = 0;
  virtual void Take(const stream::Set& set) = 0;
  virtual void Take(const stream::GraphLaunch& graph) = 0;
  virtual void Take(stream::ApiCall call, std::string_view name) = 0;
  virtual void Take(const MemoryActivity& memory) = 0;
  virtual void Take(stream::Synchronization wait) = 0;
  virtual void Take(stream::ManagedMemory managed) = 0;
  virtual void Take(const stream::Device& device) = 0;

  /// Overhead of CUPTI itself.
  virtual void TakeOverhead(std::int64_t duration_ns) = 0;
};

/// Options to collect more than kernels, memcpy, memset, memory and synchronization.
struct CollectionOptions {
  bool all_calls = false;        // every call of the runtime and driver becomes a record
  bool whole_graphs = false;     // one record per graph launch, cheaper than one per node
  bool managed = false;          // counters of managed memory
  std::uint32_t flush_ms = 200;  // a process that is killed loses what is younger than twice that
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

  /// Collects GPU work, calls, or neither from now on; both after the start.
  virtual void Select(bool work, bool calls) = 0;

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

/// Returns true if calls of this name are always recorded: those that launch work on a device or
/// change its memory. They show the thread and, in the host's order, the time of a launch, which
/// CUPTI's records of the work do not have.
[[nodiscard]] bool IsWantedCall(std::string_view name);

/// CUPTI of the process; there can be one at a time (cupti_calls.cc).
[[nodiscard]] std::unique_ptr<ActivitySource> MakeCuptiSource();

}  // namespace orrery::capture
