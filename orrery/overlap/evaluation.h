#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/importance.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/fit.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::overlap {

/// What is held out: all rows of a compute kernel, of some widths, of some rates, of a pattern, or
/// rows as they come (which flatters, and is for comparison with others only).
enum class HeldOut : std::uint8_t { kKernel, kWidth, kPattern, kPlace, kRow };

[[nodiscard]] Result<HeldOut> HeldOutOf(std::string_view name);

/// A row's part follows from its text and the seed alone.
struct PairSplit {
  std::vector<const MeasuredPair*> train;
  std::vector<const MeasuredPair*> test;
};

[[nodiscard]] PairSplit SplitPairs(std::span<const MeasuredPair> rows, HeldOut what,
                                   std::uint64_t seed);

/// A measured row and the time that was predicted for its compute kernel.
struct EvaluatedPair {
  const MeasuredPair* row = nullptr;
  double predicted_us = 0;
  double predicted_delay_us = 0;  // of communication that came second
};

/// Figures of one predictor; the errors are of the overlapped duration, R² is of the slowdown's
/// logarithm (durations themselves would flatter).
struct Figures {
  std::string name;
  learn::Evaluation duration;
  double r2_of_slowdown = 0;
};

struct DelayFigures {
  std::size_t waited = 0;   // rows whose kernel waited longer than kLeastDelayUs
  double median_error = 0;  // per cent, of those
  double precision = 0;     // of "it waits", per cent
  double recall = 0;
};

struct Group {
  std::string what;  // "mode", "place", "width", …
  std::string name;
  learn::Evaluation duration;
};

struct OverlapEvaluation {
  std::vector<Figures> predictors;  // ours first, then the baselines
  Figures as_planned;               // ours without launch and counters
  learn::Evaluation communication;  // time of the same payload, steady rows
  DelayFigures delays;
  std::vector<Group> groups;
  std::vector<learn::GroupImportance> importance;
  std::vector<EvaluatedPair> rows;
  double noise_floor = 0;  // median spread of the repeats alone, per cent
};

/// Evaluates a model on rows; baselines that need rows to learn from take `train`.
[[nodiscard]] OverlapEvaluation Evaluate(const LearnedModel& model,
                                      std::span<const MeasuredPair* const> train,
                                      std::span<const MeasuredPair* const> test);

}  // namespace orrery::overlap
