#include "orrery/simulate/goodput/step_jitter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/math/normal_distribution.h"
#include "orrery/base/math/statistics.h"
#include "orrery/simulate/goodput/embedded_step_jitter.h"

namespace orrery::simulate {
namespace {

constexpr std::size_t kLevels = StepSequence::kLevels;

/// Draws of other kinds than the levels of noise.
enum class Draw : std::uint64_t { kPhase = 100, kStalls, kWindow };

std::uint64_t Key(std::uint64_t seed, std::uint64_t kind, std::uint64_t number) {
  return MixBits(MixBits(MixBits(seed + 1) + kind + 1) + number + 1);
}

std::uint64_t Key(std::uint64_t seed, Draw kind, std::uint64_t number) {
  return Key(seed, static_cast<std::uint64_t>(kind), number);
}

// Above 0 and below 1.
double Uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

double LevelVariance(double persistence, std::size_t level) {
  const double left = std::pow(persistence, static_cast<double>(level));
  return level == kLevels ? left : (1 - persistence) * left;
}

// Of the mean of k values in a row, of which those in the same block of b are equal and others
// independent; blocks begin anywhere. Values d apart are in the same block with probability 1 -
// d/b: (k + 2 Σ (k - d)(1 - d/b)) / k², summed over d below both k and b.
double VarianceOfMean(double k, double b) {
  const double m = std::min(k, b) - 1;
  const double sum = k * m - (1 + k / b) * m * (m + 1) / 2 + m * (m + 1) * (2 * m + 1) / (6 * b);
  return (k + 2 * sum) / (k * k);
}

}  // namespace

double JitterModel::WindowSigma(std::int64_t steps) const {
  const auto k = static_cast<double>(steps);
  double variance = 0;
  double left = 1;
  double block = 1;
  for (std::size_t level = 0; level < kLevels; ++level) {
    variance += (1 - persistence) * left * VarianceOfMean(k, block);
    left *= persistence;
    block *= 2;
  }
  return step_sigma * std::sqrt(variance + left);
}

double JitterModel::StallSurvival(double seconds) const {
  return std::pow(1 + stall_shape * seconds / stall_scale_s, -1 / stall_shape);
}

// None is longer than the longest.
double JitterModel::StallQuantile(double q) const {
  const double least = StallSurvival(longest_stall_s);
  const double survival = least + (1 - least) * (1 - q);
  return stall_scale_s / stall_shape * (std::pow(survival, -stall_shape) - 1);
}

Result<JitterModel> ParseJitter(std::string_view text, std::string_view place) {
  std::optional<Error> error;
  JitterModel model;
  try {
    YamlFields fields(YAML::Load(std::string(text)), std::string(place), error);
    YamlFields body = fields.Map("body");
    model.step_sigma = body.Positive("step_sigma");
    model.persistence = body.Positive("persistence");
    model.sigma_deviation = body.Positive("sigma_deviation");
    YamlFields stalls = fields.Map("stalls");
    model.stalls_per_gpu_s = stalls.Number("per_gpu_s", 0, 0);
    model.stall_scale_s = stalls.Positive("scale_s");
    model.stall_shape = stalls.Positive("shape");
    model.longest_stall_s = stalls.Positive("longest_s");
    YamlFields fitted = fields.Map("fitted_to");
    model.systems = fitted.Count("systems", 1);
    model.submitters = fitted.Count("submitters", 1);
    model.least_gpus = fitted.Count("least_gpus", 1);
    model.most_gpus = fitted.Count("most_gpus", model.least_gpus);
    model.gpus = fitted.Texts("gpus");
    for (YamlFields* const part : {&body, &stalls, &fitted, &fields}) {
      part->RefuseOthers();
    }
  } catch (const YAML::Exception& exception) {
    return Invalid("{}: {}", place, exception.what());
  }
  if (error) {
    return tl::unexpected(*error);
  }
  if (model.persistence >= 1) {
    return Invalid("{}: persistence must be below 1: {}", place, model.persistence);
  }
  return model;
}

std::string JitterText(const JitterModel& model) {
  return fmt::format(
      "# Written by `orrery fit jitter`: how the times of healthy steps vary, relative to their "
      "median\n"
      "# (docs/design/0017-step-jitter.md), from logged steps of runs of MLPerf Training v5.1\n"
      "# (https://github.com/mlcommons/training_results_v5.1, Apache-2.0).\n"
      "body: {{step_sigma: {:.4g}, persistence: {:.3f}, sigma_deviation: {:.3f}}}\n"
      "stalls: {{per_gpu_s: {:.3g}, scale_s: {:.3g}, shape: {:.3f}, longest_s: {:.3g}}}\n"
      "fitted_to: {{systems: {}, submitters: {}, least_gpus: {}, most_gpus: {}, gpus: [{}]}}\n",
      model.step_sigma, model.persistence, model.sigma_deviation, model.stalls_per_gpu_s,
      model.stall_scale_s, model.stall_shape, model.longest_stall_s, model.systems,
      model.submitters, model.least_gpus, model.most_gpus, fmt::join(model.gpus, ", "));
}

const JitterModel& ShippedJitter() {
  static const JitterModel model = [] {
    Result<JitterModel> read = ParseJitter(kEmbeddedStepJitter, "data/workload/step_jitter.yaml");
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return model;
}

std::vector<std::string> BeyondFit(const JitterModel& model, const std::string& gpu, int gpus) {
  std::vector<std::string> beyond;
  if (std::ranges::find(model.gpus, gpu) == model.gpus.end()) {
    beyond.push_back(fmt::format("the GPU ({})", gpu));
  }
  if (gpus < model.least_gpus || gpus > model.most_gpus) {
    beyond.push_back(fmt::format("the number of GPUs ({})", gpus));
  }
  return beyond;
}

StepJitter::StepJitter(const JitterModel& model, int gpus, double median_s)
    : model_(model),
      median_s_(median_s),
      stalls_per_step_(model.stalls_per_gpu_s * gpus * median_s) {
  ORRERY_CHECK(median_s > 0, "a step takes time");
  constexpr std::uint64_t kReferenceSeed = 0x5eed;
  constexpr std::size_t kReferenceDraws = 4'001;
  std::vector<double> reference(kReferenceDraws);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    reference[i] = DrawWindow(kReferenceSeed, i, 1);
  }
  center_ = Median(reference);
}

double StepJitter::DrawStalls(std::uint64_t key, double steps) const {
  // Of more a part is drawn, and stands for all.
  constexpr double kMostDrawn = 1'000;
  const double expected = stalls_per_step_ * steps;
  const double drawn = std::min(expected, kMostDrawn);
  double sum_s = 0;
  // Stalls come at random, so that the times between them are exponential.
  double time = -std::log(Uniform(MixBits(key)));
  while (time < drawn) {
    sum_s += model_.StallQuantile(Uniform(MixBits(key + 1)));
    key = MixBits(key + 2);
    time -= std::log(Uniform(MixBits(key)));
  }
  return drawn > 0 ? sum_s * (expected / drawn) / median_s_ : 0;
}

double StepJitter::DrawWindow(std::uint64_t seed, std::uint64_t number, std::int64_t steps) const {
  const double normal = NormalQuantile(Uniform(Key(seed, Draw::kWindow, number)));
  const auto count = static_cast<double>(steps);
  const double stalls = DrawStalls(Key(seed, Draw::kStalls, number), count);
  return (1 + model_.WindowSigma(steps) * normal + stalls / count) / center_;
}

StepSequence::StepSequence(const StepJitter& jitter, std::uint64_t seed, std::uint64_t first)
    : jitter_(jitter),
      seed_(seed),
      place_(first + Key(seed, Draw::kPhase, 0) % (std::uint64_t{1} << kLevels)) {
  for (std::size_t level = 0; level <= kLevels; ++level) {
    DrawLevel(level);
  }
}

void StepSequence::DrawLevel(std::size_t level) {
  const std::uint64_t block = level == kLevels ? 0 : place_ >> level;
  const JitterModel& model = jitter_.model_;
  noise_[level] = model.step_sigma * std::sqrt(LevelVariance(model.persistence, level)) *
                  NormalQuantile(Uniform(Key(seed_, level, block)));
}

double StepSequence::Next() {
  for (std::size_t level = 0; level < kLevels && place_ % (std::uint64_t{1} << level) == 0;
       ++level) {
    DrawLevel(level);
  }
  double step = 1;
  for (const double noise : noise_) {
    step += noise;
  }
  step += jitter_.DrawStalls(Key(seed_, Draw::kStalls, place_), 1);
  ++place_;
  return step / jitter_.center_ * jitter_.median_s_;
}

double StepDistribution::QuantileS(double q) const {
  return Quantile(sorted_s, q);
}

StepDistribution DrawSteps(const StepJitter& jitter, std::int64_t steps, std::uint64_t seed) {
  ORRERY_CHECK(steps > 0, "a distribution has steps");
  StepDistribution drawn;
  drawn.sorted_s.reserve(static_cast<std::size_t>(steps));
  StepSequence sequence(jitter, seed);
  for (std::int64_t step = 0; step < steps; ++step) {
    drawn.sorted_s.push_back(sequence.Next());
  }
  drawn.mean_s = Mean(drawn.sorted_s);
  std::ranges::sort(drawn.sorted_s);
  return drawn;
}

}  // namespace orrery::simulate
