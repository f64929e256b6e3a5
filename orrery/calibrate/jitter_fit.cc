#include "orrery/calibrate/jitter_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::calibrate {
namespace {

using simulate::JitterModel;
using simulate::StepJitter;

constexpr std::array<std::size_t, 5> kBlocks = {1, 2, 4, 8, 16};
constexpr std::size_t kLeastBlocks = 30;
/// Of a normal distribution as much lies below one standard deviation under the median.
constexpr double kOneSigmaBelow = 0.158655;
/// A normal body has no records beyond.
constexpr double kStallWidths = 5;
/// The weight of the stalls of one group together, in independent ones.
constexpr double kStallsOfGroup = 40;

/// The width of means of so many steps.
struct Width {
  std::int64_t steps = 1;
  double log_sigma = 0;
};

/// The properties of a group that the fit uses.
struct Features {
  const RecordedSteps* recorded = nullptr;
  std::vector<Width> widths = {};     // the first is that of records
  double least_stall_s = 0;           // shorter ones are not told from the body
  std::vector<double> beyond_s = {};  // the extra time of the stalls
  double gpu_seconds = 0;
};

double SigmaBelow(std::span<const double> relative) {
  // Clocks and logs have a resolution, and logarithms need more than nothing.
  constexpr double kLeastSigma = 1e-6;
  return std::max(kLeastSigma, 1 - Quantile(relative, kOneSigmaBelow));
}

Features FeaturesOf(const RecordedSteps& recorded) {
  Features features{.recorded = &recorded};
  const std::vector<double> relative = recorded.Relative();
  const double sigma = SigmaBelow(relative);
  for (const std::size_t block : kBlocks) {
    const std::vector<double> means = recorded.Relative(block);
    if (block == 1 || means.size() >= kLeastBlocks) {
      features.widths.push_back({.steps = static_cast<std::int64_t>(block) * recorded.window_steps,
                                 .log_sigma = std::log(SigmaBelow(means))});
    }
  }
  const double window_s = recorded.MedianStep() * recorded.window_steps;
  features.least_stall_s = kStallWidths * sigma * window_s;
  for (const double value : relative) {
    const double beyond_s = (value - 1) * window_s - features.least_stall_s;
    if (beyond_s > 0) {
      features.beyond_s.push_back(beyond_s);
    }
  }
  features.gpu_seconds = recorded.gpus * window_s * static_cast<double>(relative.size());
  return features;
}

using FeaturesOfGroups = std::vector<const Features*>;

/// The distance of the widths of all groups from those of a model, in logarithms.
struct WidthError {
  double log_step_sigma = 0;  // the best one
  double squares = 0;
};

WidthError WidthErrorOf(const FeaturesOfGroups& groups, double persistence) {
  const JitterModel unit{.step_sigma = 1, .persistence = persistence};
  std::map<std::int64_t, double> log_of_steps;
  double sum = 0;
  double squares = 0;
  for (const Features* const group : groups) {
    const double weight = 1.0 / static_cast<double>(group->widths.size());
    for (const Width& width : group->widths) {
      const auto [found, is_new] = log_of_steps.try_emplace(width.steps, 0);
      if (is_new) {
        found->second = std::log(unit.WindowSigma(width.steps));
      }
      const double difference = width.log_sigma - found->second;
      sum += weight * difference;
      squares += weight * difference * difference;
    }
  }
  const auto count = static_cast<double>(groups.size());
  return {.log_step_sigma = sum / count, .squares = squares - sum * sum / count};
}

void FitBody(const FeaturesOfGroups& groups, JitterModel& model) {
  constexpr double kStep = 0.005;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1; i < 200; ++i) {
    const WidthError error = WidthErrorOf(groups, kStep * i);
    if (error.squares < least) {
      least = error.squares;
      model.persistence = kStep * i;
      model.step_sigma = std::exp(error.log_step_sigma);
    }
  }
  std::vector<double> squares;
  for (const Features* const group : groups) {
    const Width& width = group->widths.front();
    const double difference = width.log_sigma - std::log(model.WindowSigma(width.steps));
    squares.push_back(difference * difference);
  }
  model.sigma_deviation = std::sqrt(Mean(squares));
}

double StallWeight(const Features& group) {
  const auto count = static_cast<double>(group.beyond_s.size());
  return count <= kStallsOfGroup ? 1 : kStallsOfGroup / count;
}

// Beyond c, stalls of scale s and shape x are of scale s + x c and the same shape.
double LogLikelihood(const FeaturesOfGroups& groups, double scale_s, double shape) {
  double sum = 0;
  for (const Features* const group : groups) {
    const double scale = scale_s + shape * group->least_stall_s;
    double of_group = 0;
    for (const double beyond_s : group->beyond_s) {
      of_group -= std::log(scale) + (1 + 1 / shape) * std::log1p(shape * beyond_s / scale);
    }
    sum += of_group * StallWeight(*group);
  }
  return sum;
}

struct Interval {
  double middle = 0;
  double half = 0;

  [[nodiscard]] double At(int place, int places) const { return middle + half * place / places; }
};

// Looks at a grid and then, closer, around the best place.
void FitStallTimes(const FeaturesOfGroups& groups, JitterModel& model) {
  constexpr int kPlaces = 5;
  constexpr int kRounds = 12;
  constexpr double kCloser = 0.5;
  Interval log_scale{.middle = std::log(0.1), .half = std::log(100.0)};
  Interval shape{.middle = 0.76, .half = 0.74};
  for (int round = 0; round < kRounds; ++round) {
    double best = -std::numeric_limits<double>::infinity();
    std::pair<double, double> place;
    for (int i = -kPlaces; i <= kPlaces; ++i) {
      for (int j = -kPlaces; j <= kPlaces; ++j) {
        const double one_shape = std::clamp(shape.At(j, kPlaces), 0.02, 1.5);
        const double value = LogLikelihood(groups, std::exp(log_scale.At(i, kPlaces)), one_shape);
        if (value > best) {
          best = value;
          place = {log_scale.At(i, kPlaces), one_shape};
        }
      }
    }
    log_scale = {place.first, log_scale.half * kCloser};
    shape = {place.second, shape.half * kCloser};
  }
  model.stall_scale_s = std::exp(log_scale.middle);
  model.stall_shape = shape.middle;
}

void FitStalls(const FeaturesOfGroups& groups, JitterModel& model) {
  double longest_s = 0;
  for (const Features* const group : groups) {
    for (const double beyond_s : group->beyond_s) {
      longest_s = std::max(longest_s, group->least_stall_s + beyond_s);
    }
  }
  if (longest_s == 0) {
    return;
  }
  model.longest_stall_s = longest_s;
  FitStallTimes(groups, model);
  double stalls = 0;
  double gpu_seconds = 0;
  for (const Features* const group : groups) {
    const double weight = StallWeight(*group);
    stalls += weight * static_cast<double>(group->beyond_s.size());
    gpu_seconds += weight * group->gpu_seconds * model.StallSurvival(group->least_stall_s);
  }
  model.stalls_per_gpu_s = stalls / gpu_seconds;
}

JitterModel FitFeatures(const FeaturesOfGroups& groups) {
  JitterModel model;
  FitBody(groups, model);
  FitStalls(groups, model);
  std::set<std::string> systems;
  std::set<std::string> submitters;
  std::set<std::string> gpus;
  model.least_gpus = groups.front()->recorded->gpus;
  for (const Features* const group : groups) {
    const RecordedSteps& recorded = *group->recorded;
    systems.insert(recorded.system);
    submitters.insert(recorded.submitter());
    gpus.insert(recorded.gpu);
    model.least_gpus = std::min(model.least_gpus, recorded.gpus);
    model.most_gpus = std::max(model.most_gpus, recorded.gpus);
  }
  model.systems = static_cast<int>(systems.size());
  model.submitters = static_cast<int>(submitters.size());
  model.gpus.assign(gpus.begin(), gpus.end());
  return model;
}

/// Records as a model draws them, relative to their median.
std::vector<double> Predicted(const JitterModel& model, const RecordedSteps& recorded) {
  constexpr std::size_t kDraws = 20'001;
  const StepJitter jitter(model, recorded.gpus, recorded.MedianStep());
  std::vector<double> drawn(kDraws);
  for (std::size_t i = 0; i < kDraws; ++i) {
    drawn[i] = jitter.DrawWindow(0, i, recorded.window_steps);
  }
  const double median = Median(drawn);
  for (double& value : drawn) {
    value /= median;
  }
  return drawn;
}

/// Models by what was left out of their fit.
class LeftOut {
 public:
  explicit LeftOut(const std::vector<Features>& features) : features_(features) {}

  using NameOf = std::function<std::string(const RecordedSteps&)>;

  const JitterModel& Without(const std::string& name, const NameOf& name_of) {
    const auto [found, is_new] = models_.try_emplace(name);
    if (is_new) {
      FeaturesOfGroups others;
      for (const Features& group : features_) {
        if (name_of(*group.recorded) != name) {
          others.push_back(&group);
        }
      }
      found->second = FitFeatures(others);
    }
    return found->second;
  }

 private:
  const std::vector<Features>& features_;
  std::map<std::string, JitterModel> models_;
};

std::vector<Features> FeaturesOfAll(std::span<const RecordedSteps> groups) {
  std::vector<Features> features;
  for (const RecordedSteps& group : groups) {
    features.push_back(FeaturesOf(group));
  }
  return features;
}

JudgedSteps Judge(const RecordedSteps& recorded, const JitterModel& without_submitter,
                  const JitterModel& without_system) {
  const std::vector<double> measured = recorded.Relative();
  const std::vector<double> predicted = Predicted(without_submitter, recorded);
  return {
      .recorded = recorded,
      .distance = KolmogorovSmirnovDistance(predicted, measured),
      .system_distance = KolmogorovSmirnovDistance(Predicted(without_system, recorded), measured),
      .step_sigma = SigmaBelow(measured) / without_submitter.WindowSigma(recorded.window_steps) *
                    without_submitter.step_sigma,
      .measured_sigma = SigmaBelow(measured),
      .predicted_sigma = SigmaBelow(predicted),
      .measured_p95 = Quantile(measured, 0.95),
      .predicted_p95 = Quantile(predicted, 0.95),
      .measured_p99 = Quantile(measured, 0.99),
      .predicted_p99 = Quantile(predicted, 0.99)};
}

}  // namespace

Result<JitterModel> FitJitter(std::span<const RecordedSteps> groups) {
  if (groups.empty()) {
    return Invalid("no recorded steps to fit jitter to");
  }
  const std::vector<Features> features = FeaturesOfAll(groups);
  FeaturesOfGroups all;
  for (const Features& group : features) {
    all.push_back(&group);
  }
  return FitFeatures(all);
}

Result<std::vector<JudgedSteps>> JudgeJitter(std::span<const RecordedSteps> groups) {
  std::set<std::string> submitters;
  for (const RecordedSteps& group : groups) {
    submitters.insert(group.submitter());
  }
  if (submitters.size() < 2) {
    return Invalid("steps of one submitter only: there is no other one to fit jitter to");
  }
  const std::vector<Features> features = FeaturesOfAll(groups);
  LeftOut submitter_left_out(features);
  LeftOut system_left_out(features);
  std::vector<JudgedSteps> judged;
  for (const RecordedSteps& group : groups) {
    judged.push_back(Judge(group,
                           submitter_left_out.Without(group.submitter(), &RecordedSteps::submitter),
                           system_left_out.Without(
                               group.system, [](const RecordedSteps& one) { return one.system; })));
  }
  return judged;
}

}  // namespace orrery::calibrate
