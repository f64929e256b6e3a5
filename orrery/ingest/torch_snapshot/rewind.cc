#include "orrery/ingest/torch_snapshot/rewind.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "orrery/base/round_up.h"
#include "orrery/ingest/torch_snapshot/ranges.h"

namespace orrery::ingest::torch_snapshot {
namespace {

// PyTorch's smallest block; sizes are multiples of it.
constexpr std::int64_t kBlockUnit = 512;

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
    switch (entry.action) {
      case Action::kAlloc:
        return UndoAlloc(entry, start_.block_bytes[index]);
      case Action::kFreeRequested:
        return UndoFreeRequested(entry);
      case Action::kFreeCompleted:
        return UndoFreeCompleted(entry);
      case Action::kSegmentAlloc:
        segments_.Remove(entry.address, entry.address + entry.bytes);
        return;
      case Action::kSegmentFree:
        segments_.Add(entry.address, entry.address + entry.bytes,
                      {.address = entry.address, .bytes = entry.bytes, .stream = entry.stream});
        return;
      case Action::kOutOfMemory:
      case Action::kSnapshot:
        return;
    }
  }

  // The final state knows the size of the block, the history only what was asked for.
  void UndoAlloc(const Entry& entry, std::uint64_t& block_bytes) {
    const auto block = blocks_.find(entry.address);
    if (block == blocks_.end()) {
      ++start_.num_contradictions;
      block_bytes = RoundedBlock(entry.bytes);
      return;
    }
    block_bytes = block->second.bytes;
    blocks_.erase(block);
  }

  void UndoFreeRequested(const Entry& entry) {
    const auto block = blocks_.find(entry.address);
    if (block == blocks_.end()) {
      ++start_.num_contradictions;
      return;
    }
    block->second.is_free_requested = false;
  }

  void UndoFreeCompleted(const Entry& entry) {
    const bool is_new =
        blocks_
            .insert_or_assign(entry.address,
                              Block{.address = entry.address,
                                    .bytes = RoundedBlock(entry.bytes),
                                    .requested_bytes = static_cast<std::int64_t>(entry.bytes),
                                    .is_free_requested = true,
                                    .stream = entry.stream})
            .second;
    start_.num_contradictions += is_new ? 0 : 1;
  }

  const DeviceMemory& memory_;
  Ranges<Segment> segments_;
  std::map<std::uint64_t, Block> blocks_;
  StartState start_;
};

}  // namespace

std::uint64_t RoundedBlock(std::uint64_t requested_bytes) {
  const auto bytes = static_cast<std::int64_t>(requested_bytes);
  return static_cast<std::uint64_t>(RoundUp(std::max<std::int64_t>(bytes, 1), kBlockUnit));
}

StartState Rewind(const DeviceMemory& memory) {
  return Undo(memory).Run();
}

}  // namespace orrery::ingest::torch_snapshot
