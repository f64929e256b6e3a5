#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::calibrate {

struct OverlapFitOptions {
  std::uint64_t seed = 1;
  bool with_network = true;  // in addition to trees
  int threads = 2;
};

/// Called with the name of each part before it is fitted.
using OverlapFitProgress = std::function<void(std::string_view)>;

/// Fits models to measured pairs, once with all measured features and once with those of a plan.
[[nodiscard]] Result<overlap::LearnedModel> FitOverlap(
    std::span<const overlap::MeasuredPair* const> rows, const OverlapFitOptions& options,
    const OverlapFitProgress& progress = {});

enum class Knowledge : std::uint8_t { kMeasured, kPlanned };

/// The training data of the compute kernel's slowdown: ln(time / time alone) of overlaps and of
/// pairs in steady state, grouped by kernel.
[[nodiscard]] learn::DataSet SlowdownData(std::span<const overlap::MeasuredPair* const> rows,
                                          Knowledge knowledge);

/// Shorter delays are launch noise.
inline constexpr double kLeastDelayUs = 2;

/// The held-out rows: all of a compute kernel, of some widths, of a pattern, of a place, or single
/// rows (optimistic, for comparison with others only).
enum class HeldOut : std::uint8_t { kKernel, kWidth, kPattern, kPlace, kRow };

[[nodiscard]] Result<HeldOut> HeldOutOf(std::string_view name);

/// The part of a row depends only on its text and the seed.
struct PairSplit {
  std::vector<const overlap::MeasuredPair*> train;
  std::vector<const overlap::MeasuredPair*> test;
};

[[nodiscard]] PairSplit SplitPairs(std::span<const overlap::MeasuredPair> rows, HeldOut what,
                                   std::uint64_t seed);

struct EvaluatedPair {
  const overlap::MeasuredPair* row = nullptr;
  double predicted_us = 0;
  double predicted_delay_us = 0;  // of communication that is launched second
};

/// Errors of one predictor: of the overlapped duration, and R² of the slowdown's logarithm (that of
/// durations would be optimistic).
struct PredictorEvaluation {
  std::string name;
  learn::Evaluation duration;
  double r2_of_slowdown = 0;
};

struct DelayEvaluation {
  std::size_t waited = 0;   // rows with a delay above kLeastDelayUs
  double median_error = 0;  // percent, of those
  double precision = 0;     // of "it waits", percent
  double recall = 0;
};

struct PairGroup {
  std::string what;  // "mode", "place", "width", …
  std::string name;
  learn::Evaluation duration;
};

struct OverlapEvaluation {
  std::vector<PredictorEvaluation> predictors;  // ours first, then the baselines
  PredictorEvaluation as_planned;               // without launch and counters
  learn::Evaluation communication;              // communication time, steady rows
  DelayEvaluation delays;
  std::vector<PairGroup> groups;
  std::vector<learn::GroupImportance> importance;
  std::vector<EvaluatedPair> rows;
  double noise_floor = 0;  // median spread of the repeats alone, percent
};

/// Evaluates a model on rows; baselines are trained on `train`.
[[nodiscard]] OverlapEvaluation EvaluateOverlap(const overlap::LearnedModel& model,
                                                std::span<const overlap::MeasuredPair* const> train,
                                                std::span<const overlap::MeasuredPair* const> test);

}  // namespace orrery::calibrate
