#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/hockney_fit.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze::hockney {
namespace {

MetricResult ComputeFrom(const RunView& run, double (*pick)(const HockneyFit&)) {
  std::string reason;
  const auto fit = FitHockney(run, reason);
  if (!fit) {
    return NotAvailable(reason);
  }
  MetricResult result{.value = pick(*fit)};
  result.detail.Set("group_size", static_cast<std::int64_t>(fit->num_ranks))
      .Set("samples", fit->num_samples)
      .Set("sizes", fit->num_sizes)
      .Set("alpha_s", fit->alpha_s)
      .Set("beta_s_per_byte", fit->beta_s_per_byte)
      .Set("inverse_beta_GB_per_s", 1 / fit->beta_s_per_byte / 1e9);
  return result;
}

MetricResult Alpha(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return fit.alpha_s; });
}

MetricResult Beta(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return fit.beta_s_per_byte; });
}

MetricResult InverseBeta(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return 1 / fit.beta_s_per_byte; });
}

Metric MetricOf(std::string_view name, std::string_view meaning, std::string_view unit,
                MetricResult (*compute)(const RunView&)) {
  return {.name = name,
          .meaning = meaning,
          .unit = unit,
          .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
          .definition =
              "Least squares of t / (2 (n - 1)) = alpha + beta * S / n over all-reduces of "
              "the group size with most records; at least 5 of 2 sizes",
          .compute = compute};
}

}  // namespace

std::vector<Metric> Describe() {
  return {MetricOf("hockney_alpha_s", "Latency of one ring step of an all-reduce", "s", &Alpha),
          MetricOf("hockney_beta_s_per_byte", "Time per byte of one ring step", "s/B", &Beta),
          MetricOf("hockney_inverse_beta_Bps", "Bandwidth of one ring step", "B/s", &InverseBeta)};
}

}  // namespace orrery::analyze::hockney
