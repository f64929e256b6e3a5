#include "orrery/network/pause.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/network/fair_filling.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Levels within this share are the same.
constexpr double kTolerance = 1e-9;
constexpr int kMostRounds = 64;

bool IsBelow(double level, double other) {
  return level < other * (1 - kTolerance);
}

}  // namespace

PauseSpread::PauseSpread(const FlowTable& table, std::vector<double> capacity_of_link)
    : table_(table), capacity_(std::move(capacity_of_link)), reached_(capacity_.size(), 0) {}

void PauseSpread::SetPairs(FlowRow flow, std::span<const LinkPair> pairs) {
  rows_.resize(std::max<std::size_t>(rows_.size(), flow + 1));
  rows_[flow].pairs = pairs;
}

bool PauseSpread::IsHeld(FlowRow flow) const {
  return IsBelow(rows_[flow].level, table_.flow(flow).cap_level);
}

// Returns true if the link is full and no flow on it has more.
bool PauseSpread::IsBottleneck(FlowRow flow, LinkId link) const {
  double carried = 0;
  double highest = 0;
  table_.ForEachUse(link, [&](const TableUse& use) {
    carried += use.load * rows_[use.flow].level;
    highest = std::max(highest, rows_[use.flow].level);
  });
  return !IsBelow(carried, capacity_[link]) && !IsBelow(rows_[flow].level, highest);
}

bool PauseSpread::IsHeldAt(FlowRow flow, LinkId link) const {
  return std::ranges::find(rows_[flow].held_at, link) != rows_[flow].held_at.end();
}

void PauseSpread::FindBottlenecks() {
  held_.clear();
  for (const FlowRow flow : table_.active()) {
    rows_[flow].held_at.clear();
    if (!IsHeld(flow)) {
      continue;
    }
    held_.push_back(flow);
    for (const TableUse& use : table_.uses(flow)) {
      if (IsBottleneck(flow, use.link)) {
        rows_[flow].held_at.push_back(use.link);
      }
    }
  }
  std::ranges::sort(held_);
}

// All links of its paths that lead to one that holds it, not only the last of them: it arrives on
// them no faster than it leaves.
void PauseSpread::AddCausesOf(FlowRow flow) {
  ++walk_;
  const Row& row = rows_[flow];
  for (const LinkId link : row.held_at) {
    reached_[link] = walk_;
  }
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (const LinkPair& pair : row.pairs) {
      if (reached_[pair.after] == walk_ && reached_[pair.before] != walk_) {
        reached_[pair.before] = walk_;
        causes_.push_back({.link = pair.before, .flow = flow});
        is_more = true;
      }
    }
  }
}

void PauseSpread::FindCauses() {
  causes_.clear();
  for (const FlowRow flow : held_) {
    AddCausesOf(flow);
  }
  std::ranges::sort(causes_, {},
                    [](const Cause& cause) { return std::pair(cause.link, cause.flow); });
}

// The level at which the offers fill a link, infinite where they do not.
double PauseSpread::FairLevel(LinkId link) {
  std::ranges::sort(offers_, {},
                    [](const Offer& offer) { return std::pair(offer.level, offer.flow); });
  double rest = capacity_[link];
  double load = 0;
  for (const Offer& offer : offers_) {
    load += offer.load;
  }
  for (const Offer& offer : offers_) {
    if (offer.level * load >= rest) {
      return std::max(rest, 0.0) / load;
    }
    rest -= offer.level * offer.load;
    load -= offer.load;
  }
  return kInfinity;
}

// Flows that are held here or later would send as much as they can; others keep their rate.
void PauseSpread::PauseLink(std::span<const Cause> causes) {
  const LinkId link = causes.front().link;
  const auto is_cause = [&](FlowRow flow) {
    return std::ranges::binary_search(causes, flow, {}, &Cause::flow);
  };
  offers_.clear();
  table_.ForEachUse(link, [&](const TableUse& use) {
    const bool would_send_more = is_cause(use.flow) || IsHeldAt(use.flow, link);
    offers_.push_back(
        {.flow = use.flow,
         .load = use.load,
         .level = would_send_more ? table_.flow(use.flow).cap_level : rows_[use.flow].level});
  });
  const double fair = FairLevel(link);
  double part = 1;
  for (const Offer& offer : offers_) {
    if (is_cause(offer.flow)) {
      part = std::min(part, rows_[offer.flow].level / std::min(offer.level, fair));
    }
  }
  for (const Offer& offer : offers_) {
    const double level = part * std::min(offer.level, fair);
    if (part < 1 && IsBelow(level, rows_[offer.flow].level)) {
      limits_.push_back({.flow = offer.flow, .link = link, .level = level});
    }
  }
}

bool PauseSpread::ApplyLimits() {
  std::ranges::sort(limits_, {}, [](const Limit& limit) {
    return std::tuple(limit.flow, limit.level, limit.link);
  });
  for (const Limit& limit : limits_) {
    Row& row = rows_[limit.flow];
    if (IsBelow(limit.level, row.level)) {
      row.level = limit.level;
      row.held_at.clear();
    }
    if (!IsBelow(row.level, limit.level)) {
      row.held_at.push_back(limit.link);
    }
    held_.push_back(limit.flow);
  }
  std::ranges::sort(held_);
  held_.erase(std::ranges::unique(held_).begin(), held_.end());
  return !limits_.empty();
}

std::span<const FairFilling::Filled> PauseSpread::Refresh() {
  rows_.resize(std::max(rows_.size(), table_.num_rows()));
  for (const FlowRow flow : table_.active()) {
    rows_[flow].level = std::min(table_.flow(flow).level, table_.flow(flow).cap_level);
  }
  FindBottlenecks();
  for (int round = 0; round < kMostRounds; ++round) {
    FindCauses();
    limits_.clear();
    for (std::size_t first = 0; first < causes_.size();) {
      std::size_t end = first;
      while (end < causes_.size() && causes_[end].link == causes_[first].link) {
        ++end;
      }
      PauseLink(std::span(causes_).subspan(first, end - first));
      first = end;
    }
    if (!ApplyLimits()) {
      break;
    }
  }
  changed_.clear();
  for (const FlowRow flow : table_.active()) {
    Row& row = rows_[flow];
    if (row.level != row.shown_level) {
      changed_.push_back({.flow = flow, .old_level = std::exchange(row.shown_level, row.level)});
    }
  }
  return changed_;
}

}  // namespace orrery::network
