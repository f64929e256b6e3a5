#include "orrery/analyze/metrics/hockney.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze {
namespace {

struct Samples {
  std::vector<double> x;  // bytes per rank
  std::vector<double> y;  // seconds per ring step
  std::set<std::int64_t> sizes;
};

// Centred sums, so that large sizes do not swallow small ones.
void FitLine(const Samples& samples, HockneyFit& fit) {
  const auto n = static_cast<double>(samples.x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    mean_x += samples.x[i] / n;
    mean_y += samples.y[i] / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    xx += (samples.x[i] - mean_x) * (samples.x[i] - mean_x);
    xy += (samples.x[i] - mean_x) * (samples.y[i] - mean_y);
  }
  fit.beta_s_per_byte = xy / xx;
  fit.alpha_s = mean_y - fit.beta_s_per_byte * mean_x;
}

}  // namespace

std::optional<HockneyFit> FitHockney(const RunView& run, std::string& reason) {
  std::map<std::int32_t, Samples> by_group_size;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.kind == trace::CollectiveKind::kAllReduce && record.bytes > 0 &&
        record.num_ranks > 1) {
      const auto n = static_cast<double>(record.num_ranks);
      Samples& samples = by_group_size[record.num_ranks];
      samples.x.push_back(static_cast<double>(record.bytes) / n);
      samples.y.push_back(static_cast<double>(record.transfer_ns) / 1e9 / (2 * (n - 1)));
      samples.sizes.insert(record.bytes);
    }
  }
  const std::pair<const std::int32_t, Samples>* best = nullptr;
  for (const auto& entry : by_group_size) {
    if (best == nullptr || entry.second.x.size() > best->second.x.size()) {
      best = &entry;
    }
  }
  const std::size_t num_samples = best == nullptr ? 0 : best->second.x.size();
  const std::size_t num_sizes = best == nullptr ? 0 : best->second.sizes.size();
  if (num_samples < 5 || num_sizes < 2) {
    reason = fmt::format("{} samples of {} sizes, needs 5 of 2", num_samples, num_sizes);
    return std::nullopt;
  }
  HockneyFit fit{.num_ranks = best->first, .num_samples = num_samples, .num_sizes = num_sizes};
  FitLine(best->second, fit);
  return fit;
}

namespace hockney {
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

}  // namespace hockney
}  // namespace orrery::analyze
