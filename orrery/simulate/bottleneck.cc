#include "orrery/simulate/bottleneck.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/core.h>

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
  if (dimension == "tp") {
    return "a smaller tp, sequence parallelism or overlapped products would shrink it";
  }
  if (dimension == "dp") {
    return "a larger batch, sums that overlap with the backward pass or a faster network would "
           "shrink it";
  }
  if (dimension == "ep") {
    return "a smaller ep or experts that overlap with their dispatch would shrink it";
  }
  if (dimension == "cp") {
    return "a smaller cp or longer sequences would shrink it";
  }
  return "a faster network would shrink it";
}

// Communication of a dimension, waiting included, is one loss.
std::vector<Loss> LossesOf(const Breakdown& breakdown) {
  std::vector<Loss> losses = {
      {"the pipeline's bubble", breakdown.TotalPs(TimeKind::kBubble),
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
    const auto found = std::find_if(losses.begin(), losses.end(),
                                    [&](const Loss& loss) { return loss.name == name; });
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

double Percent(std::int64_t ps, std::int64_t step_ps) {
  return step_ps == 0 ? 0 : 100 * static_cast<double>(ps) / static_cast<double>(step_ps);
}

}  // namespace

std::string BottleneckSentence(const StepSummary& summary) {
  if (summary.IsOutOfMemory()) {
    return fmt::format("Memory: the job does not fit; {} of stage {} are the largest part.",
                       summary.Fullest()->memory.parts.front().category, summary.Fullest()->stage);
  }
  const Breakdown& breakdown = summary.breakdown;
  const std::int64_t step_ps = breakdown.step_ps;
  const std::int64_t compute_ps = breakdown.TotalPs(TimeKind::kCompute);
  const std::vector<Loss> losses = LossesOf(breakdown);
  const Loss& worst =
      *std::max_element(losses.begin(), losses.end(),
                        [](const Loss& lhs, const Loss& rhs) { return lhs.ps < rhs.ps; });
  if (worst.ps > compute_ps) {
    return fmt::format("Mostly {}, {:.0f} % of the step; {}.", worst.name,
                       Percent(worst.ps, step_ps), worst.remedy);
  }
  const TimeShare* const largest = LargestCompute(breakdown);
  std::string sentence = fmt::format("Compute, {:.0f} % of the step", Percent(compute_ps, step_ps));
  if (largest != nullptr) {
    sentence += fmt::format(" ({} {:.0f} %)", largest->what, Percent(largest->ps, step_ps));
  }
  if (static_cast<double>(worst.ps) < kWorthAWord * static_cast<double>(step_ps)) {
    return sentence + "; nothing else takes more than a few percent.";
  }
  return sentence + fmt::format("; the largest loss is {}, {:.0f} %: {}.", worst.name,
                                Percent(worst.ps, step_ps), worst.remedy);
}

}  // namespace orrery::simulate
