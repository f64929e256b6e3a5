#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include "orrery/stream/schema.h"

namespace orrery::stream {

/// Numbers of events from `begin` up to, not including, `end`; kNoEnd: all from `begin`.
struct OrderRange {
  static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t begin = 0;
  std::uint64_t end = kNoEnd;

  [[nodiscard]] bool Holds(std::uint64_t order) const {
    return begin <= order && (order < end || end == kNoEnd);
  }

  bool operator==(const OrderRange&) const = default;
};

/// Records that belong to the number of an event; others (names, devices, tensor maps, costs)
/// define something for the whole stream.
template <typename Record>
concept Ordered = requires(const Record& record) {
  record.sequence;
}

|| requires(const Record& record) {
  record.launch;
}

|| std::same_as<Record, Object>;

/// The number of the event that a record belongs to: what is said of a launch belongs to that
/// launch, whenever it became known.
template <Ordered Record>
[[nodiscard]] std::uint64_t OrderOf(const Record& record) {
  if constexpr (requires { record.launch; }) {
    return record.launch;
  } else if constexpr (std::same_as<Record, DeviceTime>) {
    return record.work;
  } else if constexpr (std::same_as<Record, Object>) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(record.birth, 0));
  } else {
    return record.sequence;
  }
}

}  // namespace orrery::stream
