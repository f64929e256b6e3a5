#include "orrery/cli/diff/headline.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/units.h"
#include "orrery/cli/diff/sections.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::cli {
namespace {

using analyze::diff::CostChange;
using analyze::diff::RunDiff;
using analyze::diff::StepParts;

constexpr std::size_t kMaxNameWidth = 60;

/// The time of a step in both runs, measured the same way.
struct StepTimes {
  double before_ns = 0;
  double after_ns = 0;
  std::string_view per;

  [[nodiscard]] double DifferenceNs() const { return after_ns - before_ns; }
};

StepTimes TimesOf(const RunDiff& diff) {
  const StepParts& before = diff.step_before;
  const StepParts& after = diff.step_after;
  if (before.marker_ns && after.marker_ns) {
    return {*before.marker_ns, *after.marker_ns, "a step"};
  }
  return {before.window_ns, after.window_ns,
          before.num_steps > 0 && after.num_steps > 0 ? "a step" : "in all"};
}

// The change in the wanted direction: positive when it is part of the cause.
double Along(double difference_ns, double direction) {
  return direction < 0 ? -difference_ns : difference_ns;
}

const StepPart& LargestPart(const RunDiff& diff, double direction) {
  const auto share = [&](const StepPart& part) {
    return Along(diff.step_after.*part.member - diff.step_before.*part.member, direction);
  };
  // The last part is the sum of the others.
  return *std::ranges::max_element(std::span(kStepParts).first(kStepParts.size() - 1), {}, share);
}

bool IsComputeKernel(const CostChange& change) {
  return change.kernel_class != trace::KernelClassName(trace::KernelClass::kCommunication);
}

// The largest change of a list (they are in order) that goes the same way.
template <typename Test>
std::string LargestIn(const std::vector<CostChange>& changes, double direction, Test&& belongs) {
  for (const CostChange& change : changes) {
    if (belongs(change) && Along(change.DifferenceNs(), direction) > 0) {
      return fmt::format(", there in {} ({})", draw::Truncated(change.name, kMaxNameWidth),
                         SignedTimeText(change.DifferenceNs()));
    }
  }
  return "";
}

std::string CauseText(const RunDiff& diff, double direction) {
  const StepPart& part = LargestPart(diff, direction);
  const double part_ns = diff.step_after.*part.member - diff.step_before.*part.member;
  const double all_ns = diff.step_after.window_ns - diff.step_before.window_ns;
  if (Along(part_ns, direction) <= 0) {
    return "";
  }
  const bool is_most = Along(all_ns, direction) > 0 && std::abs(part_ns) * 2 >= std::abs(all_ns);
  std::string text = fmt::format("; {} {} ({})", is_most ? "most of it in" : "the largest part is",
                                 part.title, SignedTimeText(part_ns));
  if (part.member == &StepParts::compute_ns) {
    text += LargestIn(diff.kernels, direction, IsComputeKernel);
  } else if (part.member == &StepParts::exposed_communication_ns) {
    text += LargestIn(diff.collectives, direction, [](const CostChange&) { return true; });
  }
  return text;
}

}  // namespace

std::string TimeText(double ns) {
  return draw::FormatDuration({std::llround(ns)});
}

std::string SignedTimeText(double ns) {
  const std::string text = TimeText(ns);
  return std::llround(ns) > 0 ? "+" + text : text;
}

std::string HeadlineText(const RunDiff& diff) {
  const StepTimes times = TimesOf(diff);
  if (times.before_ns <= 0 || times.after_ns <= 0) {
    return "The time of a step is not known in both runs";
  }
  const double percent = 100 * times.DifferenceNs() / times.before_ns;
  if (std::abs(percent) < 0.05) {
    return fmt::format("B is as fast as A: {} {}", TimeText(times.before_ns), times.per);
  }
  return fmt::format("B is {:.1f} % {} than A: {} → {} {}{}", std::abs(percent),
                     percent > 0 ? "slower" : "faster", TimeText(times.before_ns),
                     TimeText(times.after_ns), times.per, CauseText(diff, percent));
}

}  // namespace orrery::cli
