#include "orrery/memory/heat_windows.h"

#include <algorithm>

namespace orrery::memory {
namespace {

constexpr std::int64_t kMostFixedWindows = 1'000'000;
constexpr std::int64_t kFewWindows = 4'096;
constexpr std::size_t kFewCells = 1 << 20;

}  // namespace

HeatWindows::HeatWindows(const HeatOptions& options, HeatBlocks& blocks)
    : unit_(options.unit),
      is_fixed_(options.window.has_value()),
      blocks_(blocks),
      window_(options.window.value_or(HeatOptions::kFirstWindow)) {
  FindPlace();
}

void HeatWindows::BeginLaunch(std::int64_t position) {
  position_ = position;
  is_placed_ = false;
}

void HeatWindows::Add(CountedBlock& block, std::int64_t accesses) {
  if (unit_ == WindowUnit::kAccesses) {
    AddInSequence(block, accesses);
  } else {
    AddToLaunch(block, accesses);
  }
  if (!is_fixed_ && blocks_.num_cells() > kFewCells) {
    KeepCellsFew();
  }
}

void HeatWindows::AddToLaunch(CountedBlock& block, std::int64_t accesses) {
  if (!is_placed_) {
    MakeRoomFor(position_ / window_);
    current_ = position_ / window_;
    is_placed_ = true;
  }
  if (!are_too_many_) {
    last_ = std::max(last_, current_);
    total_ += accesses;
    blocks_.Add(block, static_cast<std::uint32_t>(current_), accesses);
  }
}

void HeatWindows::AddInSequence(CountedBlock& block, std::int64_t accesses) {
  if (accesses > room_) {
    MakeRoomFor(current_ + (accesses - room_ - 1) / window_ + 1);
  }
  while (accesses > 0 && !are_too_many_) {
    if (room_ == 0) {
      ++current_;
      room_ = window_;
    }
    const std::int64_t now = std::min(accesses, room_);
    last_ = current_;
    blocks_.Add(block, static_cast<std::uint32_t>(current_), now);
    total_ += now;
    room_ -= now;
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
  FindPlace();
}

// The next access in sequence may be the first of a window that does not exist so far.
void HeatWindows::FindPlace() {
  if (unit_ == WindowUnit::kAccesses) {
    current_ = total_ / window_;
    room_ = window_ - total_ % window_;
  } else {
    current_ /= 2;
  }
}

}  // namespace orrery::memory
