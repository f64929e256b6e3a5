#include "orrery/simulate/explain/stage_timeline.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::Phase;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

PassKind KindOf(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return PassKind::kForward;
    case Phase::kRecompute:
    case Phase::kBackward:
      return PassKind::kBackward;
    case Phase::kWeightBackward:
      return PassKind::kWeights;
    case Phase::kOptimizer:
      return PassKind::kOptimizer;
    default:
      return PassKind::kOther;
  }
}

// Between passes kernels belong together only when they follow each other at once: between them are
// communications of the whole job.
constexpr std::int64_t kAtOncePs = 20'000'000;

bool IsSamePass(const PassSlice& pass, const PassSlice& kernel) {
  return pass.kind == kernel.kind && pass.microbatch == kernel.microbatch &&
         pass.chunk == kernel.chunk &&
         (kernel.microbatch >= 0 || kernel.begin_ps - pass.end_ps <= kAtOncePs);
}

// Kernels in order of begin.
std::vector<PassSlice> KernelsOf(const Program& program, const Timeline& timeline,
                                 std::size_t first) {
  std::vector<PassSlice> kernels;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const std::int64_t begin_ps = timeline.begin_ps[first + task];
    const std::int64_t end_ps = timeline.end_ps[first + task];
    if (program.tasks.kind[task] != TaskKind::kKernel || begin_ps == end_ps) {
      continue;
    }
    const workload::PartId part = program.tasks.part[task];
    kernels.push_back({.begin_ps = begin_ps,
                       .end_ps = end_ps,
                       .kind = part == kNone ? PassKind::kOther : KindOf(program.parts.phase[part]),
                       .microbatch = program.tasks.microbatch[task],
                       .chunk = part == kNone ? -1 : program.parts.chunk[part]});
  }
  std::ranges::stable_sort(kernels, {}, &PassSlice::begin_ps);
  return kernels;
}

// Merges kernels into passes. Parts beside an earlier pass are cut off.
std::vector<PassSlice> Joined(const std::vector<PassSlice>& kernels) {
  std::vector<PassSlice> passes;
  for (const PassSlice& kernel : kernels) {
    if (!passes.empty() && IsSamePass(passes.back(), kernel)) {
      passes.back().end_ps = std::max(passes.back().end_ps, kernel.end_ps);
      continue;
    }
    const std::int64_t free_ps = passes.empty() ? 0 : passes.back().end_ps;
    if (kernel.end_ps > free_ps) {
      passes.push_back(kernel);
      passes.back().begin_ps = std::max(kernel.begin_ps, free_ps);
    }
  }
  return passes;
}

/// Puts what lies between passes among them, and what lies inside beside them.
class Interleaving {
 public:
  explicit Interleaving(std::vector<PassSlice> passes) : passes_(std::move(passes)) {}

  void Add(const TimeSlice& slice) {
    if (slice.kind != TimeKind::kTransfer && slice.kind != TimeKind::kWait &&
        slice.kind != TimeKind::kHost) {
      return;
    }
    std::int64_t begin_ps = slice.begin_ps;
    while (next_ < passes_.size() && passes_[next_].end_ps <= begin_ps) {
      ++next_;
    }
    for (std::size_t pass = next_; pass < passes_.size() && begin_ps < slice.end_ps; ++pass) {
      AddBetween(slice, begin_ps, std::min(slice.end_ps, passes_[pass].begin_ps));
      AddInside(slice, std::max(begin_ps, passes_[pass].begin_ps), passes_[pass]);
      begin_ps = std::max(begin_ps, passes_[pass].end_ps);
    }
    AddBetween(slice, begin_ps, slice.end_ps);
  }

  StageTimeline Finish() && {
    StageTimeline timeline;
    timeline.inside = std::move(inside_);
    std::ranges::merge(passes_, between_, std::back_inserter(timeline.passes), {},
                       &PassSlice::begin_ps, &PassSlice::begin_ps);
    return timeline;
  }

 private:
  void AddBetween(const TimeSlice& slice, std::int64_t begin_ps, std::int64_t end_ps) {
    if (begin_ps < end_ps) {
      between_.push_back({.begin_ps = begin_ps,
                          .end_ps = end_ps,
                          .kind = slice.kind == TimeKind::kHost   ? PassKind::kHost
                                  : slice.kind == TimeKind::kWait ? PassKind::kWait
                                                                  : PassKind::kTransfer,
                          .what = slice.what});
    }
  }

  void AddInside(const TimeSlice& slice, std::int64_t begin_ps, PassSlice& pass) {
    const std::int64_t end_ps = std::min(slice.end_ps, pass.end_ps);
    if (begin_ps < end_ps) {
      inside_.push_back({begin_ps, end_ps, slice.kind, slice.what, slice.communicates});
      pass.exposed_ps += slice.communicates ? end_ps - begin_ps : 0;
    }
  }

  std::vector<PassSlice> passes_;
  std::vector<PassSlice> between_;
  std::vector<TimeSlice> inside_;
  std::size_t next_ = 0;
};

}  // namespace

std::string_view Name(PassKind kind) {
  constexpr std::array<std::string_view, kNumPassKinds> kNames = {
      "forward",    "backward",      "weight gradients",   "optimizer",
      "other work", "communication", "waiting for others", "CPU"};
  return kNames[static_cast<std::size_t>(kind)];
}

StageTimeline StageTimelineOf(const RankClasses& rank_classes, const Timeline& timeline,
                              RankClassId rank_class) {
  Interleaving interleaving(
      Joined(KernelsOf(rank_classes.ProgramOf(rank_class), timeline, timeline.First(rank_class))));
  for (const TimeSlice& slice : SlicesOf(rank_classes, timeline, rank_class)) {
    interleaving.Add(slice);
  }
  return std::move(interleaving).Finish();
}

}  // namespace orrery::simulate
