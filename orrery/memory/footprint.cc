#include "orrery/memory/footprint.h"

namespace orrery::memory {

using trace::MemoryClass;

FootprintClass FootprintClassOf(MemoryClass memory_class) {
  return memory_class == MemoryClass::kTensor    ? FootprintClass::kTensor
         : memory_class == MemoryClass::kSegment ? FootprintClass::kSegment
                                                 : FootprintClass::kOther;
}

std::string_view FootprintClassName(FootprintClass footprint_class) {
  switch (footprint_class) {
    case FootprintClass::kTensor:
      return "tensors";
    case FootprintClass::kSegment:
      return "segments";
    case FootprintClass::kOther:
      return "from the driver";
  }
  return "";
}

const Footprint& FootprintWalk::At(std::int64_t order) {
  bool has_changed = false;
  walk_.AdvanceTo(
      order,
      [&](RowId object) {
        Born(object);
        has_changed = true;
      },
      [&](RowId object) {
        Died(object);
        has_changed = true;
      });
  if (has_changed) {
    SetFootprint();
  }
  return footprint_;
}

void FootprintWalk::Born(RowId object) {
  ClassOf(object).Add(RangeOfObject(object));
  if (!IsInsideForLife(object)) {
    all_.Add(RangeOfObject(object));
  }
}

void FootprintWalk::Died(RowId object) {
  ClassOf(object).Remove(RangeOfObject(object));
  if (!IsInsideForLife(object)) {
    all_.Remove(RangeOfObject(object));
  }
}

void FootprintWalk::SetFootprint() {
  footprint_.total_bytes = all_.size();
  for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
    footprint_.class_bytes[i] = by_class_[i].size();
  }
}

// Tensors come and go in segments that stay: what lies in its parent, and does not outlive it, adds
// no byte to the total.
bool FootprintWalk::IsInsideForLife(RowId object) const {
  const RowId parent = lifetimes_->objects().parent[object];
  return parent != kNoRow && parent < object && lifetimes_->LivesAround(parent, object) &&
         Intersection(RangeOfObject(parent), RangeOfObject(object)) == RangeOfObject(object);
}

ByteRange FootprintWalk::RangeOfObject(RowId object) const {
  return RangeOf(lifetimes_->objects().address[object], lifetimes_->objects().bytes[object]);
}

CoveredBytes& FootprintWalk::ClassOf(RowId object) {
  const MemoryClass memory_class = lifetimes_->objects().memory_class[object];
  return by_class_[static_cast<std::size_t>(FootprintClassOf(memory_class))];
}

}  // namespace orrery::memory
