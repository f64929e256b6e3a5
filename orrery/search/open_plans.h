#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/plan_results.h"

namespace orrery::search {

/// A plan that may be among the best, and what its objective is at least.
struct OpenPlan {
  BoundedPlan bounded;
  double bound = 0;

  bool operator==(const OpenPlan&) const = default;
};

/// Plans in the order of their refined bounds, ties by id. Only those are refined whose first bound
/// says that they may be next: refining takes longer than the first bounds, and simulating longer
/// than both.
class OpenPlans {
 public:
  /// Returns the plans with closer bounds, in the same order.
  using Refine = std::function<Result<std::vector<OpenPlan>>(const std::vector<OpenPlan>& plans)>;

  /// The value that the bound of a plan must not exceed; falls while plans are simulated.
  using BarOf = std::function<double(const OpenPlan& plan)>;

  OpenPlans(std::vector<OpenPlan> plans, Refine refine, BarOf bar_of);

  /// The plan at a place of the order. Plans that are above their bar when it is their turn have no
  /// place; nothing where no others are left.
  [[nodiscard]] Result<std::optional<OpenPlan>> At(std::size_t place);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Of the plans from a place on: how many are not above their bars, by what is known so far, and
  /// the smallest bound among them.
  struct Left {
    std::uint64_t plans = 0;
    std::optional<double> smallest = {};
  };

  [[nodiscard]] Left LeftFrom(std::size_t place) const;

 private:
  struct IsLater {
    bool operator()(const OpenPlan& one, const OpenPlan& other) const;
  };

  [[nodiscard]] bool IsAboveBar(const OpenPlan& plan) const { return plan.bound > bar_of_(plan); }

  // Leaves out plans that cannot be next any more.
  void DropAboveBar();
  [[nodiscard]] Status RefineNext();

  std::size_t size_;
  Refine refine_;
  BarOf bar_of_;
  std::vector<OpenPlan> bounded_;  // by bound; those before next_ are refined or left out
  std::size_t next_ = 0;
  std::vector<OpenPlan> refined_;  // a heap: the next one is first
  std::vector<OpenPlan> order_;    // as far as it is known
};

}  // namespace orrery::search
