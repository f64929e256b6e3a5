#include "orrery/memory/coverage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::Coverage;
using trace::CoverageKind;
using trace::Trace;

constexpr std::array<std::string_view, kNumCoverages> kCoverageNames{
    "exact", "by argument", "by descriptor", "partial", "unseen"};

constexpr auto kKindNames = std::to_array<std::string_view>(
    {"other", "instruction patched", "launches skipped", "records dropped", "unknown addresses",
     "instructions unseen", "contexts not covered", "graphs not covered", "launches merged"});

// Kinds of rows, as bits of RecordedParts::parts_.
enum Part : std::uint8_t {
  kWork,
  kKernels,
  kKernelTimes,
  kKernelTouches,
  kObjects,
  kMemoryEvents,
  kObservations,
  kPages,
  kAccesses,
  kOverheads,
};

struct NeedRule {
  std::string_view name;
  Part part;
  Part or_else;                // satisfies the need as well
  bool is_of_kernels = false;  // met where there are no kernels
};

// In the order of Need.
constexpr std::array kNeedRules{
    NeedRule{"device work", kWork, kWork},
    NeedRule{"times of kernels", kKernelTimes, kKernelTimes},
    NeedRule{"memory objects", kObjects, kObjects},
    NeedRule{"allocations and frees", kMemoryEvents, kObjects},
    NeedRule{"what kernels touch", kKernelTouches, kKernelTouches, true},
    NeedRule{"pages that kernels touch", kPages, kPages, true},
    NeedRule{"single accesses", kAccesses, kAccesses, true},
    NeedRule{"costs of the recording", kOverheads, kOverheads},
};

std::string ShareText(const LaunchCoverage::Share& share, const LaunchCoverage::Share& total,
                      bool is_first) {
  if (total.time_ns == 0) {
    return "";
  }
  const std::string whole = total.num_with_times == total.num_launches
                                ? " of kernel time"
                                : fmt::format(" of the time of {} launches", total.num_with_times);
  return fmt::format(" ({:.1f} %{})",
                     100 * static_cast<double>(share.time_ns) / static_cast<double>(total.time_ns),
                     is_first ? whole : "");
}

std::string ReasonsOf(const Trace& trace) {
  std::string reasons;
  for (RowId row = 0; row < trace.coverage_counts.size(); ++row) {
    const trace::CoverageCounts::Row count = trace.coverage_counts.At(row);
    if (count.kind != CoverageKind::kInstructionPatched && count.kind != CoverageKind::kOther) {
      reasons += fmt::format(", {} {}", count.count, CoverageKindName(count.kind));
      reasons += count.name == StringId::kEmpty ? "" : fmt::format(": {}", trace.Text(count.name));
    }
  }
  return reasons;
}

}  // namespace

std::string_view CoverageName(Coverage coverage) {
  return kCoverageNames[static_cast<std::size_t>(coverage)];
}

std::string_view CoverageKindName(CoverageKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

LaunchCoverage::Share& LaunchCoverage::Share::operator+=(const Share& other) {
  num_launches += other.num_launches;
  time_ns += other.time_ns;
  num_with_times += other.num_with_times;
  return *this;
}

LaunchCoverage::Share LaunchCoverage::Total() const {
  return std::accumulate(by_coverage.begin(), by_coverage.end(), Share(),
                         [](Share total, const Share& share) { return total += share; });
}

LaunchCoverage& LaunchCoverage::operator+=(const LaunchCoverage& other) {
  for (std::size_t i = 0; i < kNumCoverages; ++i) {
    by_coverage[i] += other.by_coverage[i];
  }
  return *this;
}

LaunchCoverage CoverageOf(const Trace& trace) {
  std::vector<Coverage> coverages(trace.activities.size(), Coverage::kUnseen);
  for (RowId row = 0; row < trace.observations.size(); ++row) {
    if (const RowId activity = trace.observations.activity[row]; activity != kNoRow) {
      coverages[activity] = trace.observations.coverage[row];
    }
  }
  LaunchCoverage result;
  for (RowId activity = 0; activity < trace.activities.size(); ++activity) {
    if (trace.activities.kind[activity] == trace::ActivityKind::kKernel) {
      const std::int64_t time_ns = trace.activities.duration_ns[activity];
      result.by_coverage[static_cast<std::size_t>(coverages[activity])] +=
          {1, time_ns, time_ns > 0 ? 1 : 0};
    }
  }
  return result;
}

std::string CoverageLine(const LaunchCoverage& coverage) {
  const LaunchCoverage::Share total = coverage.Total();
  const bool is_of_times =
      total.num_launches > 0 && coverage.Of(Coverage::kUnseen).num_launches == total.num_launches;
  std::string parts = is_of_times ? ": accesses were not recorded" : "";
  for (std::size_t i = 0; i < kNumCoverages; ++i) {
    const LaunchCoverage::Share& share = coverage.by_coverage[i];
    if (share.num_launches > 0 && !is_of_times) {
      parts += fmt::format("{} {} {}{}", parts.empty() ? ":" : ",", share.num_launches,
                           kCoverageNames[i], ShareText(share, total, parts.empty()));
    }
  }
  return fmt::format("coverage: {} launch{}{}", total.num_launches,
                     total.num_launches == 1 ? "" : "es", parts);
}

void RecordedParts::Add(const Trace& piece) {
  const trace::Activities& work = piece.activities;
  const auto is_kernel = [&](RowId activity) {
    return activity < work.size() && work.kind[activity] == trace::ActivityKind::kKernel;
  };
  const LaunchCoverage coverage = CoverageOf(piece);
  coverage_ += coverage;
  format_ = format_.empty() ? piece.info.format : format_;
  reasons_ += ReasonsOf(piece);
  const auto mark = [&](Part part, bool is_found) { parts_[part] = parts_[part] || is_found; };
  mark(kWork, !work.empty());
  mark(kKernels, coverage.Total().num_launches > 0);
  mark(kKernelTimes, coverage.Total().num_with_times > 0);
  // Memcpys and memsets always have touches; these say nothing about kernels.
  mark(kKernelTouches, std::ranges::any_of(piece.touches.activity, is_kernel));
  mark(kObjects, !piece.memory_objects.empty());
  mark(kMemoryEvents, !piece.memory_events.empty());
  mark(kObservations, !piece.observations.empty());
  mark(kPages, !piece.page_runs.empty());
  mark(kAccesses, !piece.accesses.empty());
  mark(kOverheads, !piece.overheads.empty());
}

std::optional<std::string> RecordedParts::WhyUnmet(Need need) const {
  const NeedRule& rule = kNeedRules[static_cast<std::size_t>(need)];
  const bool is_empty = !parts_[kWork] && !parts_[kObjects] && !parts_[kMemoryEvents];
  if (is_empty || parts_[rule.part] || parts_[rule.or_else] ||
      (rule.is_of_kernels && !parts_[kKernels])) {
    return std::nullopt;
  }
  const std::string reason = !reasons_.empty()       ? reasons_.substr(2)
                             : parts_[kObservations] ? CoverageLine(coverage_)
                                                     : "no such rows in " + format_;
  return fmt::format("not recorded: {} ({})", rule.name, reason);
}

Status RecordedParts::Check(std::span<const Need> needs) const {
  for (const Need need : needs) {
    if (auto reason = WhyUnmet(need)) {
      return Fail(Error::Kind::kNotFound, *std::move(reason));
    }
  }
  return {};
}

Status CheckNeeds(std::span<const Need> needs, const Trace& trace) {
  RecordedParts parts;
  parts.Add(trace);
  return parts.Check(needs);
}

}  // namespace orrery::memory
