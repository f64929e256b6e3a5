#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "orrery/base/interval_set.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// What a host thread was doing: nanoseconds by the name of the innermost operator or call. The
/// empty name is time in which nothing recorded was open.
using HostTimes = std::unordered_map<std::string, std::int64_t>;

/// Returns the self times of operators and runtime calls on a thread inside an interval; they sum
/// to its length.
[[nodiscard]] HostTimes SelfTimes(const trace::Trace& trace, RowId thread,
                                  Interval interval);

}  // namespace orrery::analyze
