#include "orrery/workload/plan/pipeline_orders.h"

#include <algorithm>
#include <deque>

namespace orrery::workload {
namespace {

/// Puts forward passes ahead of backward passes: `warm_up` of them, then one of each in turn.
std::vector<PipelineStep> Alternate(const std::vector<PipelineStep>& forward,
                                    const std::vector<PipelineStep>& backward, int warm_up) {
  std::vector<PipelineStep> steps;
  steps.reserve(forward.size() + backward.size());
  const auto ahead = std::min(forward.size(), static_cast<std::size_t>(warm_up));
  steps.assign(forward.begin(), forward.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (i + ahead < forward.size()) {
      steps.push_back(forward[i + ahead]);
    }
    steps.push_back(backward[i]);
  }
  return steps;
}

std::vector<PipelineStep> OneAfterAnother(PipelinePass pass, int microbatches) {
  std::vector<PipelineStep> steps;
  for (int i = 0; i < microbatches; ++i) {
    steps.push_back({.pass = pass, .chunk = 0, .microbatch = i});
  }
  return steps;
}

/// The passes in groups of micro-batches, chunk by chunk; backward passes take the chunks from the
/// last one on.
std::vector<PipelineStep> InGroups(PipelinePass pass, const PipelineShape& shape) {
  std::vector<PipelineStep> steps;
  for (int group = 0; group < shape.microbatches; group += shape.stages) {
    for (int i = 0; i < shape.chunks; ++i) {
      const int chunk = pass == PipelinePass::kForward ? i : shape.chunks - 1 - i;
      for (int j = 0; j < shape.stages; ++j) {
        steps.push_back({.pass = pass, .chunk = chunk, .microbatch = group + j});
      }
    }
  }
  return steps;
}

}  // namespace

std::vector<PipelineStep> GpipeOrder(const PipelineShape& shape) {
  return Alternate(OneAfterAnother(PipelinePass::kForward, shape.microbatches),
                   OneAfterAnother(PipelinePass::kBackward, shape.microbatches),
                   shape.microbatches);
}

std::vector<PipelineStep> OneForwardOneBackwardOrder(const PipelineShape& shape, int stage) {
  return Alternate(OneAfterAnother(PipelinePass::kForward, shape.microbatches),
                   OneAfterAnother(PipelinePass::kBackward, shape.microbatches),
                   shape.stages - stage - 1);
}

std::vector<PipelineStep> InterleavedOrder(const PipelineShape& shape, int stage) {
  const int warm_up = (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages;
  std::vector<PipelineStep> steps = Alternate(InGroups(PipelinePass::kForward, shape),
                                              InGroups(PipelinePass::kBackward, shape), warm_up);
  std::erase_if(steps,
                [&](const PipelineStep& step) { return step.microbatch >= shape.microbatches; });
  return steps;
}

std::vector<PipelineStep> ZeroBubbleH1Order(const PipelineShape& shape, int stage) {
  std::vector<PipelineStep> steps;
  std::deque<PipelineStep> pending;
  const auto finish_oldest = [&] {
    steps.push_back(pending.front());
    pending.pop_front();
  };
  for (PipelineStep step : OneForwardOneBackwardOrder(shape, stage)) {
    if (step.pass == PipelinePass::kForward) {
      steps.push_back(step);
      continue;
    }
    step.pass = PipelinePass::kInputBackward;
    steps.push_back(step);
    step.pass = PipelinePass::kWeightBackward;
    pending.push_back(step);
    if (pending.size() > static_cast<std::size_t>(stage)) {
      finish_oldest();
    }
  }
  while (!pending.empty()) {
    finish_oldest();
  }
  return steps;
}

}  // namespace orrery::workload
