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
#include "orrery/base/error.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/learn/interval.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"

namespace orrery::simulate {
namespace {

/// Hardly any published step uses more of the peak.
constexpr double kGoodUtilisation = 0.6;

constexpr std::array<const char*, kNumIntervalCauses> kCauseNames{
    "idleness", "host", "communication", "unmeasured", "experts"};

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
  const double unused = std::max(0.0, 1 - traits.utilisation / kGoodUtilisation);
  return {unused * unused, traits.shares[kHost], traits.shares[kCommunication], traits.unmeasured,
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
              "the file has no 'intervals'; write it anew with `orrery fit frameworks`");
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
