#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/cancellation.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/calibrate/jitter_fit.h"
#include "orrery/calibrate/recorded_steps.h"

namespace orrery::api {
namespace {

using calibrate::JudgedSteps;
using calibrate::RecordedStepTable;

/// Published accuracy of PRISM's predicted training times (arXiv 2510.15596v1), to compare with.
constexpr double kPublishedDistance = 0.208;

JitterDistances DistancesOf(const std::vector<JudgedSteps>& judged,
                            double JudgedSteps::* distance) {
  std::vector<double> distances;
  for (const JudgedSteps& group : judged) {
    distances.push_back(group.*distance);
  }
  const auto below =
      std::ranges::count_if(distances, [](double value) { return value < kPublishedDistance; });
  return {.mean = Mean(distances),
          .median = Median(distances),
          .largest = std::ranges::max(distances),
          .share_below_0_208 = static_cast<double>(below) / static_cast<double>(distances.size())};
}

JitterGroup GroupOf(const JudgedSteps& group) {
  const calibrate::RecordedSteps& recorded = group.recorded;
  return {.system = recorded.system,
          .benchmark = recorded.benchmark,
          .gpu = recorded.gpu,
          .gpus = recorded.gpus,
          .window = recorded.window_steps,
          .records = static_cast<std::int64_t>(recorded.num_records()),
          .ks = group.distance,
          .ks_system = group.system_distance,
          .step_sigma = group.step_sigma,
          .measured_sigma = group.measured_sigma,
          .predicted_sigma = group.predicted_sigma,
          .measured_p95 = group.measured_p95 - 1,
          .predicted_p95 = group.predicted_p95 - 1,
          .measured_p99 = group.measured_p99 - 1,
          .predicted_p99 = group.predicted_p99 - 1};
}

/// Values of the groups of one GPU and order of scale.
struct ScaleValues {
  std::vector<double> step_sigmas = {};
  std::vector<double> records_p99 = {};
  std::vector<double> distances = {};
};

constexpr std::array<std::pair<int, const char*>, 3> kScales = {
    {{8, "to 8"}, {99, "9 to 99"}, {std::numeric_limits<int>::max(), "100 and more"}}};

std::size_t ScaleOf(int gpus) {
  std::size_t scale = 0;
  while (gpus > kScales[scale].first) {
    ++scale;
  }
  return scale;
}

std::vector<JitterScale> ScalesOf(const std::vector<JitterGroup>& groups) {
  std::map<std::pair<std::string, std::size_t>, ScaleValues> values_of_scale;
  for (const JitterGroup& group : groups) {
    ScaleValues& values = values_of_scale[{group.gpu, ScaleOf(group.gpus)}];
    values.step_sigmas.push_back(group.step_sigma);
    values.records_p99.push_back(group.measured_p99);
    values.distances.push_back(group.ks);
  }
  std::vector<JitterScale> scales;
  for (const auto& [key, values] : values_of_scale) {
    scales.push_back({.gpu = key.first,
                      .gpus = kScales[key.second].second,
                      .groups = static_cast<std::int64_t>(values.step_sigmas.size()),
                      .step_sigma = Median(values.step_sigmas),
                      .least_sigma = std::ranges::min(values.step_sigmas),
                      .most_sigma = std::ranges::max(values.step_sigmas),
                      .p99 = Median(values.records_p99),
                      .ks = Median(values.distances)});
  }
  return scales;
}

// The distance of the predicted p99 from the median, relative to the measured one.
void SetTail(EvaluateJitterResult& result) {
  std::vector<double> ratios;
  std::size_t within = 0;
  for (const JitterGroup& group : result.groups) {
    const double ratio = group.predicted_p99 / group.measured_p99;
    ratios.push_back(ratio);
    within += ratio >= 0.5 && ratio <= 2 ? 1 : 0;
  }
  result.p99_ratio = Median(ratios);
  result.p99_within_factor_2 = static_cast<double>(within) / static_cast<double>(ratios.size());
}

EvaluateJitterResult ResultOf(const RecordedStepTable& table,
                              const std::vector<JudgedSteps>& judged) {
  EvaluateJitterResult result{
      .submitter_left_out = DistancesOf(judged, &JudgedSteps::distance),
      .system_left_out = DistancesOf(judged, &JudgedSteps::system_distance),
      .records = static_cast<std::int64_t>(table.records),
      .records_in_warm_up = static_cast<std::int64_t>(table.in_warm_up),
      .records_at_the_end = static_cast<std::int64_t>(table.at_the_end),
      .records_in_small_groups = static_cast<std::int64_t>(table.in_small_groups)};
  for (const JudgedSteps& group : judged) {
    result.groups.push_back(GroupOf(group));
  }
  SetTail(result);
  result.scales = ScalesOf(result.groups);
  return result;
}

Result<EvaluateJitterResult> Evaluate(const EvaluateJitterRequest& request) {
  ORRERY_TRY(const RecordedStepTable table, calibrate::ReadRecordedSteps(request.path));
  request.call.Report("evaluating");
  const Result<std::vector<JudgedSteps>> judged = calibrate::JudgeJitter(table.groups);
  if (!judged) {
    return FailWithin(request.path, judged);
  }
  return ResultOf(table, *judged);
}

}  // namespace

Result<EvaluateJitterResult> EvaluateJitter(const Session& /*session*/,
                                            const EvaluateJitterRequest& request) {
  return RunCancellable(request.call, [&] { return Evaluate(request); });
}

}  // namespace orrery::api
