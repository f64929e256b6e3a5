#include "orrery/report/path_summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace orrery::report {
namespace {

void Add(const Hop& hop, HopSum& sum) {
  ++sum.count;
  sum.time_ns += hop.duration_ns;
  if (sum.longest == nullptr || hop.duration_ns > sum.longest->duration_ns) {
    sum.longest = &hop;
  }
}

}  // namespace

std::vector<ClassTime> TimeByClass(const CriticalPath& path) {
  std::map<std::string_view, std::int64_t> by_class;
  for (const Hop& hop : path.hops) {
    by_class[hop.path_class] += hop.duration_ns;
  }
  std::vector<ClassTime> times;
  for (const auto& [path_class, time_ns] : by_class) {
    if (time_ns > 0) {
      times.push_back({.path_class = path_class, .time_ns = time_ns});
    }
  }
  std::ranges::stable_sort(times, std::greater{}, &ClassTime::time_ns);
  return times;
}

std::vector<HopSum> LargestSums(const CriticalPath& path, std::size_t max_sums) {
  std::map<std::pair<std::string_view, std::string_view>, HopSum> by_name;
  for (const Hop& hop : path.hops) {
    Add(hop, by_name[{hop.path_class, hop.name}]);
  }
  std::vector<HopSum> sums;
  for (const auto& [name, sum] : by_name) {
    sums.push_back(sum);
  }
  std::ranges::stable_sort(sums, std::greater{}, &HopSum::time_ns);
  sums.resize(std::min(sums.size(), max_sums));
  return sums;
}

std::string ClassName(std::string_view path_class) {
  std::string name(path_class);
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace orrery::report
