#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/learn/boosted_trees.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/perceptron/perceptron.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/features.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::calibrate {
namespace {

using overlap::AppendFeatures;
using overlap::AppendKernelOverlapFeatures;
using overlap::Arrival;
using overlap::AsPlanned;
using overlap::Blend;
using overlap::FeatureNames;
using overlap::KernelOverlapFeatureNames;
using overlap::KernelOverlapOf;
using overlap::LearnedModel;
using overlap::MeasuredPair;
using overlap::Mode;
using overlap::Pair;
using Rows = std::span<const MeasuredPair* const>;

// Rows with planned features have less information than measured ones.
constexpr double kPlannedWeight = 0.5;

learn::DataSet EmptyData(std::span<const std::string> names) {
  return learn::DataSet({names.begin(), names.end()}, {"kernel"});
}

void Append(learn::DataSet& data, const MeasuredPair& row, std::span<const float> features,
            double target, double weight) {
  data.Append({.features = features, .target = target, .weight = weight, .groups = {row.kernel}});
}

void Append(learn::DataSet& data, const MeasuredPair& row, const Pair& pair, const Arrival& arrival,
            double target, double weight) {
  std::vector<float> features;
  AppendFeatures(row.machine, pair, arrival, features);
  Append(data, row, features, target, weight);
}

// Weights decrease with the uncertainty of a row: the median of n repeats has an error of about
// 0.93 times the interquartile range over √n.
double Certainty(const MeasuredPair& row) {
  constexpr double kOfQuartiles = 0.93;
  constexpr double kErrorOfHalf = 0.02;  // half the weight
  const double error =
      kOfQuartiles * row.together_spread / std::sqrt(static_cast<double>(std::max(1, row.repeats)));
  return kErrorOfHalf * kErrorOfHalf / (kErrorOfHalf * kErrorOfHalf + error * error);
}

learn::DataSet CommunicationData(Rows rows) {
  learn::DataSet data = EmptyData(FeatureNames());
  for (const MeasuredPair* row : rows) {
    const double alone = row->pair.communication.payload_gbps;
    if (row->mode != Mode::kSteady || alone <= 0 || row->communication_together_gbps <= 0) {
      continue;
    }
    const double target = std::log(alone / row->communication_together_gbps);
    const Arrival arrival{.compute_is_first = false};
    Append(data, *row, row->pair, arrival, target, 1);
    Append(data, *row, AsPlanned(row->pair), arrival, target, kPlannedWeight);
  }
  return data;
}

struct DelayData {
  learn::DataSet waits = EmptyData(FeatureNames());
  learn::DataSet share = EmptyData(FeatureNames());
};

DelayData DelaysOf(Rows rows) {
  DelayData data;
  for (const MeasuredPair* row : rows) {
    if (row->mode != Mode::kArrival || !row->compute_is_first ||
        std::isnan(row->communication_delay_us)) {
      continue;
    }
    const double left_us = std::max(1.0, row->pair.compute.alone_us - row->offset_us);
    const bool waited = row->communication_delay_us > kLeastDelayUs;
    const Arrival arrival{.compute_is_first = true, .since_us = row->offset_us};
    for (const Pair& pair : {row->pair, AsPlanned(row->pair)}) {
      const double weight = pair.compute.shape.IsKnown() ? 1 : kPlannedWeight;
      Append(data.waits, *row, pair, arrival, waited ? 1 : 0, weight);
      if (waited) {
        Append(data.share, *row, pair, arrival, std::log(row->communication_delay_us / left_us),
               weight);
      }
    }
  }
  return data;
}

struct Size {
  int rounds = 100;
  int depth = 6;
  double learning_rate = 0.1;
  std::size_t forests = 1;
  std::size_t networks = 0;
  std::uint32_t width = 0;
};

constexpr Size kOfMeasured = {
    .rounds = 300, .depth = 8, .learning_rate = 0.08, .networks = 3, .width = 96};
// Asked for millions of pairs, and steadier the more models there are.
constexpr Size kOfPlanned = {.rounds = 100, .forests = 2, .networks = 2, .width = 32};
constexpr Size kOfOthers = {};

learn::BoostedTreesOptions TreeOptions(const OverlapFitOptions& options, const Size& size) {
  learn::BoostedTreesOptions trees;
  trees.max_rounds = size.rounds;
  trees.patience = 0;  // the rounds are few enough that more never hurt on validation rows
  trees.max_depth = size.depth;
  trees.learning_rate = size.learning_rate;
  trees.row_share = 0.7;
  trees.column_share = 0.5;
  trees.min_child_weight = 3;
  trees.seed = static_cast<std::uint32_t>(options.seed);
  trees.threads = options.threads;
  return trees;
}

learn::PerceptronOptions NetworkOptions(const Size& size) {
  learn::PerceptronOptions network;
  network.hidden_widths = {size.width, size.width};
  network.activation = learn::Activation::kSilu;
  network.loss = learn::PerceptronOptions::Loss::kHuber;
  network.huber_width = 0.05;  // nearly the absolute error, which relative errors are evaluated by
  network.max_epochs = 40;
  network.batch_rows = 128;
  network.weight_decay = 0.2;
  return network;
}

Status AddForests(const learn::DataSet& data, const OverlapFitOptions& options, const Size& size,
                  Blend& blend) {
  const std::vector<learn::RowIndex> all = data.AllRows();
  learn::BoostedTreesOptions trees = TreeOptions(options, size);
  for (std::size_t i = 0; i < size.forests; ++i) {
    ORRERY_TRY(const learn::BoostedTrees trained,
               learn::TrainBoostedTrees(data, {.train = all, .validation = {}}, trees));
    blend.forests.push_back(learn::RoundedForShipping(trained.forest));
    ++trees.seed;
  }
  return {};
}

// Side by side: each takes one thread.
Status AddNetworks(const learn::DataSet& data, const OverlapFitOptions& options, const Size& size,
                   Blend& blend) {
  const std::vector<learn::RowIndex> all = data.AllRows();
  std::vector<std::optional<Result<learn::TrainedPerceptron>>> trained(size.networks);
  ParallelFor(size.networks, options.threads, [&](std::size_t i) {
    learn::PerceptronOptions network = NetworkOptions(size);
    network.seed = options.seed + i;
    trained[i] = learn::TrainPerceptron(data, {.train = all, .validation = {}}, network);
  });
  for (std::optional<Result<learn::TrainedPerceptron>>& one : trained) {
    ORRERY_TRY(learn::TrainedPerceptron network, std::move(*one));
    blend.perceptrons.push_back(std::move(network.perceptron));
  }
  return {};
}

Result<Blend> Fit(const learn::DataSet& data, const OverlapFitOptions& options, const Size& size) {
  Blend blend;
  ORRERY_TRY_STATUS(AddForests(data, options, size, blend));
  if (options.with_network) {
    ORRERY_TRY_STATUS(AddNetworks(data, options, size, blend));
  }
  return blend;
}

}  // namespace

learn::DataSet SlowdownData(Rows rows, Knowledge knowledge) {
  learn::DataSet data = EmptyData(KernelOverlapFeatureNames());
  std::vector<float> features;
  for (const MeasuredPair* row : rows) {
    const Pair pair = knowledge == Knowledge::kPlanned ? AsPlanned(row->pair) : row->pair;
    features.clear();
    AppendKernelOverlapFeatures(row->machine, pair, KernelOverlapOf(*row), features);
    const double slowdown = row->together_us / row->pair.compute.alone_us;
    Append(data, *row, features, std::log(slowdown), Certainty(*row));
  }
  return data;
}

Result<LearnedModel> FitOverlap(Rows rows, const OverlapFitOptions& options,
                                const OverlapFitProgress& progress) {
  const auto say = [&](std::string_view what) {
    if (progress) {
      progress(what);
    }
  };
  LearnedModel::Parts parts;
  for (const MeasuredPair* row : rows) {
    parts.generations.emplace(row->machine.generation);
  }
  say("how much computing kernels are slowed");
  ORRERY_TRY(parts.compute, Fit(SlowdownData(rows, Knowledge::kMeasured), options, kOfMeasured));
  say("the same as plans know them");
  ORRERY_TRY(parts.planned, Fit(SlowdownData(rows, Knowledge::kPlanned), options, kOfPlanned));
  say("how much communication is slowed");
  ORRERY_TRY(parts.communication, Fit(CommunicationData(rows), options, kOfOthers));
  say("how long communication waits for room");
  const DelayData delays = DelaysOf(rows);
  if (delays.share.num_rows() == 0) {
    return Invalid(
        "no communication kernel was delayed, so delays cannot be fitted; measure "
        "more arrivals");
  }
  ORRERY_TRY(parts.waits, Fit(delays.waits, options, kOfOthers));
  ORRERY_TRY(parts.wait_share, Fit(delays.share, options, kOfOthers));
  return LearnedModel(std::move(parts));
}

}  // namespace orrery::calibrate
