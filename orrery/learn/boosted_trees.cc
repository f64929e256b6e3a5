#include "orrery/learn/boosted_trees.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xgboost/c_api.h>

#include "orrery/base/check.h"
#include "orrery/base/statistics.h"
#include "orrery/learn/xgboost_handles.h"
#include "orrery/learn/xgboost_model.h"

namespace orrery::learn {
namespace {

using Loss = BoostedTreesOptions::Loss;

std::string DirectionList(const std::vector<BoostedTreesOptions::Direction>& directions) {
  std::vector<int> numbers;
  for (const auto direction : directions) {
    numbers.push_back(static_cast<int>(direction));
  }
  return fmt::format("({})", fmt::join(numbers, ","));
}

// Where boosting starts: what is best without any feature, all rows counted alike. XGBoost would
// estimate it in ways that change between versions.
double BaseOf(const DataSet& data, std::span<const RowIndex> rows, Loss loss) {
  const std::vector<double> targets = data.TargetsOf(rows);
  return loss == Loss::kSquaredError ? Mean(targets) : Median(targets);
}

std::vector<std::pair<const char*, std::string>> Parameters(const BoostedTreesOptions& options,
                                                            double base) {
  const bool is_squared = options.loss == Loss::kSquaredError;
  std::vector<std::pair<const char*, std::string>> parameters = {
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", is_squared ? "reg:squarederror" : "reg:absoluteerror"},
      {"eval_metric", is_squared ? "rmse" : "mae"},
      {"base_score", fmt::format("{:.9g}", base)},
      {"max_depth", fmt::format("{}", options.max_depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"subsample", fmt::format("{}", options.row_share)},
      {"colsample_bytree", fmt::format("{}", options.column_share)},
      {"min_child_weight", fmt::format("{}", options.min_child_weight)},
      {"lambda", fmt::format("{}", options.ridge)},
      {"gamma", fmt::format("{}", options.min_split_gain)},
      {"max_bin", fmt::format("{}", options.max_bins)},
      {"seed", fmt::format("{}", options.seed)},
      {"nthread", fmt::format("{}", options.threads)},
      {"verbosity", "0"},
  };
  if (!options.directions.empty()) {
    parameters.emplace_back("monotone_constraints", DirectionList(options.directions));
  }
  return parameters;
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

// Takes the number out of "[12]\tvalidation-rmse:0.25".
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
  return static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin()) +
         1;
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

Status CheckRequest(const DataSet& data, const TrainingRows& rows,
                    const BoostedTreesOptions& options) {
  ORRERY_CHECK(options.directions.empty() || options.directions.size() == data.num_features(),
               "each feature has a direction, or none");
  if (rows.train.empty() || data.num_features() == 0) {
    return Fail(Error::Kind::kInvalidInput, "there are no rows or no features to learn from");
  }
  return {};
}

}  // namespace

Result<BoostedTrees> TrainBoostedTrees(const DataSet& data, const TrainingRows& rows,
                                       const BoostedTreesOptions& options) {
  ORRERY_TRY_STATUS(CheckRequest(data, rows, options));
  ORRERY_TRY(const MatrixHandle train, MakeMatrix(data, rows.train, options.threads));
  MatrixHandle validation;
  std::vector<DMatrixHandle> matrices = {train.get()};
  if (!rows.validation.empty()) {
    ORRERY_TRY(validation, MakeMatrix(data, rows.validation, options.threads));
    matrices.push_back(validation.get());
  }
  const double base = BaseOf(data, rows.train, options.loss);
  ORRERY_TRY(const BoosterOwner booster, MakeBooster(matrices, options, base));
  ORRERY_TRY(std::vector<double> losses, Boost(booster, train.get(), validation.get(), options));
  ORRERY_TRY(const std::string json, SaveAsJson(booster));
  const std::size_t num_trees =
      losses.empty() ? static_cast<std::size_t>(options.max_rounds) : BestRounds(losses);
  ORRERY_TRY(BoostedTrees trained, ReadXgboostModel(json, num_trees));
  trained.validation_losses = std::move(losses);
  return trained;
}

}  // namespace orrery::learn
