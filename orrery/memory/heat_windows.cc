#include "orrery/memory/heat_windows.h"

#include <algorithm>
#include <limits>

namespace orrery::memory {
namespace {

constexpr std::int64_t kMostFixedWindows = 1'000'000;
constexpr std::int64_t kFewWindows = 4'096;

}  // namespace

HeatWindows::HeatWindows(const HeatOptions& options, HeatBlocks& blocks)
    : unit_(options.unit),
      is_fixed_(options.window.has_value()),
      blocks_(blocks),
      window_(options.window.value_or(HeatOptions::kFirstWindow)),
      room_(unit_ == WindowUnit::kAccesses ? window_ : 0) {}

void HeatWindows::BeginLaunch(std::int64_t position) {
  if (unit_ != WindowUnit::kAccesses) {
    position_ = position;
    room_ = 0;
  }
}

void HeatWindows::AddBeyond(CountedBlock& block, std::int64_t accesses) {
  if (unit_ == WindowUnit::kAccesses) {
    AddInSequence(block, accesses);
    return;
  }
  MakeRoomFor(position_ / window_);
  if (!are_too_many_) {
    current_ = position_ / window_;
    room_ = std::numeric_limits<std::int64_t>::max();
    AddHere(block, accesses);
  }
}

void HeatWindows::AddInSequence(CountedBlock& block, std::int64_t accesses) {
  MakeRoomFor(current_ + (accesses - room_ - 1) / window_ + 1);
  while (accesses > 0 && !are_too_many_) {
    if (room_ == 0) {
      ++current_;
      room_ = window_;
    }
    const std::int64_t now = std::min(accesses, room_);
    AddHere(block, now);
    accesses -= now;
  }
}

// Each doubling halves the numbers of windows that have accesses and of the one to come.
void HeatWindows::MakeRoomFor(std::int64_t last_window) {
  are_too_many_ = are_too_many_ || (is_fixed_ && last_window >= kMostFixedWindows);
  while (!is_fixed_ && last_window >= kFewWindows) {
    Double();
    last_window /= 2;
  }
}

void HeatWindows::KeepCellsFew() {
  while (blocks_.num_cells() > kFewCells && last_ > 0) {
    Double();
  }
}

void HeatWindows::Double() {
  blocks_.HalveWindows();
  window_ *= 2;
  last_ /= 2;
  current_ /= 2;
  if (unit_ == WindowUnit::kAccesses) {
    current_ = total_ / window_;
    room_ = window_ - total_ % window_;
  }
}

}  // namespace orrery::memory
