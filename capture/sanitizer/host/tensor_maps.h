#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "capture/sanitizer/host/vendor_events.h"

namespace orrery::capture::sanitizer {

/// The tensor maps that the program made, known by their 128 bytes: equal bytes are an equal map,
/// so that making one again or copying it does no harm. Any thread may call.
class TensorMaps {
 public:
  using Key = std::array<std::byte, kTensorMapBytes>;

  struct Known {
    std::uint64_t id = 0;
    std::uint64_t address = 0;
  };

  /// The map's number, and whether it is new.
  struct Added {
    std::uint64_t id = 0;
    bool is_new = false;
  };

  [[nodiscard]] Added Add(const TensorMapEvent& event);

  /// What is known of the map in these bytes.
  [[nodiscard]] std::optional<Known> Find(std::span<const std::byte> bytes) const;

  /// Without a lock: most programs make none.
  [[nodiscard]] bool empty() const { return num_maps_.load(std::memory_order_acquire) == 0; }

 private:
  mutable std::mutex mutex_;  // guards maps_
  std::map<Key, Known> maps_;
  std::atomic<std::uint64_t> num_maps_{0};
};

}  // namespace orrery::capture::sanitizer
