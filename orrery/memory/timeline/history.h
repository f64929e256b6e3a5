#pragma once

#include <cstddef>
#include <limits>

#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// The total to which a piece of memory belongs.
enum class Layer : std::uint8_t {
  kAllocated,  // allocated by the framework's allocator: tensors
  kReserved,   // held by that allocator from the driver: segments
  kOutside,    // from the driver past the allocator: communicators, workspaces, contexts
  kDriver,     // all from the driver, where no allocator was recorded
  kPinned,     // of the host, mapped for devices
};

inline constexpr std::size_t kNumLayers = 5;

[[nodiscard]] std::string_view LayerName(Layer layer);

/// A memory that is filled: that of a device or of the host.
struct Place {
  trace::DeviceKind kind = trace::DeviceKind::kGpu;
  std::int32_t device = -1;

  auto operator<=>(const Place&) const = default;
};

/// Returns "GPU 0", "host".
[[nodiscard]] std::string PlaceName(const Place& place);

inline constexpr std::uint32_t kNoLife = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

/// One piece of memory from its birth to its end.
struct Life {
  Layer layer = Layer::kAllocated;
  std::uint32_t place = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = kNeverNs;
  std::int64_t bytes = 0;             // of the block
  std::int64_t requested_bytes = -1;  // that the program asked for; -1: not known
  bool is_from_before = false;        // there when the recording began
  RowId object = kNoRow;
  RowId host_op = kNoRow;
  StringId name = StringId::kEmpty;
  StringId call_stack = StringId::kEmpty;
};

/// Memory that is taken (bytes above 0) or given back. Without a life it is known by a name
/// (categories of a prediction or of another tool) or only as a change of the total.
struct Change {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  Layer layer = Layer::kAllocated;
  std::uint32_t place = 0;
  std::uint32_t life = kNoLife;
  StringId name = StringId::kEmpty;
};

/// All memory of one rank, from its objects or, where a recording has none, from the events of its
/// allocator.
struct MemoryHistory {
  std::vector<Place> places;  // in order
  std::vector<Life> lives;
  std::vector<Change> changes;          // in order
  std::int64_t num_unknown_frees = 0;   // of memory from before the recording
  std::int64_t largest_difference = 0;  // between the allocator's totals and the sum of changes
  /// Freed without a recorded allocation or total: taken as in use from the first event on, or,
  /// after a total, from the free on, so that no sum is below 0.
  std::int64_t assumed_bytes = 0;
};

/// Order: time, then the number of the event; what has no number is given back before other memory
/// is taken.
[[nodiscard]] MemoryHistory HistoryOf(const trace::Trace& trace);

}  // namespace orrery::memory::timeline
