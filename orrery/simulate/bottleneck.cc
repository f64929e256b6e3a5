#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/summary.h"

namespace orrery::simulate {
namespace {

// Communication below this share of the step is not worth a word.
constexpr double kWorthAWord = 0.03;

/// What a step loses to one thing.
struct Loss {
  std::string name;
  std::int64_t ps = 0;
  std::string_view remedy;
};

std::string_view RemedyFor(std::string_view dimension) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRemedies = {{
      {"tp", "a smaller tp, sequence parallelism or overlapped products would shrink it"},
      {"dp",
       "a larger batch, sums that overlap with the backward pass or a faster network would shrink "
       "it"},
      {"ep", "a smaller ep or experts that overlap with their dispatch would shrink it"},
      {"cp", "a smaller cp or longer sequences would shrink it"},
  }};
  const auto* const found = std::ranges::find(
      kRemedies, dimension, &std::pair<std::string_view, std::string_view>::first);
  return found == kRemedies.end() ? "a faster network would shrink it" : found->second;
}

// A bubble less the time in which a stage with less to do waits for the one that binds: that would
// stay with any number of micro-batches.
std::int64_t ScheduleBubblePs(const StepSummary& summary,
                              const std::optional<BindingStage>& binding) {
  const std::int64_t bubble_ps = summary.breakdown.TotalPs(TimeKind::kBubble);
  const std::int64_t behind_ps = binding ? binding->busy_ps - BusyPs(summary.breakdown) : 0;
  return std::max<std::int64_t>(bubble_ps - std::max<std::int64_t>(behind_ps, 0), 0);
}

// Communication of a dimension, waiting included, is one loss.
std::vector<Loss> LossesOf(const Breakdown& breakdown, std::int64_t bubble_ps) {
  std::vector<Loss> losses = {
      {"the pipeline's bubble", bubble_ps,
       "more micro-batches or more chunks a device would shrink it"},
      {"the host, which launches too slowly", breakdown.TotalPs(TimeKind::kHost),
       "larger micro-batches, fused kernels or graphs would shrink it"},
      {"pauses between kernels", breakdown.TotalPs(TimeKind::kIdle),
       "fewer and larger kernels or graphs would shrink them"},
      {"the optimizer", breakdown.TotalPs(TimeKind::kOptimizer),
       "a larger batch or a sharded optimizer would shrink its share"}};
  for (const TimeShare& share : breakdown.shares) {
    if (share.kind != TimeKind::kTransfer && share.kind != TimeKind::kWait) {
      continue;
    }
    const std::string name = fmt::format("exposed {} communication", share.what);
    const auto found = std::ranges::find(losses, name, &Loss::name);
    if (found != losses.end()) {
      found->ps += share.ps;
    } else {
      losses.push_back({name, share.ps, RemedyFor(share.what)});
    }
  }
  return losses;
}

const TimeShare* LargestCompute(const Breakdown& breakdown) {
  const TimeShare* largest = nullptr;
  for (const TimeShare& share : breakdown.shares) {
    if (share.kind == TimeKind::kCompute && (largest == nullptr || share.ps > largest->ps)) {
      largest = &share;
    }
  }
  return largest;
}

bool IsWorthAWord(std::int64_t ps, std::int64_t step_ps) {
  return static_cast<double>(ps) >= kWorthAWord * static_cast<double>(step_ps);
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
      "{} binds: it is busy for {:.0f} % of the step, the other stages for {:.0f} % on average. "
      "With equal stages the step would be up to {:.0f} % shorter: move layers from it to the "
      "others before adding micro-batches.",
      label, Percent(binding.busy_ps, step_ps), Percent(binding.others_ps, step_ps),
      Percent(binding.excess_ps, step_ps));
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
  return sentence + fmt::format("; the largest loss is {}, {:.0f} %: {}.", worst.name,
                                Percent(worst.ps, step_ps), worst.remedy);
}

}  // namespace

std::string BottleneckSentence(const StepSummary& summary) {
  if (summary.IsOutOfMemory()) {
    return MemorySentence(*summary.Fullest());
  }
  const Breakdown& breakdown = summary.breakdown;
  const std::optional<BindingStage> binding = BindingStageOf(summary);
  const std::vector<Loss> losses = LossesOf(breakdown, ScheduleBubblePs(summary, binding));
  const Loss& worst = *std::ranges::max_element(losses, {}, &Loss::ps);
  if (binding && binding->excess_ps > worst.ps &&
      IsWorthAWord(binding->excess_ps, breakdown.step_ps)) {
    return BindingSentence(*binding, breakdown.step_ps);
  }
  if (worst.ps > breakdown.TotalPs(TimeKind::kCompute)) {
    return fmt::format("Mostly {}, {:.0f} % of the step; {}.", worst.name,
                       Percent(worst.ps, breakdown.step_ps), worst.remedy);
  }
  return ComputeSentence(breakdown, worst);
}

}  // namespace orrery::simulate
