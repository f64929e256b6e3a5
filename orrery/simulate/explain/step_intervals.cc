#include "orrery/simulate/explain/step_intervals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/learn/interval.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"

namespace orrery::simulate {
namespace {

/// Dense steps that use more of the peak are predicted equally well.
constexpr double kGoodUtilisation = 0.5;

constexpr std::array<const char*, kNumIntervalCauses> kCauseNames{"idleness", "network_idleness",
                                                                  "unmeasured", "experts"};

std::string EndText(const char* key, const IntervalEnd& end) {
  std::string text = fmt::format("  {}: {{always: {:.4g}", key, end.always);
  for (std::size_t i = 0; i < end.by_cause.size(); ++i) {
    text += fmt::format(", {}: {:.4g}", kCauseNames[i], end.by_cause[i]);
  }
  return text + "}\n";
}

IntervalEnd ReadEnd(YamlFields fields) {
  IntervalEnd end{.always = fields.Number("always", 0, 0)};
  for (std::size_t i = 0; i < end.by_cause.size(); ++i) {
    end.by_cause[i] = fields.Number(kCauseNames[i], 0, 0);
  }
  fields.RefuseOthers();
  return end;
}

}  // namespace

IntervalCauses CausesOf(const StepTraits& traits) {
  // Small experts leave tensor cores unused however well they run.
  const double unused =
      traits.has_experts ? 0 : std::max(0.0, 1 - traits.utilisation / kGoodUtilisation);
  return {unused * unused, traits.spans_islands ? unused * unused : 0, traits.unmeasured,
          traits.has_experts ? 1.0 : 0.0};
}

double IntervalEnd::DistanceOf(const StepTraits& traits) const {
  const IntervalCauses causes = CausesOf(traits);
  return std::inner_product(causes.begin(), causes.end(), by_cause.begin(), always);
}

learn::TimeInterval StepIntervals::Around(double seconds, const StepTraits& traits) const {
  const double floor_s = std::min(seconds, traits.roofline_s);
  return {.low_s = std::max(floor_s, seconds * std::exp(-below.DistanceOf(traits))),
          .high_s = seconds * std::exp(above.DistanceOf(traits))};
}

std::string WideIntervalSentence(const StepIntervals& intervals, const StepTraits& traits) {
  constexpr double kWide = 2;
  constexpr double kWorthAWord = 1.1;
  const double width =
      std::exp(intervals.below.DistanceOf(traits) + intervals.above.DistanceOf(traits));
  if (width < kWide) {
    return {};
  }
  const IntervalCauses causes = CausesOf(traits);
  const std::array<std::string, kNumIntervalCauses> reasons{
      traits.utilisation > 0
          ? fmt::format("the step uses {:.0f} % of the GPUs' peak", 100 * traits.utilisation)
          : "the FLOPs of such a model are not counted, so all of the peak may be unused",
      "it does so over several nodes",
      fmt::format("{:.0f} % of its operators were not measured on this GPU",
                  100 * traits.unmeasured),
      "the model has experts"};
  std::string text;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    const double factor = std::exp(intervals.above.by_cause[i] * causes[i]);
    if (factor >= kWorthAWord) {
      text += fmt::format("{}{} (x {:.2g})", text.empty() ? "" : ", ", reasons[i], factor);
    }
  }
  return text.empty() ? "The 80 % interval is wide: published steps of such jobs differ as much."
                      : "The 80 % interval is wide. What raises its upper end: " + text + ".";
}

std::string IntervalsText(const StepIntervals& intervals) {
  return "intervals:\n" + EndText("below", intervals.below) + EndText("above", intervals.above) +
         fmt::format("  stretch: {:.4g}\n  rows: {}\n  stacks: {}\n", intervals.stretch,
                     intervals.rows, intervals.stacks);
}

Result<StepIntervals> ReadStepIntervals(const std::string& yaml) {
  return workload::WithYaml(
      "intervals of steps", yaml, [](const YAML::Node& root) -> Result<StepIntervals> {
        if (!root["intervals"]) {
          return workload::Refuse(
              "the file has no 'intervals'; write it again with `orrery fit frameworks`");
        }
        std::optional<Error> first_error;
        YamlFields fields(root["intervals"], "intervals", first_error);
        StepIntervals intervals{.below = ReadEnd(fields.Map("below")),
                                .above = ReadEnd(fields.Map("above"))};
        intervals.stretch = fields.Number("stretch", 1, 1);
        intervals.rows = static_cast<std::size_t>(fields.Count("rows", 0));
        intervals.stacks = static_cast<std::size_t>(fields.Count("stacks", 0));
        fields.RefuseOthers();
        if (first_error) {
          return tl::unexpected(*std::move(first_error));
        }
        return intervals;
      });
}

const StepIntervals& ShippedIntervals() {
  static const StepIntervals intervals = [] {
    auto read = ReadStepIntervals(workload::ShippedFrameworkFits());
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return intervals;
}

}  // namespace orrery::simulate
