#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "orrery/memory/heat.h"
#include "orrery/memory/heat_blocks.h"

namespace orrery::memory {

/// Puts accesses that come one after the other into blocks and windows. Without a fixed window it
/// doubles until windows and cells are few: the smallest that will do for all, however they come.
class HeatWindows {
 public:
  HeatWindows(const HeatOptions& options, HeatBlocks& blocks);

  /// A launch at a place of its own: its number, or its time.
  void BeginLaunch(std::int64_t position);

  /// There are accesses.
  void Add(CountedBlock& block, std::int64_t accesses) {
    if (accesses <= room_) {
      AddHere(block, accesses);
    } else {
      AddBeyond(block, accesses);
    }
    if (!is_fixed_ && blocks_.num_cells() > kFewCells) {
      KeepCellsFew();
    }
  }

  [[nodiscard]] std::int64_t total() const { return total_; }

  [[nodiscard]] std::int64_t window() const { return window_; }

  /// Whether a fixed window is so small that there are too many of them; they are counted no more.
  [[nodiscard]] bool AreTooMany() const { return are_too_many_; }

 private:
  static constexpr std::size_t kFewCells = 1 << 20;

  void AddHere(CountedBlock& block, std::int64_t accesses) {
    last_ = std::max(last_, current_);
    total_ += accesses;
    room_ -= accesses;
    blocks_.Add(block, static_cast<std::uint32_t>(current_), accesses);
  }

  void AddBeyond(CountedBlock& block, std::int64_t accesses);
  void AddInSequence(CountedBlock& block, std::int64_t accesses);
  void MakeRoomFor(std::int64_t last_window);
  void KeepCellsFew();
  void Double();

  WindowUnit unit_;
  bool is_fixed_;
  bool are_too_many_ = false;
  HeatBlocks& blocks_;
  std::int64_t window_;
  std::int64_t total_ = 0;
  std::int64_t position_ = 0;  // of the launch
  std::int64_t current_ = 0;   // window
  std::int64_t last_ = 0;      // the last window that has accesses
  std::int64_t room_ = 0;      // accesses until the next window; 0: the launch has no window so far
};

}  // namespace orrery::memory
