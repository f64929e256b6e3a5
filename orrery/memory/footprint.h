#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/lifetimes.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Kinds of memory that a footprint tells apart.
enum class FootprintClass : std::uint8_t { kTensor, kSegment, kOther };

inline constexpr std::size_t kNumFootprintClasses = 3;

[[nodiscard]] FootprintClass FootprintClassOf(trace::MemoryClass memory_class);
[[nodiscard]] std::string_view FootprintClassName(FootprintClass footprint_class);

/// Bytes of live objects. Tensors lie in segments, and segments in allocations of the driver; each
/// class counts its own, and the total counts each byte once.
struct Footprint {
  std::array<std::int64_t, kNumFootprintClasses> class_bytes = {};
  std::int64_t total_bytes = 0;

  [[nodiscard]] std::int64_t Of(FootprintClass footprint_class) const {
    return class_bytes[static_cast<std::size_t>(footprint_class)];
  }

  bool operator==(const Footprint&) const = default;
};

/// Walks through the lives of objects and says the footprint at orders that ascend. Costs a step
/// for each birth and death; between them the answer is at hand.
class FootprintWalk {
 public:
  explicit FootprintWalk(const Lifetimes& lifetimes) : lifetimes_(&lifetimes), walk_(lifetimes) {}

  [[nodiscard]] const Footprint& At(std::int64_t order);

 private:
  void Born(RowId object);
  void Died(RowId object);
  void SetFootprint();
  [[nodiscard]] ByteRange RangeOfObject(RowId object) const;
  [[nodiscard]] bool IsInsideForLife(RowId object) const;
  [[nodiscard]] CoveredBytes& ClassOf(RowId object);

  const Lifetimes* lifetimes_;
  LifetimeWalk walk_;
  std::array<CoveredBytes, kNumFootprintClasses> by_class_;
  CoveredBytes all_;  // without those that lie in another object all their lives
  Footprint footprint_;
};

}  // namespace orrery::memory
