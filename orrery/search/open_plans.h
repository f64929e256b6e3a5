#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/plan_figures.h"

namespace orrery::search {

/// A plan that may be among the best, and what its objective is at least.
struct OpenPlan {
  ScreenedPlan screened;
  double bound = 0;

  bool operator==(const OpenPlan&) const = default;
};

/// Plans in the order of their refined bounds, ties by id. Only those are refined whose first bound
/// says that they may be next: refining takes longer than screening, and playing longer than both.
class OpenPlans {
 public:
  /// Returns the plans with closer bounds, in the same order.
  using Refine = std::function<Result<std::vector<OpenPlan>>(const std::vector<OpenPlan>& plans)>;

  OpenPlans(std::vector<OpenPlan> plans, Refine refine);

  /// The plan at a place of the order; nothing where none is left that is not above the bar.
  [[nodiscard]] Result<std::optional<OpenPlan>> At(std::size_t place, double bar);

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Of the plans from a place on: how many are not above the bar, by what is known so far, and the
  /// smallest bound among them.
  struct Left {
    std::uint64_t plans = 0;
    std::optional<double> smallest = {};
  };

  [[nodiscard]] Left LeftFrom(std::size_t place, double bar) const;

 private:
  struct IsLater {
    bool operator()(const OpenPlan& one, const OpenPlan& other) const;
  };

  [[nodiscard]] Status RefineNext(double bar);

  std::size_t size_;
  Refine refine_;
  std::vector<OpenPlan> screened_;  // by bound; those before next_ are refined
  std::size_t next_ = 0;
  std::vector<OpenPlan> refined_;  // a heap: the next one is first
  std::vector<OpenPlan> order_;    // as far as it is known
};

}  // namespace orrery::search
