#include "orrery/memory/patterns/object_use.h"

#include <algorithm>

namespace orrery::memory::patterns {
namespace {

using trace::Coverage;
using trace::MemoryClass;

constexpr std::uint32_t kNoUse = std::numeric_limits<std::uint32_t>::max();

bool IsLookedAt(MemoryClass memory_class) {
  return memory_class == MemoryClass::kTensor || memory_class == MemoryClass::kDevice ||
         memory_class == MemoryClass::kManaged || memory_class == MemoryClass::kUnknown;
}

bool IsDim(Coverage coverage) {
  return coverage == Coverage::kPartial || coverage == Coverage::kUnseen;
}

// Where every access was counted an argument adds nothing; a tensor map does, as its loads are not
// among what is counted.
bool IsCountedAnyway(Coverage of_launch, Coverage of_touch) {
  return of_launch == Coverage::kExact && of_touch == Coverage::kByArgument;
}

}  // namespace

ObjectUses::ObjectUses(const RecordedWork& work)
    : work_(&work), end_ns_(trace::RecordedSpan(work.trace()).end_ns) {
  ChooseObjects();
  AddAccesses();
}

void ObjectUses::ChooseObjects() {
  const trace::MemoryObjects& objects = trace().memory_objects;
  std::vector<bool> holds(objects.size(), false);
  for (const RowId parent : objects.parent) {
    if (parent != kNoRow) {
      holds[parent] = true;
    }
  }
  use_of_object_.assign(objects.size(), kNoUse);
  for (RowId row = 0; row < objects.size(); ++row) {
    if (holds[row] || !IsLookedAt(objects.memory_class[row]) || objects.bytes[row] <= 0) {
      continue;
    }
    use_of_object_[row] = static_cast<std::uint32_t>(uses_.size());
    uses_.push_back({.object = row,
                     .birth = objects.birth_order[row],
                     .death = objects.death_order[row] < 0 ? kAfterAll : objects.death_order[row]});
  }
}

void ObjectUses::AddAccesses() {
  const trace::Touches& touches = trace().touches;
  for (std::size_t position = 0; position < work_->size(); ++position) {
    const WorkItem item = work_->At(position);
    if (IsDim(item.coverage)) {
      dim_orders_.push_back(item.order);
    }
    for (const RowId touch : item.touches) {
      const RowId object = touches.object[touch];
      if (object == kNoRow || use_of_object_[object] == kNoUse ||
          IsCountedAnyway(item.coverage, touches.coverage[touch])) {
        continue;
      }
      const bool is_counted = work_->IsCounted(touch);
      const bool changes = touches.write_bytes[touch] > 0 || touches.atomic_bytes[touch] > 0;
      const bool reads = touches.read_bytes[touch] > 0 || touches.atomic_bytes[touch] > 0;
      if (!is_counted || reads || changes) {
        uses_[use_of_object_[object]].accesses.push_back({.position = position,
                                                          .order = item.order,
                                                          .touch = touch,
                                                          .may_read = reads || !is_counted,
                                                          .may_write = changes || !is_counted,
                                                          .is_counted = is_counted});
      }
    }
  }
  std::sort(dim_orders_.begin(), dim_orders_.end());
}

const Use* ObjectUses::Of(RowId object) const {
  return object == kNoRow || use_of_object_[object] == kNoUse ? nullptr
                                                              : &uses_[use_of_object_[object]];
}

std::int64_t ObjectUses::BytesOf(const Use& use) const {
  return trace().memory_objects.bytes[use.object];
}

std::int32_t ObjectUses::DeviceOf(const Use& use) const {
  return trace().memory_objects.device[use.object];
}

std::int64_t ObjectUses::NumDim(std::int64_t begin, std::int64_t end) const {
  const auto first = std::lower_bound(dim_orders_.begin(), dim_orders_.end(), begin);
  return std::lower_bound(first, dim_orders_.end(), end) - first;
}

std::int64_t ObjectUses::BirthNs(const Use& use) const {
  return trace().memory_objects.begin_ns[use.object];
}

std::int64_t ObjectUses::DeathNs(const Use& use) const {
  const std::int64_t duration_ns = trace().memory_objects.duration_ns[use.object];
  return duration_ns < 0 ? end_ns_ : BirthNs(use) + duration_ns;
}

RowId ObjectUses::ActivityOf(const Access& access) const {
  return trace().touches.activity[access.touch];
}

std::int64_t ObjectUses::BeginNs(const Access& access) const {
  return trace().activities.begin_ns[ActivityOf(access)];
}

std::int64_t ObjectUses::EndNs(const Access& access) const {
  return BeginNs(access) + trace().activities.duration_ns[ActivityOf(access)];
}

}  // namespace orrery::memory::patterns
