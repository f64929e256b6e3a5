#include "orrery/learn/boosted_trees.h"

#include <algorithm>
#include <charconv>
#include <cmath>
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

#include "orrery/base/statistics.h"

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
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("XGBoost refuses: {}", text.substr(0, text.find("\nStack"))));
}

std::vector<float> Gather(std::span<const double> values, std::span<const RowIndex> rows) {
  std::vector<float> gathered;
  gathered.reserve(rows.size());
  for (const RowIndex row : rows) {
    gathered.push_back(static_cast<float>(values[row]));
  }
  return gathered;
}

Status SetInfo(const MatrixHandle& matrix, const char* name, const std::vector<float>& values) {
  return XgboostStatus(XGDMatrixSetFloatInfo(matrix.get(), name, values.data(), values.size()));
}

// Copies rows with target and weight into XGBoost's form; NaN is missing.
Result<MatrixHandle> MakeMatrix(const DataSet& data, std::span<const RowIndex> rows, int threads) {
  const std::vector<float> features = data.FeaturesOf(rows);
  DMatrixHandle handle = nullptr;
  ORRERY_TRY_STATUS(XgboostStatus(
      XGDMatrixCreateFromMat_omp(features.data(), rows.size(), data.num_features(),
                                 std::numeric_limits<float>::quiet_NaN(), &handle, threads)));
  MatrixHandle matrix(handle);
  ORRERY_TRY_STATUS(SetInfo(matrix, "label", Gather(data.targets(), rows)));
  ORRERY_TRY_STATUS(SetInfo(matrix, "weight", Gather(data.weights(), rows)));
  return matrix;
}

std::vector<std::pair<const char*, std::string>> Parameters(const BoostedTreesOptions& options,
                                                            double base) {
  return {
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", "reg:squarederror"},
      {"eval_metric", "rmse"},
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
  const std::size_t begin = line.rfind(':') + 1;
  double loss = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(line.data() + begin, line.data() + line.size(), loss);
  if (!std::isfinite(loss)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("training diverged in round {}: lower the learning rate", round + 1));
  }
  return loss;
}

// Returns how many rounds gave the best loss.
std::size_t BestRounds(std::span<const double> losses) {
  return static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin()) + 1;
}

bool IsExhausted(std::span<const double> losses, int patience) {
  return patience > 0 && losses.size() >= BestRounds(losses) + static_cast<std::size_t>(patience);
}

Result<std::vector<double>> Boost(const BoosterOwner& booster, DMatrixHandle train,
                                  DMatrixHandle validation, const BoostedTreesOptions& options) {
  std::vector<double> losses;
  for (int round = 0; round < options.max_rounds; ++round) {
    ORRERY_TRY_STATUS(XgboostStatus(XGBoosterUpdateOneIter(booster.get(), round, train)));
    if (validation == nullptr) {
      continue;
    }
    ORRERY_TRY(const double loss, ValidationLoss(booster, validation, round));
    losses.push_back(loss);
    if (IsExhausted(losses, options.patience)) {
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

// The columns of one tree as XGBoost names them. `split_conditions` holds the threshold of an inner
// node and the value of a leaf.
struct TreeColumns {
  std::vector<double> left;
  std::vector<double> right;
  std::vector<double> feature;
  std::vector<double> condition;
  std::vector<double> default_left;
};

double NumberOf(dom::element element) {
  return element.is_bool() ? (element.get_bool().value() ? 1.0 : 0.0)
                           : element.get_double().value();
}

std::vector<double> Numbers(dom::element tree, std::string_view name) {
  std::vector<double> numbers;
  const dom::array elements = tree[name].get_array();
  for (const dom::element element : elements) {
    numbers.push_back(NumberOf(element));
  }
  return numbers;
}

TreeColumns ReadColumns(dom::element tree) {
  return {.left = Numbers(tree, "left_children"),
          .right = Numbers(tree, "right_children"),
          .feature = Numbers(tree, "split_indices"),
          .condition = Numbers(tree, "split_conditions"),
          .default_left = Numbers(tree, "default_left")};
}

TreeNode NodeAt(const TreeColumns& columns, std::size_t node) {
  if (columns.left[node] < 0) {
    return {.value = columns.condition[node]};
  }
  return {.left = static_cast<std::uint32_t>(columns.left[node]),
          .right = static_cast<std::uint32_t>(columns.right[node]),
          .feature = static_cast<std::uint32_t>(columns.feature[node]),
          .threshold = static_cast<float>(columns.condition[node]),
          .missing_goes_left = columns.default_left[node] != 0};
}

Tree MakeTree(const TreeColumns& columns) {
  Tree tree;
  for (std::size_t node = 0; node < columns.left.size(); ++node) {
    tree.push_back(NodeAt(columns, node));
  }
  return tree;
}

double ParameterOf(dom::element learner, std::string_view name) {
  const std::string_view text = learner["learner_model_param"][name].get_string().value();
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<Forest> ReadLearner(dom::element learner, std::size_t num_trees) {
  const auto num_features = static_cast<std::size_t>(ParameterOf(learner, "num_feature"));
  std::vector<Tree> trees;
  const dom::array saved_trees = learner["gradient_booster"]["model"]["trees"].get_array();
  for (const dom::element tree : saved_trees) {
    if (trees.size() == num_trees) {
      break;
    }
    trees.push_back(MakeTree(ReadColumns(tree)));
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("cannot read the XGBoost model: {}", error.what()));
  }
}

Result<BoostedTrees> TrainBoostedTrees(const DataSet& data, const TrainingRows& rows,
                                       const BoostedTreesOptions& options) {
  if (rows.train.empty() || data.num_features() == 0) {
    return Fail(Error::Kind::kInvalidInput, "there are no rows or no features to learn from");
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
