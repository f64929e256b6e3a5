#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::simulate {

/// The variation of healthy step times, relative to their median (docs/design/0017-step-jitter.md).
///
/// The body is normal and correlated: noise that changes with every step, every second, every
/// fourth … step, each with `persistence` times the variance of the one before. So the mean of k
/// steps varies less than one step, but by more than 1/√k of it. On top come stalls: any GPU may
/// hold up all others, so often per GPU and second, for times of a generalised Pareto distribution.
struct JitterModel {
  double step_sigma = 0;       // of one step, relative
  double persistence = 0;      // 0: steps are independent
  double sigma_deviation = 0;  // of ln step_sigma between systems
  double stalls_per_gpu_s = 0;
  double stall_scale_s = 1;
  double stall_shape = 0.1;
  double longest_stall_s = 1;  // longer ones were not measured and are not drawn

  // The data of the fit.
  int systems = 0;
  int submitters = 0;
  int least_gpus = 0;
  int most_gpus = 0;
  std::vector<std::string> gpus = {};  // their names

  /// Of the mean of consecutive steps, without stalls.
  [[nodiscard]] double WindowSigma(std::int64_t steps) const;

  /// The share of stalls that last longer.
  [[nodiscard]] double StallSurvival(double seconds) const;

  /// The length in seconds that the share q (below 1) of stalls does not exceed.
  [[nodiscard]] double StallQuantile(double q) const;
};

/// Reads what JitterText writes; errors begin with `place`.
[[nodiscard]] Result<JitterModel> ParseJitter(std::string_view text, std::string_view place);
[[nodiscard]] std::string JitterText(const JitterModel& model);

/// The model that the program is built with (data/workload/step_jitter.yaml).
[[nodiscard]] const JitterModel& ShippedJitter();

/// In what a job is beyond the systems that a model was fitted to, a phrase each; empty: in
/// nothing.
[[nodiscard]] std::vector<std::string> BeyondFit(const JitterModel& model, const std::string& gpu,
                                                 int gpus);

/// The jitter of one job. Every draw is a hash of a seed and its number, so that none depends on
/// another one.
class StepJitter {
 public:
  /// `median_s` is the median of the job's healthy steps, above 0.
  StepJitter(const JitterModel& model, int gpus, double median_s);

  [[nodiscard]] const JitterModel& model() const { return model_; }

  [[nodiscard]] double median_s() const { return median_s_; }

  /// Expected, of all GPUs.
  [[nodiscard]] double stalls_per_step() const { return stalls_per_step_; }

  /// The mean of `steps` consecutive steps, relative to the median step.
  [[nodiscard]] double DrawWindow(std::uint64_t seed, std::uint64_t number,
                                  std::int64_t steps) const;

 private:
  friend class StepSequence;

  // Together in `steps` steps, relative to one.
  [[nodiscard]] double DrawStalls(std::uint64_t key, double steps) const;

  JitterModel model_;
  double median_s_ = 0;
  double stalls_per_step_ = 0;
  double center_ = 1;  // the median of body and stalls together
};

/// The steps of a run, one after the other.
class StepSequence {
 public:
  /// Begins with step `first`. The jitter must outlive this.
  StepSequence(const StepJitter& jitter, std::uint64_t seed, std::uint64_t first = 0);

  /// The next step, in seconds.
  [[nodiscard]] double Next();

  /// Noise of level j stays for 2^j steps, that of the last one for good.
  static constexpr std::size_t kLevels = 12;

 private:
  void DrawLevel(std::size_t level);

  const StepJitter& jitter_;
  std::uint64_t seed_;
  std::uint64_t place_;  // of the next step, from where the slowest noise changes
  std::array<double, kLevels + 1> noise_{};
};

/// Drawn steps, in seconds.
struct StepDistribution {
  std::vector<double> sorted_s = {};
  double mean_s = 0;

  [[nodiscard]] double best_s() const { return sorted_s.front(); }

  [[nodiscard]] double worst_s() const { return sorted_s.back(); }

  /// The step below which the share q of them lies.
  [[nodiscard]] double QuantileS(double q) const;
};

/// Draws the first `steps` of a run, at least one.
[[nodiscard]] StepDistribution DrawSteps(const StepJitter& jitter, std::int64_t steps,
                                         std::uint64_t seed);

}  // namespace orrery::simulate
