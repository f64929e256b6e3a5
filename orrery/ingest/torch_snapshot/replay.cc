#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/math/round_up.h"
#include "orrery/ingest/torch_snapshot/ranges.h"
#include "orrery/ingest/torch_snapshot/snapshot.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {
namespace {

using trace::MemoryClass;
using Object = trace::MemoryObjects::Row;

/// The memory of a device at the begin of its history.
struct StartState {
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  std::vector<std::uint64_t> block_bytes;  // for each entry that allocates a block: its size
  std::int64_t num_contradictions = 0;     // entries that the state after them rules out
};

// PyTorch's smallest block; sizes are multiples of it.
constexpr std::int64_t kBlockUnit = 512;

std::int64_t Signed(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

// The size of a block, derived from the requested size.
std::uint64_t RoundedBlock(std::uint64_t requested_bytes) {
  const auto bytes = static_cast<std::int64_t>(requested_bytes);
  return static_cast<std::uint64_t>(RoundUp(std::max<std::int64_t>(bytes, 1), kBlockUnit));
}

// Undoes the history from its end. It is a ring buffer, so its initial state is not recorded; what
// is left of the final state when every entry is undone is what was there before.
class Undo {
 public:
  explicit Undo(const DeviceMemory& memory) : memory_(memory) {
    for (const Segment& segment : memory.segments) {
      segments_.Add(segment.address, segment.address + segment.bytes, segment);
    }
    for (const Block& block : memory.blocks) {
      blocks_[block.address] = block;
    }
    start_.block_bytes.resize(memory.entries.size());
  }

  StartState Run() {
    for (std::size_t i = memory_.entries.size(); i > 0; --i) {
      UndoEntry(i - 1);
    }
    for (const auto& [address, range] : segments_.all()) {
      Segment segment = range.value;
      segment.address = range.begin;
      segment.bytes = range.end - range.begin;
      start_.segments.push_back(segment);
    }
    for (const auto& [address, block] : blocks_) {
      start_.blocks.push_back(block);
    }
    return std::move(start_);
  }

 private:
  void UndoEntry(std::size_t index) {
    const Entry& entry = memory_.entries[index];
    const std::uint64_t end = entry.address + entry.bytes;
    const auto block = blocks_.find(entry.address);
    const bool is_known = block != blocks_.end();
    switch (entry.action) {
      case Action::kAlloc:
        // The final state knows the size of the block, the history only what was requested.
        start_.num_contradictions += is_known ? 0 : 1;
        start_.block_bytes[index] = is_known ? block->second.bytes : RoundedBlock(entry.bytes);
        blocks_.erase(entry.address);
        return;
      case Action::kFreeRequested:
        start_.num_contradictions += is_known ? 0 : 1;
        if (is_known) {
          block->second.is_free_requested = false;
        }
        return;
      case Action::kFreeCompleted:
        start_.num_contradictions += is_known ? 1 : 0;
        blocks_[entry.address] = {.address = entry.address,
                                  .bytes = RoundedBlock(entry.bytes),
                                  .requested_bytes = Signed(entry.bytes),
                                  .is_free_requested = true,
                                  .stream = entry.stream};
        return;
      case Action::kSegmentAlloc:
        segments_.Remove(entry.address, end);
        return;
      case Action::kSegmentFree:
        segments_.Add(entry.address, end,
                      {.address = entry.address, .bytes = entry.bytes, .stream = entry.stream});
        return;
      case Action::kOutOfMemory:
      case Action::kSnapshot:
        return;
    }
  }

  const DeviceMemory& memory_;
  Ranges<Segment> segments_;
  std::map<std::uint64_t, Block> blocks_;
  StartState start_;
};

class Replayer {
 public:
  Replayer(const DeviceMemory& memory, trace::Trace& trace, std::vector<Object>& objects)
      : memory_(memory), trace_(trace), objects_(objects) {
    begin_ns_ = memory.entries.empty() ? 0 : memory.entries.front().time_ns;
  }

  void Replay() {
    const StartState start = Undo(memory_).Run();
    Begin(start);
    for (std::size_t i = 0; i < memory_.entries.size(); ++i) {
      ReplayEntry(memory_.entries[i], start.block_bytes[i]);
    }
    Compare();
    trace_.problems.Loss("history entry that contradicts later ones",
                         start.num_contradictions + num_contradictions_);
  }

 private:
  void Begin(const StartState& start) {
    for (const Segment& segment : start.segments) {
      AddSegment(segment, begin_ns_, -1);
    }
    for (const Block& block : start.blocks) {
      AddBlock(block, begin_ns_, -1);
    }
    if (!memory_.entries.empty()) {
      trace_.problems.Note(
          "tensor from before the history (it began later, or its oldest entries were overwritten)",
          static_cast<std::int64_t>(start.blocks.size()));
    }
  }

  void ReplayEntry(const Entry& entry, std::uint64_t block_bytes) {
    switch (entry.action) {
      case Action::kAlloc:
        return Allocate(entry, block_bytes);
      case Action::kFreeRequested:
      case Action::kFreeCompleted:
        return Free(entry);
      case Action::kSegmentAlloc:
        num_contradictions_ += CutSegments(entry) ? 1 : 0;
        return AddSegment({.address = entry.address,
                           .bytes = entry.bytes,
                           .stream = entry.stream,
                           .call_stack = entry.call_stack},
                          entry.time_ns, entry.order);
      case Action::kSegmentFree:
        num_contradictions_ += CutSegments(entry) ? 0 : 1;
        return;
      case Action::kOutOfMemory:
        return AddMark(entry, "out of memory",
                       fmt::format(R"("bytes":{},"device":{},"free_bytes":{})", entry.bytes,
                                   memory_.device, entry.address));
      case Action::kSnapshot:
        return AddMark(entry, "snapshot", fmt::format(R"("device":{})", memory_.device));
    }
  }

  void AddMark(const Entry& entry, std::string_view name, std::string_view extra) {
    trace_.instants.Append({.begin_ns = entry.time_ns,
                            .name = trace_.strings.Intern(name),
                            .category = trace_.strings.Intern("memory"),
                            .track = 0,
                            .extra = trace_.strings.Intern(extra)});
  }

  RowId AddObject(Object object) {
    const auto index = static_cast<RowId>(objects_.size());
    object.id = Signed(objects_.size() + 1);
    object.device = memory_.device;
    objects_.push_back(object);
    return index;
  }

  void End(RowId index, const Entry& entry) {
    Object& object = objects_[index];
    object.duration_ns = entry.time_ns - object.begin_ns;
    object.death_order = entry.order;
  }

  void AddSegment(const Segment& segment, std::int64_t begin_ns, std::int64_t order) {
    if (segment.bytes == 0) {
      return;
    }
    reserved_bytes_ += Signed(segment.bytes);
    segments_.Add(segment.address, segment.address + segment.bytes,
                  AddObject({.begin_ns = begin_ns,
                             .address = segment.address,
                             .bytes = Signed(segment.bytes),
                             .memory_class = MemoryClass::kSegment,
                             .stream = segment.stream,
                             .birth_order = order,
                             .call_stack = segment.call_stack}));
  }

  // A segment that loses some of its pages ends, and what it keeps begins a new life. Returns
  // whether there was any.
  bool CutSegments(const Entry& entry) {
    const std::uint64_t end = entry.address + entry.bytes;
    const auto cut = segments_.Remove(entry.address, end);
    for (const Range<RowId>& piece : cut) {
      reserved_bytes_ -= Signed(piece.end - piece.begin);
      End(piece.value, entry);
      Keep(piece.begin, entry.address, piece.value, entry);
      Keep(end, piece.end, piece.value, entry);
    }
    return !cut.empty();
  }

  void Keep(std::uint64_t begin, std::uint64_t end, RowId object, const Entry& entry) {
    if (begin >= end) {
      return;
    }
    const Object& before = objects_[object];
    AddSegment({.address = begin,
                .bytes = end - begin,
                .stream = before.stream,
                .call_stack = before.call_stack},
               entry.time_ns, entry.order);
  }

  void Allocate(const Entry& entry, std::uint64_t block_bytes) {
    if (const auto before = blocks_.find(entry.address); before != blocks_.end()) {
      ++num_contradictions_;
      Release(before->second, entry);
      End(before->second.object, entry);
    }
    AddBlock({.address = entry.address,
              .bytes = block_bytes,
              .requested_bytes = Signed(entry.bytes),
              .stream = entry.stream,
              .call_stack = entry.call_stack,
              .name = entry.name},
             entry.time_ns, entry.order);
    AddEvent(entry, Signed(block_bytes));
  }

  void AddBlock(const Block& block, std::int64_t begin_ns, std::int64_t order) {
    Range<RowId>* const segment = segments_.Find(block.address);
    const RowId object = AddObject({.begin_ns = begin_ns,
                                    .address = block.address,
                                    .bytes = Signed(block.bytes),
                                    .requested_bytes = block.requested_bytes,
                                    .memory_class = MemoryClass::kTensor,
                                    .stream = block.stream,
                                    .birth_order = order,
                                    .name = block.name,
                                    .call_stack = block.call_stack,
                                    .parent = segment == nullptr ? kNoRow : segment->value});
    blocks_[block.address] = {.object = object, .is_free_requested = block.is_free_requested};
    allocated_bytes_ += block.is_free_requested ? 0 : Signed(block.bytes);
  }

  // The allocator's counter goes down when a free is requested; the memory stays in use until
  // streams are through with it.
  void Free(const Entry& entry) {
    const auto block = blocks_.find(entry.address);
    if (block == blocks_.end()) {
      ++num_contradictions_;
      return;
    }
    Release(block->second, entry);
    if (entry.action == Action::kFreeCompleted) {
      End(block->second.object, entry);
      blocks_.erase(block);
    }
  }

  struct Alive {
    RowId object = kNoRow;
    bool is_free_requested = false;
  };

  void Release(Alive& block, const Entry& entry) {
    if (!std::exchange(block.is_free_requested, true)) {
      const std::int64_t bytes = objects_[block.object].bytes;
      allocated_bytes_ -= bytes;
      AddEvent(entry, -bytes);
    }
  }

  void AddEvent(const Entry& entry, std::int64_t bytes) {
    trace_.memory_events.Append({.begin_ns = entry.time_ns,
                                 .bytes = bytes,
                                 .address = entry.address,
                                 .device_kind = trace::DeviceKind::kGpu,
                                 .device = memory_.device,
                                 .total_allocated_bytes = allocated_bytes_,
                                 .total_reserved_bytes = reserved_bytes_,
                                 .track = 0});
  }

  // The history must end in the state of the snapshot.
  void Compare() {
    std::int64_t num_different = 0;
    for (const Block& block : memory_.blocks) {
      const Alive alive = FindOr(blocks_, block.address);
      const bool is_same =
          alive.object != kNoRow && alive.is_free_requested == block.is_free_requested;
      num_different += is_same ? 0 : 1;
    }
    num_different += std::max<std::int64_t>(
        0, Signed(blocks_.size()) - static_cast<std::int64_t>(memory_.blocks.size()));
    trace_.problems.Loss("block on which the history and the final state disagree", num_different);
  }

  const DeviceMemory& memory_;
  trace::Trace& trace_;
  std::vector<Object>& objects_;
  Ranges<RowId> segments_;
  std::map<std::uint64_t, Alive> blocks_;
  std::int64_t begin_ns_ = 0;
  std::int64_t allocated_bytes_ = 0;
  std::int64_t reserved_bytes_ = 0;
  std::int64_t num_contradictions_ = 0;
};

}  // namespace

void ReplayHistory(const DeviceMemory& memory, trace::Trace& trace,
                   std::vector<trace::MemoryObjects::Row>& objects) {
  Replayer(memory, trace, objects).Replay();
}

}  // namespace orrery::ingest::torch_snapshot
