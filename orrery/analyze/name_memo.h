#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// Evaluates a function of a text once for each distinct text of a trace.
template <typename Function>
class NameMemo {
 public:
  using Result = std::decay_t<std::invoke_result_t<Function, std::string_view>>;

  NameMemo(const trace::Trace& trace, Function function)
      : trace_(&trace), function_(std::move(function)), known_(trace.strings.size()) {}

  const Result& operator()(StringId name) {
    std::optional<Result>& known = known_[static_cast<std::size_t>(name)];
    if (!known) {
      known = function_(trace_->Text(name));
    }
    return *known;
  }

 private:
  const trace::Trace* trace_;
  Function function_;
  std::vector<std::optional<Result>> known_;
};

}  // namespace orrery::analyze
