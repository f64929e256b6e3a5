#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

/// Attribution as a published profiler does it on the CPU, to compare with: for each lane a walk
/// over a map of shared pointers, each of them copied. Not for use.
class PointerWalk {
 public:
  explicit PointerWalk(std::span<const Range> ranges);

  void Add(std::span<const std::uint64_t> lanes);

  [[nodiscard]] std::uint64_t NumAttributed() const;

 private:
  struct Object {
    Range range;
    std::uint64_t accesses = 0;
  };

  std::map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace orrery::capture
