#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"

namespace orrery::simulate {
namespace {

// Smaller shares of the step are not mentioned.
constexpr double kWorthAWord = 0.03;

const TimeShare* LargestCompute(const Breakdown& breakdown) {
  const TimeShare* largest = nullptr;
  for (const TimeShare& share : breakdown.shares) {
    if (share.kind == TimeKind::kCompute && (largest == nullptr || share.ps > largest->ps)) {
      largest = &share;
    }
  }
  return largest;
}

double Percent(std::int64_t ps, std::int64_t step_ps) {
  return step_ps == 0 ? 0 : 100 * static_cast<double>(ps) / static_cast<double>(step_ps);
}

std::string MemorySentence(const StageSummary& fullest) {
  return fullest.memory.parts.empty()
             ? fmt::format("Memory: the job does not fit; {} needs most.", fullest.name)
             : fmt::format("Memory: the job does not fit; {} of {} are the largest part.",
                           fullest.memory.parts.front().category, fullest.name);
}

std::string BindingSentence(const BindingStage& binding, std::int64_t step_ps) {
  std::string label = binding.label;
  label.front() = 'S';
  return fmt::format(
      "{}, busy for {:.0f} % of the step; the other stages are busy for {:.0f} % on average.",
      label, Percent(binding.busy_ps, step_ps), Percent(binding.others_ps, step_ps));
}

// "The pipeline's bubble": as the table calls it.
std::string NameOf(const Loss& loss) {
  switch (loss.kind) {
    case TimeKind::kBubble:
      return "the pipeline's bubble";
    case TimeKind::kHost:
      return "the CPU, which launches too slowly";
    case TimeKind::kIdle:
      return "pauses between kernels";
    case TimeKind::kOptimizer:
      return "the optimizer";
    case TimeKind::kTransfer:
      return "exposed " + CommunicationText(loss.what);
    default:
      return ShareText(loss);
  }
}

std::string ComputeSentence(const Breakdown& breakdown, const Loss& worst) {
  const std::int64_t step_ps = breakdown.step_ps;
  const TimeShare* const largest = LargestCompute(breakdown);
  std::string sentence = fmt::format("Compute, {:.0f} % of the step",
                                     Percent(breakdown.TotalPs(TimeKind::kCompute), step_ps));
  if (largest != nullptr) {
    sentence += fmt::format(" ({} {:.0f} %)", ShareText(*largest), Percent(largest->ps, step_ps));
  }
  if (!IsWorthAWord(worst.ps, step_ps)) {
    return sentence + "; nothing else takes more than a few percent.";
  }
  return sentence + fmt::format("; the largest loss is {}, {:.0f} %.", NameOf(worst),
                                Percent(worst.ps, step_ps));
}

std::string LargestPart(const StepSummary& summary) {
  const Breakdown& breakdown = summary.breakdown;
  const std::vector<Loss> losses = LossesOf(breakdown);
  const Loss worst = losses.empty() ? Loss{} : losses.front();
  const std::optional<BindingStage> binding = BindingStageOf(summary);
  if (binding && binding->excess_ps > worst.ps &&
      IsWorthAWord(binding->excess_ps, breakdown.step_ps)) {
    return BindingSentence(*binding, breakdown.step_ps);
  }
  if (worst.ps > breakdown.TotalPs(TimeKind::kCompute)) {
    return fmt::format("Mostly {}, {:.0f} % of the step.", NameOf(worst),
                       Percent(worst.ps, breakdown.step_ps));
  }
  return ComputeSentence(breakdown, worst);
}

}  // namespace

std::vector<Loss> LossesOf(const Breakdown& breakdown) {
  std::vector<Loss> losses;
  std::ranges::copy_if(breakdown.shares, std::back_inserter(losses),
                       [](const TimeShare& share) { return share.kind != TimeKind::kCompute; });
  std::ranges::stable_sort(losses, std::greater{}, &Loss::ps);
  return losses;
}

bool IsWorthAWord(std::int64_t ps, std::int64_t step_ps) {
  return static_cast<double>(ps) >= kWorthAWord * static_cast<double>(step_ps);
}

std::string BottleneckSentence(const StepSummary& summary, const Advice& advice) {
  return summary.IsOutOfMemory() ? MemorySentence(*summary.Fullest())
                                 : CauseSentence(advice) + LargestPart(summary);
}

}  // namespace orrery::simulate
