#include "orrery/learn/xgboost_model.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

namespace orrery::learn {
namespace {

namespace dom = simdjson::dom;

// The columns of one tree as XGBoost names them. `split_conditions` holds the threshold of an inner
// node and the value of a leaf.
struct TreeColumns {
  std::vector<double> left;
  std::vector<double> right;
  std::vector<double> feature;
  std::vector<double> condition;
  std::vector<double> default_left;
  std::vector<double> gain;
  std::vector<double> cover;
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
          .default_left = Numbers(tree, "default_left"),
          .gain = Numbers(tree, "loss_changes"),
          .cover = Numbers(tree, "sum_hessian")};
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

void AddImportance(const TreeColumns& columns, std::vector<SplitImportance>& of_feature) {
  for (std::size_t node = 0; node < columns.left.size(); ++node) {
    if (columns.left[node] < 0) {
      continue;
    }
    SplitImportance& importance = of_feature.at(static_cast<std::size_t>(columns.feature[node]));
    ++importance.num_splits;
    importance.gain += columns.gain[node];
    importance.cover += columns.cover[node];
  }
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

Result<BoostedTrees> ReadLearner(dom::element learner, std::size_t num_trees) {
  const auto num_features = static_cast<std::size_t>(ParameterOf(learner, "num_feature"));
  std::vector<SplitImportance> of_feature(num_features);
  std::vector<Tree> trees;
  const dom::array saved_trees = learner["gradient_booster"]["model"]["trees"].get_array();
  for (const dom::element tree : saved_trees) {
    if (trees.size() == num_trees) {
      break;
    }
    const TreeColumns columns = ReadColumns(tree);
    AddImportance(columns, of_feature);
    trees.push_back(MakeTree(columns));
  }
  // XGBoost keeps the base as a float.
  const auto base = static_cast<float>(ParameterOf(learner, "base_score"));
  ORRERY_TRY(Forest forest, Forest::FromTrees(base, num_features, trees));
  return BoostedTrees{.forest = std::move(forest),
                      .validation_losses = {},
                      .importance_of_feature = std::move(of_feature)};
}

}  // namespace

Result<BoostedTrees> ReadXgboostModel(const std::string& json, std::size_t num_trees) {
  try {
    dom::parser parser;
    return ReadLearner(parser.parse(json)["learner"].value(), num_trees);
  } catch (const std::exception& error) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a model of XGBoost that we do not understand: {}", error.what()));
  }
}

}  // namespace orrery::learn
