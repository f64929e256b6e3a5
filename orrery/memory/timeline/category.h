#pragma once

#include <string_view>
#include <vector>

#include "orrery/memory/timeline/history.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// What memory is for, in the words of PyTorch's memory timeline.
///
/// Where a recording names it, its name counts. Else it follows from operators: what an optimizer
/// keeps is its state, what a backward pass leaves to others is a gradient, what a forward pass
/// leaves to a backward pass is an activation, and what is gone when its pass is, is temporary.
/// Memory from before the recording may be parameters as well as states.
class Categories {
 public:
  explicit Categories(const trace::Trace& trace, const MemoryHistory& history);

  [[nodiscard]] std::string_view OfLife(std::uint32_t life) const { return of_life_[life]; }

  /// Of a change, with or without a life.
  [[nodiscard]] std::string_view Of(const Change& change) const;

 private:
  const trace::Trace* trace_;
  std::string_view without_name_;  // of changes that have neither a life nor a name
  std::vector<std::string_view> of_life_;
};

}  // namespace orrery::memory::timeline
