#include "capture/sanitizer/analysis/pointer_walk.h"

#include <cstdint>
#include <memory>
#include <span>

#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

PointerWalk::PointerWalk(std::span<const Range> ranges) {
  for (const Range& range : ranges) {
    objects_.emplace(range.begin, std::make_shared<Object>(Object{.range = range}));
  }
}

void PointerWalk::Add(std::span<const std::uint64_t> lanes) {
  for (const std::uint64_t address : lanes) {
    for (auto entry : objects_) {  // NOLINT(performance-for-range-copy): the copy is the point
      const std::shared_ptr<Object> object = entry.second;
      if (object->range.begin <= address && address < object->range.end) {
        ++object->accesses;
        break;
      }
    }
  }
}

std::uint64_t PointerWalk::NumAttributed() const {
  std::uint64_t total = 0;
  for (const auto& [begin, object] : objects_) {
    total += object->accesses;
  }
  return total;
}

}  // namespace orrery::capture
