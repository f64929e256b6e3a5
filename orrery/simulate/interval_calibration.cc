#include "orrery/simulate/interval_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

constexpr std::array<double, 5> kUtilisations{0, 0.1, 0.2, 0.3, 0.4};
/// Of an interval that holds four of five.
constexpr double kLowLevel = 0.1;
constexpr double kHighLevel = 0.9;
/// Rows of a stack from which on it counts as a whole one.
constexpr double kRowsOfWhole = 20;

struct Weighted {
  double value = 0;
  double weight = 0;
};

/// The value below which a share of the weights lies, interpolated between the middles of values.
double WeightedQuantile(std::vector<Weighted> values, double share) {
  std::ranges::sort(values, {}, &Weighted::value);
  double sum = 0;
  for (const Weighted& one : values) {
    sum += one.weight;
  }
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double middle = (below + values[i].weight / 2) / sum;
    if (middle >= share) {
      if (i == 0) {
        return values[0].value;
      }
      const double before = (below - values[i - 1].weight / 2) / sum;
      const double part = (share - before) / (middle - before);
      return values[i - 1].value + part * (values[i].value - values[i - 1].value);
    }
    below += values[i].weight;
  }
  return values.back().value;
}

using Groups = std::map<std::string, std::vector<double>>;  // residuals by stack

void AddStacks(const Groups& groups, double share, std::vector<Weighted>& values) {
  double stacks = 0;
  for (const auto& [stack, residuals] : groups) {
    stacks += std::min(1.0, static_cast<double>(residuals.size()) / kRowsOfWhole);
  }
  for (const auto& [stack, residuals] : groups) {
    const auto rows = static_cast<double>(residuals.size());
    const double weight = std::min(1.0, rows / kRowsOfWhole) / rows;
    for (const double residual : residuals) {
      values.push_back({residual, share > 0 ? share * weight / stacks : weight});
    }
  }
}

}  // namespace

const IntervalClass& StepIntervals::ClassOf(const StepTraits& traits) const {
  const IntervalClass* found = &classes.front();
  for (const IntervalClass& one : classes) {
    if (one.has_experts == traits.has_experts &&
        (found->has_experts != traits.has_experts || one.least_utilisation <= traits.utilisation)) {
      found = &one;
    }
  }
  return *found;
}

learn::TimeInterval StepIntervals::Around(double seconds, const StepTraits& traits) const {
  const IntervalClass& found = ClassOf(traits);
  return {.low_s = seconds * found.low, .high_s = seconds * found.high};
}

StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals) {
  StepIntervals intervals;
  for (const bool has_experts : {false, true}) {
    for (const double least : kUtilisations) {
      intervals.classes.push_back({.has_experts = has_experts, .least_utilisation = least});
    }
  }
  Groups all;
  for (const StepResidual& residual : residuals) {
    all[residual.stack].push_back(residual.log_ratio);
  }
  for (IntervalClass& one : intervals.classes) {
    Groups own;
    for (const StepResidual& residual : residuals) {
      if (&intervals.ClassOf(residual.traits) == &one) {
        own[residual.stack].push_back(residual.log_ratio);
        ++one.rows;
      }
    }
    one.stacks = own.size();
    std::vector<Weighted> values;
    AddStacks(own, 0, values);
    AddStacks(all, 1, values);
    one.low = std::exp(WeightedQuantile(values, kLowLevel));
    one.high = std::exp(WeightedQuantile(values, kHighLevel));
  }
  return intervals;
}

std::string IntervalsText(const StepIntervals& intervals) {
  std::string text = "intervals:\n";
  for (const IntervalClass& one : intervals.classes) {
    text += fmt::format(
        "  - {{experts: {}, least_utilisation: {:.2g}, low: {:.4g}, high: {:.4g}, rows: {}, "
        "stacks: {}}}\n",
        one.has_experts, one.least_utilisation, one.low, one.high, one.rows, one.stacks);
  }
  return text;
}

Result<StepIntervals> ReadStepIntervals(const std::string& yaml) {
  return workload::WithYaml(
      "intervals of steps", yaml, [](const YAML::Node& root) -> Result<StepIntervals> {
        std::optional<Error> first_error;
        StepIntervals intervals;
        const YAML::Node nodes = root["intervals"];
        for (std::size_t i = 0; i < nodes.size() && !first_error; ++i) {
          YamlFields fields(nodes[i], fmt::format("interval {}", i + 1), first_error);
          IntervalClass& one = intervals.classes.emplace_back();
          one.has_experts = fields.Flag("experts", false);
          one.least_utilisation = fields.Number("least_utilisation", 0, 0);
          one.low = fields.Positive("low");
          one.high = fields.Positive("high");
          one.rows = static_cast<std::size_t>(fields.Count("rows", 0));
          one.stacks = static_cast<std::size_t>(fields.Count("stacks", 0));
          fields.RefuseOthers();
        }
        if (first_error) {
          return tl::unexpected(*std::move(first_error));
        }
        if (intervals.classes.empty()) {
          return workload::Refuse(
              "the file has no 'intervals'; write it anew with `orrery fit frameworks`");
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
