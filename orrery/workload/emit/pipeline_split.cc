#include "orrery/workload/emit/pipeline_split.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

bool AreEven(std::vector<int> blocks, PipelineEnds ends) {
  blocks.front() += CountsEmbedding(ends) ? 1 : 0;
  blocks.back() += CountsLoss(ends) ? 1 : 0;
  return std::ranges::adjacent_find(blocks, std::not_equal_to<>()) == blocks.end();
}

// The ends that the plan counts are tried first, so that the same ones are read again.
PipelineEnds EndsOf(const Plan& plan, const std::vector<int>& blocks) {
  const PipelineEnds told = plan.counts_embedding && plan.counts_loss ? PipelineEnds::kBoth
                            : plan.counts_embedding                   ? PipelineEnds::kEmbedding
                            : plan.counts_loss                        ? PipelineEnds::kLoss
                                                                      : PipelineEnds::kNeither;
  for (const PipelineEnds ends : {told, PipelineEnds::kNeither, PipelineEnds::kBoth,
                                  PipelineEnds::kEmbedding, PipelineEnds::kLoss}) {
    if (AreEven(blocks, ends)) {
      return ends;
    }
  }
  return PipelineEnds::kNotEven;
}

}  // namespace

Result<PipelineSplit> SplitOf(const Job& job, const Transformer& model) {
  Plan plan = job.plan;
  plan.schedule = plan.chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b;
  const PipelineShape shape = ShapeOf(plan, static_cast<int>(job.microbatches()));
  ORRERY_TRY(const std::vector<PartLayers> parts,
             CutLayers(LayerCutOf(model, plan, job.framework, shape)));
  PipelineSplit split;
  for (const PartLayers& part : parts) {
    split.blocks.push_back(part.num_blocks);
  }
  split.ends = EndsOf(job.plan, split.blocks);
  return split;
}

}  // namespace orrery::workload
