#include "orrery/compat/echo/published.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 128;

double SumInOrder(std::span<const double> values, double sum) {
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

double PairwiseMean(std::span<const double> values) {
  return PairwiseSum(values) / static_cast<double>(values.size());
}

// Echo's configuration calls it test_baseline_ratio.
constexpr double kBaseline = 1.3;
constexpr std::array<double, 3> kWithin = {0.05, 0.1, 0.15};

struct Values {
  std::vector<double> slowdowns;
  std::vector<double> durations;
};

std::vector<double> Differences(std::span<const double> predicted, std::span<const double> truth) {
  std::vector<double> differences(predicted.size());
  std::ranges::transform(predicted, truth, differences.begin(),
                         [](double a, double b) { return a - b; });
  return differences;
}

void AddErrors(std::string_view who, std::string_view what, std::string_view suffix,
               std::vector<double> differences, std::vector<PublishedLine>& lines) {
  std::vector<double> squares(differences.size());
  std::ranges::transform(differences, squares.begin(), [](double d) { return d * d; });
  std::ranges::for_each(differences, [](double& d) { d = std::abs(d); });
  const double mean_square = PairwiseMean(squares);
  lines.push_back({fmt::format("{} MAE of {}{}", who, what, suffix), PairwiseMean(differences)});
  lines.push_back({fmt::format("{} MSE of {}{}", who, what, suffix), mean_square});
  lines.push_back({fmt::format("{} RMSE of {}{}", who, what, suffix), std::sqrt(mean_square)});
}

PublishedLine SumLine(std::string label, double sum, double truth) {
  return {.label = std::move(label),
          .value = sum,
          .is_sum = true,
          .error_percent = (sum - truth) / truth * 100,
          .has_error = true};
}

double ShareWithin(std::span<const double> predicted, std::span<const double> truth, double limit) {
  std::size_t within = 0;
  for (std::size_t row = 0; row < truth.size(); ++row) {
    within += std::abs(predicted[row] - truth[row]) / truth[row] <= limit ? 1 : 0;
  }
  return static_cast<double>(within) / static_cast<double>(truth.size());
}

/// Measured and predicted values of the overlapped rows.
struct Test {
  Values truth;
  Values model;
  std::vector<double> clipped;
  Values baseline;
};

Test TestOf(std::span<const KernelRow> rows, std::span<const float> slowdowns) {
  Test test;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const KernelRow& kernel = rows[row];
    if (!kernel.IsOverlapped()) {
      continue;
    }
    test.truth.slowdowns.push_back(kernel.slowdown);
    test.truth.durations.push_back(kernel.together_ns);
    test.model.slowdowns.push_back(slowdowns[row]);
    test.clipped.push_back(std::max(slowdowns[row], 0.0F));
    test.model.durations.push_back(DurationFrom(kernel, slowdowns[row]));
    // A slowdown of 1.3 here but a factor of 1.3 below, as in the published test.
    test.baseline.slowdowns.push_back(kBaseline);
    const double ratio = kernel.overlap_ratio;
    test.baseline.durations.push_back((1 - ratio) * kernel.alone_ns +
                                      ratio * kernel.alone_ns * kBaseline);
  }
  return test;
}

std::size_t DrawUpTo(std::size_t most, std::mt19937& bits) {
  const std::size_t mask = std::bit_ceil(most + 1) - 1;
  std::size_t drawn = bits() & mask;
  while (drawn > most) {
    drawn = bits() & mask;
  }
  return drawn;
}

using Json = std::optional<JsonElement>;

tl::unexpected<Error> Invalid(std::string_view what) {
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{}; expected a model that XGBoost saved as JSON", what));
}

/// The numbers of an array, with true as 1. Nothing if an element is something else.
std::optional<std::vector<double>> Numbers(const Json& array) {
  std::vector<double> numbers;
  bool are_all = array && array->is_array();
  ForEachElement(array, [&](JsonElement element) {
    bool flag = false;
    if (!element.get(flag)) {
      numbers.push_back(flag ? 1 : 0);
      return;
    }
    const std::optional<double> number = Number(element);
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
    auto numbers = Numbers(Field(tree, name));
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

double PairwiseSum(std::span<const double> values) {
  if (values.size() < kLanes) {
    return SumInOrder(values, 0);
  }
  if (values.size() <= kBlock) {
    std::array<double, kLanes> lanes{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = values[lane];
    }
    const std::size_t whole = values.size() - values.size() % kLanes;
    for (std::size_t begin = kLanes; begin < whole; begin += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += values[begin + lane];
      }
    }
    const double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                       ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    return SumInOrder(values.subspan(whole), sum);
  }
  const std::size_t half = values.size() / 2 - values.size() / 2 % kLanes;
  return PairwiseSum(values.first(half)) + PairwiseSum(values.subspan(half));
}

Standardisation Standardisation::Of(std::span<const KernelRow> rows,
                                    std::span<const std::uint32_t> of) {
  Standardisation result;
  const auto count = static_cast<double>(of.size());
  for (std::size_t feature = 0; feature < kFeatures.size(); ++feature) {
    double sum = 0;
    for (const std::uint32_t row : of) {
      sum += rows[row].features[feature];
    }
    double squares = 0;
    for (const std::uint32_t row : of) {
      const double distance = rows[row].features[feature] - sum / count;
      squares += distance * distance;
    }
    result.mean_[feature] = sum / count;
    // A constant feature is only shifted.
    result.deviation_[feature] = squares > 0 ? std::sqrt(squares / count) : 1;
  }
  return result;
}

Features Standardisation::Apply(const Features& features) const {
  Features standard = {};
  for (std::size_t feature = 0; feature < features.size(); ++feature) {
    standard[feature] = (features[feature] - mean_[feature]) / deviation_[feature];
  }
  return standard;
}

double DurationFrom(const KernelRow& row, float slowdown) {
  const float factor = 1.0F + std::max(slowdown, 0.0F);
  const double ratio = row.overlap_ratio;
  return (1 - ratio) * row.alone_ns + ratio * row.alone_ns * static_cast<double>(factor);
}

std::string PublishedLine::Text() const {
  if (!is_sum) {
    return fmt::format("{} {}", label, value);
  }
  return has_error ? fmt::format("{} {} (Error rate: {}%)", label, value, error_percent)
                   : fmt::format("{} {:.0f}", label, value);
}

std::vector<PublishedLine> PublishedLines(std::span<const KernelRow> rows,
                                          std::span<const float> slowdowns) {
  const Test test = TestOf(rows, slowdowns);
  std::vector<PublishedLine> lines;
  AddErrors("Our", "slowdown", " (original)",
            Differences(test.model.slowdowns, test.truth.slowdowns), lines);
  AddErrors("Our", "slowdown", " (clipped)", Differences(test.clipped, test.truth.slowdowns),
            lines);
  AddErrors("Our", "duration", "", Differences(test.model.durations, test.truth.durations), lines);
  AddErrors("Baseline", "slowdown", "", Differences(test.baseline.slowdowns, test.truth.slowdowns),
            lines);
  AddErrors("Baseline", "duration", "", Differences(test.baseline.durations, test.truth.durations),
            lines);
  const double truth = PairwiseSum(test.truth.durations);
  lines.push_back(SumLine(
      "Sum of calculated duration with overlap:", PairwiseSum(test.model.durations), truth));
  lines.push_back(SumLine("Sum of comparison using slowdown=test_baseline_ratio:",
                          PairwiseSum(test.baseline.durations), truth));
  lines.push_back(
      {.label = "Sum of ground truth duration with overlap:", .value = truth, .is_sum = true});
  for (const double limit : kWithin) {
    lines.push_back({fmt::format("Our {} error:", limit),
                     ShareWithin(test.model.durations, test.truth.durations, limit)});
    lines.push_back({fmt::format("Baseline {} error:", limit),
                     ShareWithin(test.baseline.durations, test.truth.durations, limit)});
  }
  return lines;
}

std::vector<std::string> DifferencesFrom(std::string_view published_text,
                                         std::span<const PublishedLine> lines) {
  std::vector<std::string> published;
  std::istringstream text{std::string(published_text)};
  for (std::string line; std::getline(text, line);) {
    if (const std::string_view trimmed = Trimmed(line, " \r"); !trimmed.empty()) {
      published.emplace_back(trimmed);
    }
  }
  std::vector<std::string> differences;
  for (std::size_t i = 0; i < std::max(published.size(), lines.size()); ++i) {
    const std::string theirs = i < published.size() ? published[i] : "";
    const std::string ours = i < lines.size() ? lines[i].Text() : "";
    if (theirs != ours) {
      differences.push_back(fmt::format("published '{}', computed '{}'", theirs, ours));
    }
  }
  return differences;
}

std::vector<std::uint32_t> LegacyPermutation(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 bits(seed);
  for (std::size_t left = count; left > 1; --left) {
    std::swap(order[left - 1], order[DrawUpTo(left - 1, bits)]);
  }
  return order;
}

LegacySplit SplitAsScikitLearn(std::size_t count, double test_share, std::uint32_t seed) {
  const std::vector<std::uint32_t> order = LegacyPermutation(count, seed);
  const auto num_test =
      static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(count) * test_share));
  LegacySplit split{.train = {order.begin() + num_test, order.end()},
                    .test = {order.begin(), order.begin() + num_test}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

class SlowdownModel::Reader {
 public:
  [[nodiscard]] Result<SlowdownModel> Read(const Json& learner) {
    const Json parameters = Field(learner, "learner_model_param");
    const auto base = Number(Field(parameters, "base_score"));
    const auto num_features = Number(Field(parameters, "num_feature"));
    if (!base || !num_features) {
      return Invalid("the base score or number of features is missing");
    }
    if (*num_features != static_cast<double>(kFeatures.size())) {
      return Invalid(fmt::format("the model takes {} features, Echo's takes {}", *num_features,
                                 kFeatures.size()));
    }
    model_.base_ = static_cast<float>(*base);
    ORRERY_TRY_STATUS(ReadTrees(learner));
    double total = 0;
    for (const double gain : model_.gain_shares_) {
      total += gain;
    }
    for (double& gain : model_.gain_shares_) {
      gain = total > 0 ? gain / total : 0;
    }
    return std::move(model_);
  }

 private:
  Status ReadTrees(const Json& learner) {
    const Json trees = Field(Field(Field(learner, "gradient_booster"), "model"), "trees");
    Status status;
    ForEachElement(trees, [&](JsonElement tree) {
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

  SlowdownModel model_;
};

Result<SlowdownModel> SlowdownModel::Parse(std::string_view json) {
  JsonText text;
  const Json document = text.Parse(json);
  const Json learner = Field(document, "learner");
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
