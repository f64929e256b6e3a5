#include "orrery/memory/footprint.h"

namespace orrery::memory {

using trace::MemoryClass;
using trace::RowId;

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

Footprint FootprintWalk::At(std::int64_t order) {
  walk_.AdvanceTo(
      order,
      [&](RowId object) {
        ClassOf(object).Add(RangeOfObject(object));
        all_.Add(RangeOfObject(object));
      },
      [&](RowId object) {
        ClassOf(object).Remove(RangeOfObject(object));
        all_.Remove(RangeOfObject(object));
      });
  Footprint footprint{.total_bytes = all_.size()};
  for (std::size_t i = 0; i < kNumFootprintClasses; ++i) {
    footprint.class_bytes[i] = by_class_[i].size();
  }
  return footprint;
}

ByteRange FootprintWalk::RangeOfObject(RowId object) const {
  return RangeOf(lifetimes_->objects().address[object], lifetimes_->objects().bytes[object]);
}

CoveredBytes& FootprintWalk::ClassOf(RowId object) {
  const MemoryClass memory_class = lifetimes_->objects().memory_class[object];
  return by_class_[static_cast<std::size_t>(FootprintClassOf(memory_class))];
}

}  // namespace orrery::memory
