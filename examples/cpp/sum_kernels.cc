// Sums the time of kernels by name over all ranks of a run, the longest first.
//
//   sum_kernels tests/data/kineto/two_ranks

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/api/run.h"

namespace {

using Sums = std::unordered_map<std::string, std::int64_t>;

// A rank is a set of tables, and a table a set of columns of equal length.
void AddKernels(const orrery::trace::Trace& rank, Sums& duration_ns_of_kernel) {
  const orrery::trace::Activities& activities = rank.activities;
  for (std::size_t row = 0; row < activities.size(); ++row) {
    if (activities.kind[row] == orrery::trace::ActivityKind::kKernel) {
      const std::string name(rank.Text(activities.name[row]));
      duration_ns_of_kernel[name] += activities.duration_ns[row];
    }
  }
}

std::vector<std::pair<std::string, std::int64_t>> LongestFirst(const Sums& sums) {
  std::vector<std::pair<std::string, std::int64_t>> rows(sums.begin(), sums.end());
  std::sort(rows.begin(), rows.end(), [](const auto& lhs, const auto& rhs) {
    return lhs.second != rhs.second ? lhs.second > rhs.second : lhs.first < rhs.first;
  });
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: sum_kernels FILE|FOLDER...\n");
    return 2;
  }
  const auto run = orrery::api::OpenRun({.paths = {argv + 1, argv + argc}});
  if (!run) {
    std::fprintf(stderr, "sum_kernels: %s\n", run.error().message().c_str());
    return 2;
  }
  Sums sums;
  for (const orrery::trace::Trace& rank : (*run)->set.ranks) {
    AddKernels(rank, sums);
  }
  for (const auto& [name, duration_ns] : LongestFirst(sums)) {
    std::printf("%12.3f ms  %s\n", static_cast<double>(duration_ns) * 1e-6, name.c_str());
  }
}
