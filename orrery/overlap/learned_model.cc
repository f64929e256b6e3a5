#include "orrery/overlap/learned_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/check.h"
#include "orrery/learn/forest_codec.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/features.h"

namespace orrery::overlap {

/// Made by cmake/EmbedFiles.cmake.
struct EmbeddedFile {
  const char* begin;
  const char* end;
};

extern const EmbeddedFile kEmbeddedOverlapModel[];
extern const std::size_t kNumEmbeddedOverlapModel;

namespace {

constexpr auto kBlends = std::to_array<std::pair<std::string_view, Blend LearnedModel::Parts::*>>({
    {"compute", &LearnedModel::Parts::compute},
    {"planned", &LearnedModel::Parts::planned},
    {"communication", &LearnedModel::Parts::communication},
    {"waits", &LearnedModel::Parts::waits},
    {"wait_share", &LearnedModel::Parts::wait_share},
});

// A stretch below this share of the memory's load was never measured: both get their share of what
// the memory can do, up to what caches keep from it.
constexpr double kLeastOfLoad = 0.5;

double LeastStretch(const AnalyticParts& parts) {
  return std::max(1.0, kLeastOfLoad * parts.memory);
}

constexpr double kEven = 0.5;
constexpr double kSurelyNot = 0.15;

std::string InstalledPath() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read before threads are there
  const char* const data = std::getenv("XDG_DATA_HOME");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const home = std::getenv("HOME");
  if (data == nullptr && home == nullptr) {
    return {};
  }
  const std::filesystem::path base =
      data != nullptr ? std::filesystem::path(data) : std::filesystem::path(home) / ".local/share";
  return (base / "orrery/models/overlap.orrmodel").string();
}

}  // namespace

std::vector<double> Blend::PredictRows(std::span<const float> rows) const {
  std::vector<double> sum;
  if (forest) {
    sum = forest->PredictRows(rows);
  }
  if (perceptron) {
    const std::vector<double> second = perceptron->PredictRows(rows);
    if (sum.empty()) {
      return second;
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = (sum[i] + second[i]) / 2;
    }
  }
  return sum;
}

// Pairs are of one sort or of both: the two are predicted in one go each.
std::vector<double> LearnedModel::ComputeLogs(std::span<const Pair> pairs,
                                              std::span<const float> rows) const {
  const std::size_t width = FeatureNames().size();
  std::array<std::vector<float>, 2> of_sort;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    std::vector<float>& into = of_sort[pairs[i].compute.shape.IsKnown() ? 0 : 1];
    into.insert(into.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * width),
                rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  }
  const std::array<std::vector<double>, 2> logs = {parts_.compute.PredictRows(of_sort[0]),
                                                   parts_.planned.PredictRows(of_sort[1])};
  std::array<std::size_t, 2> next = {0, 0};
  std::vector<double> all;
  for (const Pair& pair : pairs) {
    const std::size_t sort = pair.compute.shape.IsKnown() ? 0 : 1;
    all.push_back(logs[sort][next[sort]++]);
  }
  return all;
}

void LearnedModel::Predict(const Machine& machine, std::span<const Pair> pairs,
                           const Arrival& arrival, std::span<Stretch> stretches) const {
  if (!Knows(machine)) {
    AnalyticModel().Stretches(machine, pairs, stretches);
    return;
  }
  std::vector<float> rows;
  rows.reserve(pairs.size() * FeatureNames().size());
  for (const Pair& pair : pairs) {
    AppendFeatures(machine, pair, arrival, rows);
  }
  const std::vector<double> compute = ComputeLogs(pairs, rows);
  const std::vector<double> communication = parts_.communication.PredictRows(rows);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double least = LeastStretch(PartsOf(machine, pairs[i]));
    stretches[i] = {.compute = std::max(least, std::exp(compute[i])),
                    .communication = std::max(1.0, std::exp(communication[i]))};
  }
}

void LearnedModel::Stretches(const Machine& machine, std::span<const Pair> pairs,
                             std::span<Stretch> stretches) const {
  Predict(machine, pairs, {.compute_is_first = false}, stretches);
}

void LearnedModel::StretchesOfLate(const Machine& machine, std::span<const Pair> pairs,
                                   std::span<Stretch> stretches) const {
  Predict(machine, pairs, {.compute_is_first = true}, stretches);
}

double LearnedModel::DelayUs(const Machine& machine, const Pair& pair,
                             const Arrival& arrival) const {
  const double left_us = pair.compute.alone_us - arrival.since_us;
  if (!arrival.compute_is_first || !Knows(machine)) {
    return AnalyticModel().DelayUs(machine, pair, arrival);
  }
  if (left_us <= 0) {
    return 0;
  }
  std::vector<float> row;
  AppendFeatures(machine, pair, arrival, row);
  const double likelihood = parts_.waits.PredictRows(row).front();
  const auto learned_us = [&] {
    return left_us * std::exp(parts_.wait_share.PredictRows(row).front());
  };
  if (!pair.compute.shape.IsKnown()) {
    return likelihood < kEven ? 0 : learned_us();
  }
  // Where the launch is known, counting blocks beats what was learned of them, unless that is sure.
  const double counted_us = AnalyticModel().DelayUs(machine, pair, arrival);
  if (counted_us > 0) {
    return likelihood < kSurelyNot ? 0 : counted_us;
  }
  return likelihood > 1 - kSurelyNot ? learned_us() : 0;
}

void LearnedModel::AddTo(learn::ModelFile& file) const {
  file.sections.push_back({"generations", fmt::format("{}", fmt::join(parts_.generations, " "))});
  for (const auto& [name, blend] : kBlends) {
    if ((parts_.*blend).forest) {
      file.sections.push_back(
          {fmt::format("{}.forest", name), learn::EncodeForest(*(parts_.*blend).forest)});
    }
    if ((parts_.*blend).perceptron) {
      file.sections.push_back(
          {fmt::format("{}.perceptron", name), (parts_.*blend).perceptron->Encode()});
    }
  }
}

Result<LearnedModel> LearnedModel::From(const learn::ModelFile& file) {
  Parts parts;
  ORRERY_TRY(const std::string_view generations, file.Find("generations"));
  std::istringstream words{std::string(generations)};
  for (std::string word; words >> word;) {
    parts.generations.insert(word);
  }
  for (const auto& [name, blend] : kBlends) {
    ORRERY_TRY(const std::string_view forest, file.Find(fmt::format("{}.forest", name)));
    ORRERY_TRY((parts.*blend).forest, learn::DecodeForest(forest));
    if ((parts.*blend).forest->num_features() != FeatureNames().size()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the model '{}' has {} features, this program knows {}; fit it again",
                              name, (parts.*blend).forest->num_features(), FeatureNames().size()));
    }
    const Result<std::string_view> network = file.Find(fmt::format("{}.perceptron", name));
    if (network) {
      ORRERY_TRY((parts.*blend).perceptron, learn::Perceptron::Decode(*network));
    }
  }
  return LearnedModel(std::move(parts));
}

Result<LearnedModel> ReadLearnedModel(const std::string& path) {
  ORRERY_TRY(const learn::ModelFile file, learn::ReadModelFile(path));
  Result<LearnedModel> model = LearnedModel::From(file);
  return model ? std::move(model) : Result<LearnedModel>(FailWithin(path, model));
}

Result<std::shared_ptr<const LearnedModel>> ShippedModel() {
  const std::string installed = InstalledPath();
  if (std::error_code ignored; !installed.empty() && std::filesystem::exists(installed, ignored)) {
    ORRERY_TRY(LearnedModel model, ReadLearnedModel(installed));
    return std::make_shared<const LearnedModel>(std::move(model));
  }
  ORRERY_CHECK(kNumEmbeddedOverlapModel == 1, "the model is built in");
  const EmbeddedFile& embedded = kEmbeddedOverlapModel[0];
  ORRERY_TRY(const learn::ModelFile file,
             learn::ParseModelFile(
                 {embedded.begin, static_cast<std::size_t>(embedded.end - embedded.begin)}));
  ORRERY_TRY(LearnedModel model, LearnedModel::From(file));
  return std::make_shared<const LearnedModel>(std::move(model));
}

}  // namespace orrery::overlap
