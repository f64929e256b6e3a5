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
  return std::pair(plan.bound, plan.screened.id);
}

}  // namespace

bool OpenPlans::IsLater::operator()(const OpenPlan& one, const OpenPlan& other) const {
  return PlaceOf(one) > PlaceOf(other);
}

OpenPlans::OpenPlans(std::vector<OpenPlan> plans, Refine refine)
    : size_(plans.size()), refine_(std::move(refine)), screened_(std::move(plans)) {
  std::ranges::sort(screened_, {}, PlaceOf);
}

Result<std::optional<OpenPlan>> OpenPlans::At(std::size_t place, double bar) {
  while (order_.size() <= place) {
    const bool has_screened = next_ < screened_.size() && screened_[next_].bound <= bar;
    const bool has_refined = !refined_.empty() && refined_.front().bound <= bar;
    if (!has_screened && !has_refined) {
      return std::nullopt;
    }
    // A refined bound is not below the first one.
    if (has_screened && (!has_refined || screened_[next_].bound <= refined_.front().bound)) {
      ORRERY_TRY_STATUS(RefineNext(bar));
    } else {
      order_.push_back(refined_.front());
      std::ranges::pop_heap(refined_, IsLater());
      refined_.pop_back();
    }
  }
  return order_[place].bound <= bar ? std::optional(order_[place]) : std::nullopt;
}

Status OpenPlans::RefineNext(double bar) {
  std::vector<OpenPlan> plans;
  for (std::size_t i = next_; i < screened_.size() && plans.size() < kRefinedAtOnce; ++i) {
    if (screened_[i].bound > bar) {
      break;
    }
    plans.push_back(screened_[i]);
  }
  ORRERY_TRY(const std::vector<OpenPlan> refined, refine_(plans));
  next_ += plans.size();
  for (const OpenPlan& plan : refined) {
    refined_.push_back(plan);
    std::ranges::push_heap(refined_, IsLater());
  }
  return {};
}

OpenPlans::Left OpenPlans::LeftFrom(std::size_t place, double bar) const {
  Left left;
  const auto add = [&](const OpenPlan& plan) {
    if (plan.bound <= bar) {
      ++left.plans;
      left.smallest = std::min(left.smallest.value_or(plan.bound), plan.bound);
    }
  };
  for (std::size_t i = place; i < order_.size(); ++i) {
    add(order_[i]);
  }
  for (const OpenPlan& plan : refined_) {
    add(plan);
  }
  for (std::size_t i = next_; i < screened_.size() && screened_[i].bound <= bar; ++i) {
    add(screened_[i]);
  }
  return left;
}

}  // namespace orrery::search
