#include "orrery/memory/coverage.h"

#include <vector>

#include <fmt/core.h>

namespace orrery::memory {
namespace {

using trace::Coverage;

constexpr std::array<std::string_view, kNumCoverages> kCoverageNames{
    "exact", "by argument", "by descriptor", "partial", "unseen"};

constexpr std::array<std::string_view, 9> kKindNames{"other",
                                                     "instruction patched",
                                                     "launches skipped",
                                                     "records dropped",
                                                     "unknown addresses",
                                                     "instructions unseen",
                                                     "contexts not covered",
                                                     "graphs not covered",
                                                     "launches merged"};

std::vector<Coverage> CoverageOfActivities(const trace::Trace& trace) {
  std::vector<Coverage> coverages(trace.activities.size(), Coverage::kUnseen);
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    const RowId activity = trace.observations.activity[row];
    if (activity != kNoRow) {
      coverages[activity] = trace.observations.coverage[row];
    }
  }
  return coverages;
}

std::string WholeText(const LaunchCoverage::Share& total) {
  return total.num_with_times == total.num_launches
             ? " of kernel time"
             : fmt::format(" of the time of {} launches", total.num_with_times);
}

std::string ShareText(const LaunchCoverage::Share& share, const LaunchCoverage::Share& total,
                      bool is_first) {
  if (total.time_ns == 0) {
    return "";
  }
  return fmt::format(" ({:.1f} %{})",
                     100 * static_cast<double>(share.time_ns) / static_cast<double>(total.time_ns),
                     is_first ? WholeText(total) : "");
}

}  // namespace

std::string_view CoverageName(Coverage coverage) {
  return kCoverageNames[static_cast<std::size_t>(coverage)];
}

std::string_view CoverageKindName(trace::CoverageKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

LaunchCoverage::Share LaunchCoverage::Total() const {
  Share total;
  for (const Share& share : by_coverage) {
    total.num_launches += share.num_launches;
    total.time_ns += share.time_ns;
    total.num_with_times += share.num_with_times;
  }
  return total;
}

LaunchCoverage& LaunchCoverage::operator+=(const LaunchCoverage& other) {
  for (std::size_t i = 0; i < kNumCoverages; ++i) {
    by_coverage[i].num_launches += other.by_coverage[i].num_launches;
    by_coverage[i].time_ns += other.by_coverage[i].time_ns;
    by_coverage[i].num_with_times += other.by_coverage[i].num_with_times;
  }
  return *this;
}

LaunchCoverage CoverageOf(const trace::Trace& trace) {
  LaunchCoverage result;
  const std::vector<Coverage> coverages = CoverageOfActivities(trace);
  for (RowId activity = 0; activity < trace.activities.size(); ++activity) {
    if (trace.activities.kind[activity] == trace::ActivityKind::kKernel) {
      LaunchCoverage::Share& share =
          result.by_coverage[static_cast<std::size_t>(coverages[activity])];
      ++share.num_launches;
      share.time_ns += trace.activities.duration_ns[activity];
      share.num_with_times += trace.activities.duration_ns[activity] > 0 ? 1 : 0;
    }
  }
  return result;
}

std::string CoverageLine(const LaunchCoverage& coverage) {
  const LaunchCoverage::Share total = coverage.Total();
  std::string parts;
  for (std::size_t i = 0; i < kNumCoverages; ++i) {
    const LaunchCoverage::Share& share = coverage.by_coverage[i];
    if (share.num_launches > 0) {
      parts += fmt::format("{} {} {}{}", parts.empty() ? ":" : ",", share.num_launches,
                           kCoverageNames[i], ShareText(share, total, parts.empty()));
    }
  }
  return fmt::format("coverage: {} launch{}{}", total.num_launches,
                     total.num_launches == 1 ? "" : "es", parts);
}

}  // namespace orrery::memory
