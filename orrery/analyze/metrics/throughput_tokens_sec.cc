#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/tokens.h"

namespace orrery::analyze::throughput_tokens_sec {
namespace {

MetricResult Compute(const RunView& run) {
  const TokenRate rate = MeasureTokenRate(run);
  if (!rate.tokens_per_second) {
    return NotAvailable(rate.reason);
  }
  MetricResult result{.value = rate.tokens_per_second};
  result.detail.Set("source", rate.source);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "throughput_tokens_sec",
           .meaning = "Tokens per second",
           .unit = "tokens/s",
           .needs = {},
           .definition =
               "Training: batch_size * seq_len / step time. Serving results: output tokens "
               "/ duration. Engine steps: tokens named by the markers / their durations",
           .compute = &Compute,
           .aliases = {{.name = "throughput",
                        .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                       {.name = "estimated_throughput_tokens_per_s",
                        .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                       {.name = "throughput_group_6"}}}};
}

}  // namespace orrery::analyze::throughput_tokens_sec
