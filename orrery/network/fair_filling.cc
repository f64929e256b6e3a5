#include "orrery/network/fair_filling.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Levels within this share are reached at the same moment, and rates within it are the same.
constexpr double kSameLevel = 1 + 1e-13;
constexpr double kTolerance = 1e-11;

// Returns true if no other flow is on the link.
bool IsAlone(const TableUse& use) {
  return use.next == kNoUse && use.previous == kNoUse;
}

}  // namespace

FlowRow FlowTable::AppendRow(std::size_t num_uses, const FlowDemand& demand) {
  flows_.push_back({.weight = demand.weight,
                    .cap_level = demand.cap_bytes_per_second / demand.weight,
                    .multiplicity = demand.multiplicity,
                    .first_use = static_cast<std::uint32_t>(uses_.size()),
                    .num_uses = static_cast<std::uint32_t>(num_uses)});
  return static_cast<FlowRow>(flows_.size() - 1);
}

inline void FlowTable::AppendUse(FlowRow row, LinkId link, double load) {
  ORRERY_CHECK(link < first_use_.size(), "a flow uses links that exist");
  uses_.push_back({.flow = row, .link = link, .load = load});
}

FlowRow FlowTable::Append(std::span<const LinkUse> links, const FlowDemand& demand) {
  const FlowRow row = AppendRow(links.size(), demand);
  for (const LinkUse& use : links) {
    AppendUse(row, use.link, demand.weight * demand.multiplicity * use.share);
  }
  return row;
}

FlowRow FlowTable::Append(std::span<const LinkId> links, const FlowDemand& demand) {
  const FlowRow row = AppendRow(links.size(), demand);
  for (const LinkId link : links) {
    AppendUse(row, link, demand.weight * demand.multiplicity);
  }
  return row;
}

void FlowTable::Count(FlowRow row, double more) {
  if (num_on_link_.empty()) {
    return;
  }
  for (const TableUse& use : uses(row)) {
    num_on_link_[use.link] += more;
  }
}

void FlowTable::PutOnLinks(FlowRow row) {
  TableFlow& flow = flows_[row];
  flow.place = static_cast<std::uint32_t>(active_.size());
  active_.push_back(row);
  for (std::uint32_t i = flow.first_use; i < flow.first_use + flow.num_uses; ++i) {
    TableUse& use = uses_[i];
    std::uint32_t& first = first_use_[use.link];
    use.previous = kNoUse;
    use.next = first;
    if (first != kNoUse) {
      uses_[first].previous = i;
    }
    first = i;
  }
  Count(row, flow.multiplicity);
}

void FlowTable::TakeOffLinks(FlowRow row) {
  const TableFlow& flow = flows_[row];
  active_[flow.place] = active_.back();
  flows_[active_.back()].place = flow.place;
  active_.pop_back();
  for (const TableUse& use : uses(row)) {
    (use.previous == kNoUse ? first_use_[use.link] : uses_[use.previous].next) = use.next;
    if (use.next != kNoUse) {
      uses_[use.next].previous = use.previous;
    }
  }
  Count(row, -flow.multiplicity);
}

void FlowTable::TakeAllOffLinks() {
  for (const FlowRow row : active_) {
    for (const TableUse& use : uses(row)) {
      first_use_[use.link] = kNoUse;
    }
    Count(row, -flows_[row].multiplicity);
  }
  active_.clear();
}

void FlowTable::Clear() {
  ORRERY_CHECK(active_.empty(), "rows are forgotten when no flow is on a link");
  flows_.clear();
  uses_.clear();
}

FairFilling::FairFilling(FlowTable& table, std::vector<double> capacity_of_link,
                         const CongestionModel* congestion, std::vector<std::uint8_t> loses_goodput)
    : table_(&table),
      capacity_(std::move(capacity_of_link)),
      congestion_(congestion),
      loses_goodput_(std::move(loses_goodput)),
      open_(capacity_.size()),
      shared_(capacity_.size()),
      is_changed_(capacity_.size(), 0) {}

// Noise may leave a little less than nothing of a link, or of the load of its last flows.
double FairFilling::OpenLink::Level() const {
  return std::max(rest, 0.0) / std::max(load, std::numeric_limits<double>::min());
}

double FairFilling::CongestedCapacity(LinkId link) const {
  return capacity_[link] *
         (loses_goodput_[link] == 0 ? 1 : congestion_->Goodput(table_->num_on_link(link)));
}

void FairFilling::FlowRemoved(FlowRow flow) {
  for (const TableUse& use : table_->uses(flow)) {
    if (is_changed_[use.link] == 0) {
      is_changed_[use.link] = 1;
      changed_links_.push_back(use.link);
    }
  }
}

void FairFilling::ForgetChanges() {
  for (const LinkId link : changed_links_) {
    is_changed_[link] = 0;
  }
  changed_links_.clear();
}

void FairFilling::JoinAll() {
  for (const FlowRow row : table_->active()) {
    Join(row);
  }
  has_all_ = true;
  // The sums restart, without what flows held.
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

// Initializes a link at its first use in this refill.
void FairFilling::OpenShared(LinkId link) {
  open_[link].round = round_;
  set_links_.push_back(link);
  SharedLink& shared = shared_[link];
  shared.set_load = 0;
  shared.num_set = 0;
  shared.num_fixed = 0;
  shared.fixed_rest = Capacity(link);
  table_->ForEachUse(link, [&](const TableUse& use) {
    shared.fixed_rest -= use.load * table_->flow(use.flow).level;
    ++shared.num_fixed;
  });
}

// Moves a flow from what is fixed on its links to what is filled.
void FairFilling::AbsorbShared(FlowRow row) {
  const double level = table_->flow(row).level;
  for (const TableUse& use : table_->uses(row)) {
    if (open_[use.link].round != round_) {
      OpenShared(use.link);
    }
    SharedLink& shared = shared_[use.link];
    shared.set_load += use.load;
    ++shared.num_set;
    --shared.num_fixed;
    shared.fixed_rest =
        shared.num_fixed == 0 ? Capacity(use.link) : shared.fixed_rest + use.load * level;
  }
}

// Adds new flows of the set to the sums of their links.
void FairFilling::Absorb() {
  for (std::size_t i = filled_.size(); i < set_.size(); ++i) {
    filled_.push_back({.flow = set_[i], .old_level = table_->flow(set_[i]).level});
  }
  if (has_all_) {
    AbsorbAll();
    return;
  }
  for (; num_absorbed_ < set_.size(); ++num_absorbed_) {
    AbsorbShared(set_[num_absorbed_]);
  }
}

void FairFilling::AbsorbAll() {
  caps_.clear();
  for (const FlowRow row : set_) {
    AbsorbAmongAll(row);
  }
  num_absorbed_ = set_.size();
}

void FairFilling::AbsorbAmongAll(FlowRow row) {
  Cap cap{.level = table_->flow(row).cap_level, .flow = row};
  for (const TableUse& use : table_->uses(row)) {
    if (IsAlone(use)) {
      const double level = Capacity(use.link) / use.load;
      if (level < cap.level) {
        cap.level = level;
        cap.link = use.link;
      }
      continue;
    }
    OpenLink& link = open_[use.link];
    if (link.round != round_) {
      link = {.rest = Capacity(use.link), .round = round_};
      set_links_.push_back(use.link);
    }
    link.load += use.load;
    ++link.open;
  }
  if (cap.level < kInfinity) {
    caps_.push_back(cap);
  }
}

// A link may hold more than it can carry when a newcomer cost it goodput.
void FairFilling::JoinOverloaded() {
  if (congestion_ == nullptr || has_all_) {
    return;
  }
  const std::size_t num_links = set_links_.size();
  for (std::size_t i = 0; i < num_links; ++i) {
    const LinkId link = set_links_[i];
    if (shared_[link].num_fixed > 0 && shared_[link].fixed_rest < -kTolerance * capacity_[link]) {
      table_->ForEachUse(link, [&](const TableUse& use) { Join(use.flow); });
    }
  }
}

// Adds flows outside the set that lost their bottleneck, or that are above a flow whose bottleneck
// they share.
void FairFilling::JoinViolated(LinkId link) {
  const SharedLink& shared = shared_[link];
  if (shared.num_fixed == 0) {
    return;
  }
  const bool is_full = open_[link].rest <= kTolerance * capacity_[link];
  const double least = is_full ? shared.highest_level * (1 - kTolerance) : kInfinity;
  const double most = shared.full_level * (1 + kTolerance);
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
    if (!IsMostOfAll()) {
      JoinLimitedBy(link);
    }
  }
  ForgetChanges();
  while (HasNewcomers()) {
    if (!has_all_ && IsMostOfAll()) {
      JoinAll();
    }
    Absorb();
    JoinOverloaded();
    if (HasNewcomers()) {
      continue;
    }
    Fill();
    if (has_all_) {
      break;
    }
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
  open_links_.assign(set_links_.begin(), set_links_.end());
  num_open_ = set_.size();
  next_cap_ = 0;
  if (!has_all_) {
    BeginSharedFill();
  }
  for (const FlowRow row : set_) {
    mark_[row] = kOpen;
  }
  if (!std::ranges::is_sorted(caps_)) {
    std::ranges::sort(caps_);
  }
}

void FairFilling::BeginSharedFill() {
  for (const LinkId link : set_links_) {
    SharedLink& shared = shared_[link];
    shared.full_level = kInfinity;
    shared.highest_level = 0;
    open_[link] = {.rest = shared.fixed_rest,
                   .load = shared.set_load,
                   .open = shared.num_set,
                   .round = round_};
  }
  caps_.clear();
  for (const FlowRow row : set_) {
    if (table_->flow(row).cap_level < kInfinity) {
      caps_.push_back({.level = table_->flow(row).cap_level, .flow = row});
    }
  }
}

void FairFilling::Fill() {
  BeginFill();
  FillInRounds();
  FillByHeap();
  FreezeCapped(kInfinity);
}

// Drops links without open flows and returns the least level of the others. Compares fractions
// without dividing.
double FairFilling::CompactOpenLinks() {
  OpenLink least{.rest = kInfinity, .load = 1};
  std::size_t kept = 0;
  for (const LinkId id : open_links_) {
    const OpenLink& link = open_[id];
    if (link.open > 0) {
      open_links_[kept++] = id;
      if (link.rest * least.load < least.rest * link.load) {
        least = link;
      }
    }
  }
  open_links_.resize(kept);
  return least.Level();
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
        if (open_[link].open > 0 && open_[link].rest <= level * kSameLevel * open_[link].load) {
          FreezeLink(link, level);
        }
      }
    }
    if (num_open_ == 0) {
      open_links_.clear();
      return;
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
    heap_.emplace_back(open_[link].Level(), link);
  }
  std::ranges::make_heap(heap_, std::greater<>());
  double reached = 0;
  while (num_open_ > 0 && !heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater<>());
    const auto [level, link] = heap_.back();
    heap_.pop_back();
    if (open_[link].open == 0) {
      continue;
    }
    if (open_[link].Level() > level * kSameLevel || FreezeCapped(level)) {
      heap_.emplace_back(open_[link].Level(), link);
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
  for (; next_cap_ < caps_.size() && caps_[next_cap_].level <= up_to_level; ++next_cap_) {
    const Cap& cap = caps_[next_cap_];
    if (mark_[cap.flow] == kOpen) {
      Freeze(cap.flow, cap.level, cap.link);
      any = true;
    }
  }
  return any;
}

void FairFilling::FreezeLink(LinkId link, double level) {
  shared_[link].full_level = level;
  table_->ForEachUse(link, [&](const TableUse& use) {
    if (mark_[use.flow] == kOpen) {
      Freeze(use.flow, level, link);
    }
  });
}

void FairFilling::Freeze(FlowRow row, double level, LinkId bottleneck) {
  mark_[row] = kFrozen;
  --num_open_;
  table_->flow(row).level = level;
  table_->flow(row).bottleneck = bottleneck;
  for (const TableUse& use : table_->uses(row)) {
    if (has_all_ && IsAlone(use)) {
      continue;
    }
    OpenLink& open = open_[use.link];
    open.rest -= level * use.load;
    open.load -= use.load;
    --open.open;
    if (!has_all_) {
      shared_[use.link].highest_level = level;
    }
  }
}

}  // namespace orrery::network
