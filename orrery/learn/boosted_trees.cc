#include "orrery/learn/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>
#include <xgboost/c_api.h>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {
namespace {

struct MatrixDeleter {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};

struct BoosterDeleter {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};

using MatrixHandle = std::unique_ptr<void, MatrixDeleter>;
using BoosterOwner = std::unique_ptr<void, BoosterDeleter>;

Status XgboostStatus(int code) {
  if (code == 0) {
    return {};
  }
  const std::string text = XGBGetLastError();
  return Invalid("XGBoost refuses: {}", text.substr(0, text.find("\nStack")));
}

Status SetInfo(const MatrixHandle& matrix, const char* name, std::span<const double> values,
               std::span<const RowIndex> rows) {
  std::vector<float> of_rows(rows.size());
  std::ranges::transform(rows, of_rows.begin(),
                         [&](RowIndex row) { return static_cast<float>(values[row]); });
  return XgboostStatus(XGDMatrixSetFloatInfo(matrix.get(), name, of_rows.data(), of_rows.size()));
}

// Copies rows with target and weight into XGBoost's form; NaN is missing.
Result<MatrixHandle> MakeMatrix(const DataSet& data, std::span<const RowIndex> rows, int threads) {
  const std::vector<float> features = data.FeaturesOf(rows);
  DMatrixHandle handle = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(
      XGDMatrixCreateFromMat_omp(features.data(), rows.size(), data.num_features(),
                                 std::numeric_limits<float>::quiet_NaN(), &handle, threads)));
  MatrixHandle matrix(handle);
  ORRERY_TRY_STATUS(SetInfo(matrix, "label", data.targets(), rows));
  ORRERY_TRY_STATUS(SetInfo(matrix, "weight", data.weights(), rows));
  return matrix;
}

std::vector<std::pair<const char*, std::string>> Parameters(const BoostedTreesOptions& options,
                                                            double base) {
  return {
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", "reg:squarederror"},
      {"eval_metric", options.robust_scale > 0 ? "mae" : "rmse"},
      {"base_score", fmt::format("{:.9g}", base)},
      {"max_depth", fmt::format("{}", options.max_depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"subsample", fmt::format("{}", options.row_share)},
      {"colsample_bytree", fmt::format("{}", options.column_share)},
      {"min_child_weight", fmt::format("{}", options.min_child_weight)},
      {"lambda", fmt::format("{}", options.ridge)},
      {"max_bin", fmt::format("{}", options.max_bins)},
      {"seed", fmt::format("{}", options.seed)},
      {"nthread", fmt::format("{}", options.threads)},
      {"verbosity", "0"},
  };
}

Result<BoosterOwner> MakeBooster(const std::vector<DMatrixHandle>& matrices,
                                 const BoostedTreesOptions& options, double base) {
  BoosterHandle handle = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(XGBoosterCreate(matrices.data(), matrices.size(), &handle)));
  BoosterOwner booster(handle);
  for (const auto& [name, value] : Parameters(options, base)) {
    ORRERY_TRY_STATUS(XgboostStatus(XGBoosterSetParam(booster.get(), name, value.c_str())));
  }
  return booster;
}

// Parses the number in "[12]\tvalidation-rmse:0.25".
Result<double> ValidationLoss(const BoosterOwner& booster, DMatrixHandle validation, int round) {
  const char* name = "validation";
  const char* text = nullptr;
  ORRERY_TRY_STATUS(
      XgboostStatus(XGBoosterEvalOneIter(booster.get(), round, &validation, &name, 1, &text)));
  const std::string_view line = text;
  const double loss = ParsePrefix<double>(line.substr(line.rfind(':') + 1)).value_or(NAN);
  if (!std::isfinite(loss)) {
    return Invalid("training diverged in round {}: lower the learning rate", round + 1);
  }
  return loss;
}

std::size_t BestRounds(std::span<const double> losses) {
  return static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin()) + 1;
}

// One tree for the loss s²·(√(1 + (r/s)²) − 1) of residuals r. As second derivative stands the
// weight of iterated least squares, which keeps steps of far rows as long as those of near ones.
Status AddRobustTree(const BoosterOwner& booster, DMatrixHandle train, double scale) {
  bst_ulong count = 0;
  const float* predicted = nullptr;
  const float* targets = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(XGDMatrixGetFloatInfo(train, "label", &count, &targets)));
  ORRERY_TRY_STATUS(
      XgboostStatus(XGBoosterPredict(booster.get(), train, 0, 0, 1, &count, &predicted)));
  bst_ulong num_weights = 0;
  const float* weights = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(XGDMatrixGetFloatInfo(train, "weight", &num_weights, &weights)));
  std::vector<float> gradients(count);
  std::vector<float> curvatures(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double residual = static_cast<double>(predicted[i]) - static_cast<double>(targets[i]);
    const double weight = i < num_weights ? static_cast<double>(weights[i]) : 1;
    const double share = weight / std::hypot(1, residual / scale);
    gradients[i] = static_cast<float>(residual * share);
    curvatures[i] = static_cast<float>(share);
  }
  return XgboostStatus(
      XGBoosterBoostOneIter(booster.get(), train, gradients.data(), curvatures.data(), count));
}

Result<std::vector<double>> Boost(const BoosterOwner& booster, DMatrixHandle train,
                                  DMatrixHandle validation, const BoostedTreesOptions& options) {
  std::vector<double> losses;
  for (int round = 0; round < options.max_rounds; ++round) {
    ORRERY_TRY_STATUS(options.robust_scale > 0
                          ? AddRobustTree(booster, train, options.robust_scale)
                          : XgboostStatus(XGBoosterUpdateOneIter(booster.get(), round, train)));
    if (validation == nullptr) {
      continue;
    }
    ORRERY_TRY(const double loss, ValidationLoss(booster, validation, round));
    losses.push_back(loss);
    const auto patience = static_cast<std::size_t>(std::max(options.patience, 0));
    if (patience > 0 && losses.size() >= BestRounds(losses) + patience) {
      break;
    }
  }
  return losses;
}

Result<std::string> SaveAsJson(const BoosterOwner& booster) {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(
      XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &size, &bytes)));
  return std::string(bytes, size);
}

namespace dom = simdjson::dom;

std::vector<double> Numbers(dom::element tree, std::string_view name) {
  std::vector<double> numbers;
  const dom::array elements = tree[name].get_array();
  for (const dom::element element : elements) {
    numbers.push_back(element.is_bool() ? (element.get_bool().value() ? 1.0 : 0.0)
                                        : element.get_double().value());
  }
  return numbers;
}

// `split_conditions` holds the threshold of an inner node and the value of a leaf.
Tree ReadTree(dom::element saved) {
  const std::vector<double> left = Numbers(saved, "left_children");
  const std::vector<double> right = Numbers(saved, "right_children");
  const std::vector<double> feature = Numbers(saved, "split_indices");
  const std::vector<double> condition = Numbers(saved, "split_conditions");
  const std::vector<double> default_left = Numbers(saved, "default_left");
  Tree tree;
  for (std::size_t node = 0; node < left.size(); ++node) {
    if (left[node] < 0) {
      tree.push_back({.value = condition[node]});
      continue;
    }
    tree.push_back({.left = static_cast<std::uint32_t>(left[node]),
                    .right = static_cast<std::uint32_t>(right[node]),
                    .feature = static_cast<std::uint32_t>(feature[node]),
                    .threshold = static_cast<float>(condition[node]),
                    .missing_goes_left = default_left[node] != 0});
  }
  return tree;
}

double ParameterOf(dom::element learner, std::string_view name) {
  const std::string_view text = learner["learner_model_param"][name].get_string().value();
  return ParsePrefix<double>(text).value_or(0);
}

Result<Forest> ReadLearner(dom::element learner, std::size_t num_trees) {
  const auto num_features = static_cast<std::size_t>(ParameterOf(learner, "num_feature"));
  std::vector<Tree> trees;
  const dom::array saved_trees = learner["gradient_booster"]["model"]["trees"].get_array();
  for (const dom::element tree : saved_trees) {
    if (trees.size() == num_trees) {
      break;
    }
    trees.push_back(ReadTree(tree));
  }
  // XGBoost keeps the base as a float.
  const auto base = static_cast<float>(ParameterOf(learner, "base_score"));
  return Forest::FromTrees(base, num_features, trees);
}

}  // namespace

Result<Forest> ReadXgboostModel(const std::string& json, std::size_t num_trees) {
  try {
    dom::parser parser;
    return ReadLearner(parser.parse(json)["learner"].value(), num_trees);
  } catch (const std::exception& error) {
    return Invalid("cannot read the XGBoost model: {}", error.what());
  }
}

Result<BoostedTrees> TrainBoostedTrees(const DataSet& data, const TrainingRows& rows,
                                       const BoostedTreesOptions& options) {
  if (rows.train.empty() || data.num_features() == 0) {
    return Invalid("there are no rows or no features to learn from");
  }
  ORRERY_TRY(const MatrixHandle train, MakeMatrix(data, rows.train, options.threads));
  MatrixHandle validation;
  std::vector<DMatrixHandle> matrices = {train.get()};
  if (!rows.validation.empty()) {
    ORRERY_TRY(validation, MakeMatrix(data, rows.validation, options.threads));
    matrices.push_back(validation.get());
  }
  // XGBoost would estimate the base in ways that change between versions.
  const double base = Mean(data.TargetsOf(rows.train));
  ORRERY_TRY(const BoosterOwner booster, MakeBooster(matrices, options, base));
  ORRERY_TRY(std::vector<double> losses, Boost(booster, train.get(), validation.get(), options));
  ORRERY_TRY(const std::string json, SaveAsJson(booster));
  const std::size_t num_trees =
      losses.empty() ? static_cast<std::size_t>(options.max_rounds) : BestRounds(losses);
  ORRERY_TRY(Forest forest, ReadXgboostModel(json, num_trees));
  return BoostedTrees{.forest = std::move(forest), .validation_losses = std::move(losses)};
}

}  // namespace orrery::learn
