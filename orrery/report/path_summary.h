#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/report/run_report.h"

namespace orrery::report {

// What a critical path is made of. The results look into the path, which must outlive them.

struct ClassTime {
  std::string_view path_class;
  std::int64_t time_ns = 0;
};

/// Returns the classes that take time, the longest first.
[[nodiscard]] std::vector<ClassTime> TimeByClass(const CriticalPath& path);

/// Hops of one class and name.
struct HopSum {
  const Hop* longest = nullptr;
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
};

/// Returns the `max_sums` that take most of the path, the longest first.
[[nodiscard]] std::vector<HopSum> LargestSums(const CriticalPath& path, std::size_t max_sums);

/// Returns a class as people write it: "launch overhead".
[[nodiscard]] std::string ClassName(std::string_view path_class);

}  // namespace orrery::report
