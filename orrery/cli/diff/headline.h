#pragma once

#include <string>

#include "orrery/analyze/diff/diff.h"

namespace orrery::cli {

/// Returns "12.3 ms" for nanoseconds.
[[nodiscard]] std::string TimeText(double ns);

/// Returns "+12.3 ms" or "-12.3 ms".
[[nodiscard]] std::string SignedTimeText(double ns);

/// Returns the sentence that a comparison comes down to: "B is 3.2 % slower than A: 607 ms → 626 ms
/// a step; most of it in compute (+15.0 ms), there in sgemm (+12.0 ms)".
[[nodiscard]] std::string HeadlineText(const analyze::diff::RunDiff& diff);

}  // namespace orrery::cli
