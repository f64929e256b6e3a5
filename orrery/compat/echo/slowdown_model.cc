#include "orrery/compat/echo/slowdown_model.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orrery/ingest/json_value.h"

namespace orrery::compat::echo {
namespace {

using Json = std::optional<ingest::JsonElement>;

tl::unexpected<Error> Invalid(std::string_view what) {
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{}; expected a model that XGBoost saved as JSON", what));
}

/// The numbers of an array, with true as 1. Nothing if an element is something else.
std::optional<std::vector<double>> Numbers(const Json& array) {
  std::vector<double> numbers;
  bool are_all = array && array->is_array();
  ingest::ForEachElement(array, [&](ingest::JsonElement element) {
    bool flag = false;
    if (!element.get(flag)) {
      numbers.push_back(flag ? 1 : 0);
      return;
    }
    const std::optional<double> number = ingest::Number(element);
    are_all = are_all && number.has_value();
    numbers.push_back(number.value_or(0));
  });
  return are_all ? std::optional(std::move(numbers)) : std::nullopt;
}

/// The columns of a tree, of equal length.
struct Columns {
  std::vector<double> left;
  std::vector<double> right;
  std::vector<double> feature;
  std::vector<double> condition;
  std::vector<double> default_left;
  std::vector<double> gain;
};

std::optional<Columns> ReadColumns(const Json& tree) {
  Columns columns;
  const std::pair<std::string_view, std::vector<double>*> needed[] = {
      {"left_children", &columns.left},        {"right_children", &columns.right},
      {"split_indices", &columns.feature},     {"split_conditions", &columns.condition},
      {"default_left", &columns.default_left}, {"loss_changes", &columns.gain}};
  for (const auto& [name, column] : needed) {
    auto numbers = Numbers(ingest::Field(tree, name));
    if (!numbers || numbers->empty() ||
        (column != &columns.left && numbers->size() != columns.left.size())) {
      return std::nullopt;
    }
    *column = *std::move(numbers);
  }
  return columns;
}

/// Every node but the root is the child of at most one other, so that every walk ends.
class ChildCheck {
 public:
  explicit ChildCheck(std::size_t num_nodes) : has_parent_(num_nodes, false) {
    has_parent_[0] = true;
  }

  [[nodiscard]] bool Take(double child) {
    if (!(child >= 1) || child >= static_cast<double>(has_parent_.size()) ||
        child != std::floor(child)) {
      return false;
    }
    const auto node = static_cast<std::size_t>(child);
    if (has_parent_[node]) {
      return false;
    }
    has_parent_[node] = true;
    return true;
  }

 private:
  std::vector<bool> has_parent_;
};

}  // namespace

class SlowdownModel::Reader {
 public:
  [[nodiscard]] Result<SlowdownModel> Read(const Json& learner) {
    const Json parameters = ingest::Field(learner, "learner_model_param");
    const auto base = ingest::Number(ingest::Field(parameters, "base_score"));
    const auto num_features = ingest::Number(ingest::Field(parameters, "num_feature"));
    if (!base || !num_features) {
      return Invalid("the base score or number of features is missing");
    }
    if (*num_features != static_cast<double>(kFeatures.size())) {
      return Invalid(fmt::format("the model takes {} features, Echo's takes {}", *num_features,
                                 kFeatures.size()));
    }
    model_.base_ = static_cast<float>(*base);
    ORRERY_TRY_STATUS(ReadTrees(learner));
    NormaliseGains();
    return std::move(model_);
  }

 private:
  Status ReadTrees(const Json& learner) {
    const Json trees =
        ingest::Field(ingest::Field(ingest::Field(learner, "gradient_booster"), "model"), "trees");
    Status status;
    ingest::ForEachElement(trees, [&](ingest::JsonElement tree) {
      if (status) {
        status = Append(tree);
      }
    });
    if (status && model_.tree_begins_.empty()) {
      return Invalid("it has no trees");
    }
    return status;
  }

  Status Append(const Json& tree) {
    const auto columns = ReadColumns(tree);
    const std::string place = fmt::format("tree {}", model_.tree_begins_.size());
    if (!columns) {
      return Invalid(place + " lacks a column of nodes");
    }
    model_.tree_begins_.push_back(model_.nodes_.size());
    ChildCheck children(columns->left.size());
    for (std::size_t node = 0; node < columns->left.size(); ++node) {
      if (!AppendNode(*columns, node, children)) {
        return Invalid(fmt::format("{}: node {} does not belong to a tree", place, node));
      }
    }
    return {};
  }

  bool AppendNode(const Columns& columns, std::size_t node, ChildCheck& children) {
    Node read{.condition = static_cast<float>(columns.condition[node])};
    if (columns.left[node] != -1) {
      if (!children.Take(columns.left[node]) || !children.Take(columns.right[node]) ||
          !(columns.feature[node] >= 0) ||
          columns.feature[node] >= static_cast<double>(kFeatures.size())) {
        return false;
      }
      read.left = static_cast<std::int32_t>(columns.left[node]);
      read.right = static_cast<std::int32_t>(columns.right[node]);
      read.feature = static_cast<std::uint32_t>(columns.feature[node]);
      read.missing_goes_left = columns.default_left[node] != 0;
      model_.gain_shares_[read.feature] += columns.gain[node];
    }
    model_.nodes_.push_back(read);
    return true;
  }

  void NormaliseGains() {
    double total = 0;
    for (const double gain : model_.gain_shares_) {
      total += gain;
    }
    for (double& gain : model_.gain_shares_) {
      gain = total > 0 ? gain / total : 0;
    }
  }

  SlowdownModel model_;
};

Result<SlowdownModel> SlowdownModel::Parse(std::string_view json) {
  ingest::JsonText text;
  const Json document = text.Parse(json);
  const Json learner = ingest::Field(document, "learner");
  if (!learner) {
    return Invalid("the learner is missing");
  }
  return Reader().Read(learner);
}

float SlowdownModel::Predict(const Features& features) const {
  float sum = base_;
  for (const std::size_t begin : tree_begins_) {
    const Node* node = &nodes_[begin];
    while (node->left >= 0) {
      const auto value = static_cast<float>(features[node->feature]);
      const bool goes_left = std::isnan(value) ? node->missing_goes_left : value < node->condition;
      node = &nodes_[begin + static_cast<std::size_t>(goes_left ? node->left : node->right)];
    }
    sum += node->condition;
  }
  return sum;
}

}  // namespace orrery::compat::echo
