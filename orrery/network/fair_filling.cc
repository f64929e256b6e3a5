#include "orrery/network/fair_filling.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "orrery/network/congestion.h"

namespace orrery::network {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Levels within this share are reached at the same moment, and rates within it are the same.
constexpr double kSameLevel = 1 + 1e-13;
constexpr double kTolerance = 1e-11;

constexpr std::uint8_t kOutside = 0;
constexpr std::uint8_t kFrozen = 1;
constexpr std::uint8_t kOpen = 2;

}  // namespace

FairFilling::FairFilling(FlowTable& table, std::vector<double> capacity_of_link,
                         const CongestionModel* congestion, std::vector<std::uint8_t> loses_goodput)
    : table_(&table),
      capacity_(std::move(capacity_of_link)),
      congestion_(congestion),
      loses_goodput_(std::move(loses_goodput)),
      fill_(capacity_.size()) {}

// Noise may leave a little less than nothing of a link, or of the load of its last flows.
double FairFilling::LinkFill::Level() const {
  return std::max(rest, 0.0) / std::max(load, std::numeric_limits<double>::min());
}

double FairFilling::Capacity(LinkId link) const {
  if (congestion_ == nullptr || loses_goodput_[link] == 0) {
    return capacity_[link];
  }
  return capacity_[link] * congestion_->Goodput(table_->competing(link));
}

void FairFilling::Left(FlowRow flow) {
  for (const TableUse& use : table_->uses(flow)) {
    changed_links_.push_back(use.link);
  }
}

void FairFilling::Join(FlowRow row) {
  if (mark_.size() < table_->num_rows()) {
    mark_.resize(table_->num_rows(), kOutside);
  }
  if (mark_[row] == kOutside) {
    mark_[row] = kFrozen;
    set_.push_back(row);
  }
}

void FairFilling::JoinAll() {
  for (const FlowRow row : table_->active()) {
    Join(row);
  }
  has_all_ = true;
  // The sums begin anew, without what flows held.
  ++round_;
  set_links_.clear();
  num_absorbed_ = 0;
}

void FairFilling::JoinLimitedBy(LinkId link) {
  table_->ForEachUse(link, [&](const TableUse& use) {
    if (table_->flow(use.flow).bottleneck == link) {
      Join(use.flow);
    }
  });
}

// Looks at a link for the first time in this refill.
void FairFilling::Open(LinkId link) {
  LinkFill& fill = fill_[link];
  fill.round = round_;
  fill.set_load = 0;
  fill.num_set = 0;
  fill.num_fixed = 0;
  fill.fixed_rest = Capacity(link);
  set_links_.push_back(link);
  if (has_all_) {
    return;
  }
  table_->ForEachUse(link, [&](const TableUse& use) {
    fill.fixed_rest -= use.load * table_->flow(use.flow).level;
    ++fill.num_fixed;
  });
}

// Moves newcomers from what is fixed on their links to what is filled.
void FairFilling::Absorb() {
  for (; num_absorbed_ < set_.size(); ++num_absorbed_) {
    const FlowRow row = set_[num_absorbed_];
    const double level = table_->flow(row).level;
    if (filled_.size() == num_absorbed_) {
      filled_.push_back({.flow = row, .old_level = level});
    }
    for (const TableUse& use : table_->uses(row)) {
      LinkFill& fill = fill_[use.link];
      if (fill.round != round_) {
        Open(use.link);
      }
      fill.set_load += use.load;
      ++fill.num_set;
      if (!has_all_) {
        --fill.num_fixed;
        fill.fixed_rest =
            fill.num_fixed == 0 ? Capacity(use.link) : fill.fixed_rest + use.load * level;
      }
    }
  }
}

// A link may hold more than it can carry when a newcomer cost it goodput.
void FairFilling::JoinOverloaded() {
  if (congestion_ == nullptr) {
    return;
  }
  const std::size_t num_links = set_links_.size();
  for (std::size_t i = 0; i < num_links; ++i) {
    const LinkId link = set_links_[i];
    if (fill_[link].num_fixed > 0 && fill_[link].fixed_rest < -kTolerance * capacity_[link]) {
      table_->ForEachUse(link, [&](const TableUse& use) { Join(use.flow); });
    }
  }
}

// Flows outside of the set that lost their bottleneck, or that are above a flow whose bottleneck
// they share.
void FairFilling::JoinViolated(LinkId link) {
  const LinkFill& fill = fill_[link];
  if (fill.num_fixed == 0) {
    return;
  }
  const bool is_full = fill.rest <= kTolerance * capacity_[link];
  const double least = is_full ? fill.highest_level * (1 - kTolerance) : kInfinity;
  const double most = fill.full_level * (1 + kTolerance);
  table_->ForEachUse(link, [&](const TableUse& use) {
    const TableFlow& flow = table_->flow(use.flow);
    if (mark_[use.flow] == kOutside &&
        (flow.level > most || (flow.bottleneck == link && flow.level < least))) {
      Join(use.flow);
    }
  });
}

std::span<const FairFilling::Filled> FairFilling::Refill() {
  ++round_;
  filled_.clear();
  for (const LinkId link : changed_links_) {
    JoinLimitedBy(link);
  }
  changed_links_.clear();
  while (HasNewcomers()) {
    if (!has_all_ && set_.size() * 2 > table_->active().size()) {
      JoinAll();
    }
    Absorb();
    JoinOverloaded();
    if (HasNewcomers()) {
      continue;
    }
    Fill();
    for (const LinkId link : set_links_) {
      JoinViolated(link);
    }
  }
  for (const FlowRow row : set_) {
    mark_[row] = kOutside;
  }
  set_.clear();
  set_links_.clear();
  num_absorbed_ = 0;
  has_all_ = false;
  return filled_;
}

void FairFilling::BeginFill() {
  open_links_.clear();
  for (const LinkId link : set_links_) {
    LinkFill& fill = fill_[link];
    fill.rest = fill.fixed_rest;
    fill.load = fill.set_load;
    fill.open = fill.num_set;
    fill.full_level = kInfinity;
    fill.highest_level = 0;
    open_links_.push_back(link);
  }
  caps_.clear();
  next_cap_ = 0;
  for (const FlowRow row : set_) {
    mark_[row] = kOpen;
    if (table_->flow(row).cap_level < kInfinity) {
      caps_.emplace_back(table_->flow(row).cap_level, row);
    }
  }
  std::ranges::sort(caps_);
}

void FairFilling::Fill() {
  BeginFill();
  FillInRounds();
  FillByHeap();
  FreezeCapped(kInfinity);
}

// Drops links without open flows and returns the least level of the others.
double FairFilling::CompactOpenLinks() {
  double least = kInfinity;
  std::size_t kept = 0;
  for (const LinkId link : open_links_) {
    if (fill_[link].open > 0) {
      open_links_[kept++] = link;
      least = std::min(least, fill_[link].Level());
    }
  }
  open_links_.resize(kept);
  return least;
}

void FairFilling::FillInRounds() {
  // A round pays while it closes a good share of the links, or when there are few.
  constexpr std::size_t kFewLinks = 16;
  constexpr std::size_t kGoodShare = 8;
  double level = CompactOpenLinks();
  while (!open_links_.empty()) {
    const std::size_t before = open_links_.size();
    if (!FreezeCapped(level)) {
      for (const LinkId link : open_links_) {
        if (fill_[link].open > 0 && fill_[link].rest <= level * kSameLevel * fill_[link].load) {
          FreezeLink(link, level);
        }
      }
    }
    level = CompactOpenLinks();
    if (open_links_.size() > kFewLinks && (before - open_links_.size()) * kGoodShare < before) {
      return;
    }
  }
}

void FairFilling::FillByHeap() {
  heap_.clear();
  for (const LinkId link : open_links_) {
    heap_.emplace_back(fill_[link].Level(), link);
  }
  std::ranges::make_heap(heap_, std::greater<>());
  double reached = 0;
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater<>());
    const auto [level, link] = heap_.back();
    heap_.pop_back();
    if (fill_[link].open == 0) {
      continue;
    }
    if (fill_[link].Level() > level * kSameLevel || FreezeCapped(level)) {
      heap_.emplace_back(fill_[link].Level(), link);
      std::ranges::push_heap(heap_, std::greater<>());
      continue;
    }
    reached = level <= reached * kSameLevel ? reached : level;
    FreezeLink(link, reached);
  }
}

// Freezes flows that reach their cap at or below a level; says whether there were any.
bool FairFilling::FreezeCapped(double up_to_level) {
  bool any = false;
  for (; next_cap_ < caps_.size() && caps_[next_cap_].first <= up_to_level; ++next_cap_) {
    if (mark_[caps_[next_cap_].second] == kOpen) {
      Freeze(caps_[next_cap_].second, caps_[next_cap_].first, kNoLink);
      any = true;
    }
  }
  return any;
}

void FairFilling::FreezeLink(LinkId link, double level) {
  fill_[link].full_level = level;
  table_->ForEachUse(link, [&](const TableUse& use) {
    if (mark_[use.flow] == kOpen) {
      Freeze(use.flow, level, link);
    }
  });
}

void FairFilling::Freeze(FlowRow row, double level, LinkId bottleneck) {
  mark_[row] = kFrozen;
  table_->flow(row).level = level;
  table_->flow(row).bottleneck = bottleneck;
  for (const TableUse& use : table_->uses(row)) {
    LinkFill& fill = fill_[use.link];
    fill.rest -= level * use.load;
    fill.load -= use.load;
    fill.highest_level = level;
    --fill.open;
  }
}

}  // namespace orrery::network
