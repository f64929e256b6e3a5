#include "orrery/overlap/fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "orrery/learn/boosted_trees.h"
#include "orrery/learn/forest_codec.h"
#include "orrery/learn/perceptron_training.h"
#include "orrery/learn/split.h"
#include "orrery/overlap/contention.h"
#include "orrery/overlap/features.h"

namespace orrery::overlap {
namespace {

using Rows = std::span<const MeasuredPair* const>;

// What a plan knows teaches less than what was measured, of which there is more to know.
constexpr double kPlannedWeight = 0.5;

learn::DataSet EmptyData() {
  const std::span<const std::string> names = FeatureNames();
  return learn::DataSet({names.begin(), names.end()}, {"kernel"});
}

void Append(learn::DataSet& data, const MeasuredPair& row, const Pair& pair, const Arrival& arrival,
            double target, double weight) {
  std::vector<float> features;
  AppendFeatures(row.machine, pair, arrival, features);
  data.Append({.features = features,
               .target = target,
               .weight = weight,
               .groups = {row.kernel},
               .label = row.kernel});
}

learn::DataSet CommunicationData(Rows rows) {
  learn::DataSet data = EmptyData();
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

/// Communication that came second: whether it waited, and for how much of the time left.
struct DelayData {
  learn::DataSet waits = EmptyData();
  learn::DataSet share = EmptyData();
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

learn::BoostedTreesOptions TreeOptions(const FitOptions& options, int rounds) {
  learn::BoostedTreesOptions trees;
  trees.max_rounds = rounds;
  trees.patience = 0;  // the rounds are few enough that more never hurt on validation rows
  trees.max_depth = 6;
  trees.learning_rate = 0.1;
  trees.row_share = 0.7;
  trees.column_share = 0.5;
  trees.min_child_weight = 3;
  trees.seed = static_cast<std::uint32_t>(options.seed);
  trees.threads = options.threads;
  return trees;
}

learn::PerceptronOptions NetworkOptions(const FitOptions& options) {
  learn::PerceptronOptions network;
  network.hidden_widths = {48, 48};
  network.activation = learn::Activation::kSilu;
  network.loss = learn::PerceptronOptions::Loss::kHuber;
  network.huber_width = 0.2;
  network.max_epochs = 40;
  network.batch_rows = 128;
  network.weight_decay = 1e-3;
  network.seed = options.seed;
  return network;
}

Result<Blend> Fit(const learn::DataSet& data, const FitOptions& options, int rounds,
                  bool with_network) {
  const learn::Draw draw{
      .twin_group = 0, .validation_share = options.validation_share, .seed = options.seed};
  const learn::Split split = learn::SplitAtRandom(data, draw, 0);
  Blend blend;
  const std::vector<learn::RowIndex> all = data.AllRows();
  ORRERY_TRY(const learn::BoostedTrees trees,
             learn::TrainBoostedTrees(data, {.train = all, .validation = {}},
                                      TreeOptions(options, rounds)));
  blend.forest = learn::RoundedForShipping(trees.forest);
  if (with_network) {
    ORRERY_TRY(learn::TrainedPerceptron network,
               learn::TrainPerceptron(data, split.training(), NetworkOptions(options)));
    blend.perceptron = std::move(network.perceptron);
  }
  return blend;
}

}  // namespace

learn::DataSet StretchData(Rows rows, Knowledge knowledge) {
  learn::DataSet data = EmptyData();
  for (const MeasuredPair* row : rows) {
    const std::optional<ShownStretch> shown = StretchShown(*row);
    if (!shown) {
      continue;
    }
    const double target = std::log(shown->stretch);
    // An error of the stretch counts in the duration only for the time both were there.
    const double weight = shown->share * shown->share;
    const Arrival arrival{.compute_is_first = row->mode == Mode::kArrival && row->compute_is_first};
    const Pair pair = knowledge == Knowledge::kPlanned ? AsPlanned(row->pair) : row->pair;
    Append(data, *row, pair, arrival, target, weight);
  }
  return data;
}

Result<LearnedModel> FitOverlap(Rows rows, const FitOptions& options, const FitProgress& progress) {
  const auto say = [&](std::string_view what) {
    if (progress) {
      progress(what);
    }
  };
  constexpr int kManyRounds = 200;
  constexpr int kFewRounds = 100;
  LearnedModel::Parts parts;
  for (const MeasuredPair* row : rows) {
    parts.generations.emplace(row->machine.generation);
  }
  say("how much computing kernels are stretched");
  ORRERY_TRY(parts.compute, Fit(StretchData(rows, Knowledge::kMeasured), options, kManyRounds,
                                options.with_network));
  say("the same as plans know them");
  ORRERY_TRY(parts.planned, Fit(StretchData(rows, Knowledge::kPlanned), options, kManyRounds,
                                options.with_network));
  say("how much communication is stretched");
  ORRERY_TRY(parts.communication, Fit(CommunicationData(rows), options, kFewRounds, false));
  say("how long communication waits for room");
  const DelayData delays = DelaysOf(rows);
  if (delays.share.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput,
                "no communication kernel waited for room, so there is nothing to learn of it; "
                "measure more arrivals");
  }
  ORRERY_TRY(parts.waits, Fit(delays.waits, options, kFewRounds, false));
  ORRERY_TRY(parts.wait_share, Fit(delays.share, options, kFewRounds, false));
  return LearnedModel(std::move(parts));
}

}  // namespace orrery::overlap
