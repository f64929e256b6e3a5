#include "orrery/search/open_plans.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::search {
namespace {

constexpr std::size_t kRefinedAtOnce = 256;

auto PlaceOf(const OpenPlan& plan) {
  return std::pair(plan.bound, plan.bounded.id);
}

}  // namespace

bool OpenPlans::IsLater::operator()(const OpenPlan& one, const OpenPlan& other) const {
  return PlaceOf(one) > PlaceOf(other);
}

OpenPlans::OpenPlans(std::vector<OpenPlan> plans, Refine refine, BarOf bar_of)
    : size_(plans.size()),
      refine_(std::move(refine)),
      bar_of_(std::move(bar_of)),
      bounded_(std::move(plans)) {
  std::ranges::sort(bounded_, {}, PlaceOf);
}

Result<std::optional<OpenPlan>> OpenPlans::At(std::size_t place) {
  while (order_.size() <= place) {
    DropAboveBar();
    const bool has_bounded = next_ < bounded_.size();
    if (!has_bounded && refined_.empty()) {
      return std::nullopt;
    }
    // A refined bound is not below the first one.
    if (has_bounded && (refined_.empty() || bounded_[next_].bound <= refined_.front().bound)) {
      ORRERY_TRY_STATUS(RefineNext());
    } else {
      order_.push_back(refined_.front());
      std::ranges::pop_heap(refined_, IsLater());
      refined_.pop_back();
    }
  }
  return order_[place];
}

void OpenPlans::DropAboveBar() {
  while (next_ < bounded_.size() && IsAboveBar(bounded_[next_])) {
    ++next_;
  }
  while (!refined_.empty() && IsAboveBar(refined_.front())) {
    std::ranges::pop_heap(refined_, IsLater());
    refined_.pop_back();
  }
}

Status OpenPlans::RefineNext() {
  std::vector<OpenPlan> plans;
  std::size_t next = next_;
  for (; next < bounded_.size() && plans.size() < kRefinedAtOnce; ++next) {
    if (!IsAboveBar(bounded_[next])) {
      plans.push_back(bounded_[next]);
    }
  }
  ORRERY_TRY(const std::vector<OpenPlan> refined, refine_(plans));
  next_ = next;
  for (const OpenPlan& plan : refined) {
    refined_.push_back(plan);
    std::ranges::push_heap(refined_, IsLater());
  }
  return {};
}

OpenPlans::Left OpenPlans::LeftFrom(std::size_t place) const {
  Left left;
  const auto add = [&](const OpenPlan& plan) {
    if (!IsAboveBar(plan)) {
      ++left.plans;
      left.smallest = std::min(left.smallest.value_or(plan.bound), plan.bound);
    }
  };
  std::for_each(order_.begin() + static_cast<std::ptrdiff_t>(std::min(place, order_.size())),
                order_.end(), add);
  std::ranges::for_each(refined_, add);
  std::for_each(bounded_.begin() + static_cast<std::ptrdiff_t>(next_), bounded_.end(), add);
  return left;
}

}  // namespace orrery::search
