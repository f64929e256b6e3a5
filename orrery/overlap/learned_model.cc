#include "orrery/overlap/learned_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/check.h"
#include "orrery/learn/forest_codec.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/contention.h"
#include "orrery/overlap/features.h"
#include "orrery/overlap/kernel_overlap_features.h"

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

// A slowdown below this share of the memory's load was never measured: both get their share of what
// the memory can do, up to what caches keep from it.
constexpr double kLeastOfLoad = 0.5;

double LeastSlowdown(const AnalyticParts& parts) {
  return std::max(1.0, kLeastOfLoad * parts.memory);
}

constexpr double kSurelyNot = 0.15;

std::string ForestSection(std::string_view blend, std::size_t member) {
  return fmt::format("{}.forest.{}", blend, member);
}

std::string PerceptronSection(std::string_view blend, std::size_t member) {
  return fmt::format("{}.perceptron.{}", blend, member);
}

// At least one forest, and what else there is.
Result<Blend> BlendIn(const learn::ModelFile& file, std::string_view name) {
  Blend blend;
  ORRERY_TRY(const std::string_view first, file.Find(ForestSection(name, 0)));
  for (Result<std::string_view> found = first; found;
       found = file.Find(ForestSection(name, blend.forests.size()))) {
    ORRERY_TRY(learn::Forest forest, learn::DecodeForest(*found));
    blend.forests.push_back(std::move(forest));
  }
  for (Result<std::string_view> found = file.Find(PerceptronSection(name, 0)); found;
       found = file.Find(PerceptronSection(name, blend.perceptrons.size()))) {
    ORRERY_TRY(learn::Perceptron perceptron, learn::Perceptron::Decode(*found));
    blend.perceptrons.push_back(std::move(perceptron));
  }
  return blend;
}

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
  std::vector<double> mean;
  const auto members = static_cast<double>(forests.size() + perceptrons.size());
  const auto add = [&](const std::vector<double>& of_member) {
    mean.resize(of_member.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] += of_member[i] / members;
    }
  };
  for (const learn::Forest& forest : forests) {
    add(forest.PredictRows(rows));
  }
  for (const learn::Perceptron& perceptron : perceptrons) {
    add(perceptron.PredictRows(rows));
  }
  return mean;
}

// Pairs are of one sort or of both: the two are predicted in one go each.
std::vector<double> LearnedModel::ComputeLogs(std::span<const Pair> pairs,
                                              std::span<const float> rows) const {
  const std::size_t width = KernelOverlapFeatureNames().size();
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

void LearnedModel::Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                             std::span<Slowdown> slowdowns) const {
  if (!Knows(machine)) {
    AnalyticModel().Slowdowns(machine, pairs, slowdowns);
    return;
  }
  std::vector<float> rows;
  std::vector<float> rows_of_pairs;
  rows.reserve(pairs.size() * KernelOverlapFeatureNames().size());
  rows_of_pairs.reserve(pairs.size() * FeatureNames().size());
  for (const Pair& pair : pairs) {
    const auto begin = static_cast<std::ptrdiff_t>(rows.size());
    AppendKernelOverlapFeatures(machine, pair, std::nullopt, rows);
    const auto row = rows.begin() + begin;
    rows_of_pairs.insert(rows_of_pairs.end(), row,
                         row + static_cast<std::ptrdiff_t>(FeatureNames().size()));
  }
  const std::vector<double> compute = ComputeLogs(pairs, rows);
  const std::vector<double> communication = parts_.communication.PredictRows(rows_of_pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double least = LeastSlowdown(PartsOf(machine, pairs[i]));
    slowdowns[i] = {.compute = std::max(least, std::exp(compute[i])),
                    .communication = std::max(1.0, std::exp(communication[i]))};
  }
}

double LearnedModel::TogetherUs(const Machine& machine, const Pair& pair,
                                const KernelOverlap& overlap_event) const {
  const double alone_us = pair.compute.alone_us;
  if (!Knows(machine)) {
    const double delay_us = AnalyticModel().DelayUs(machine, pair, ArrivalOf(pair, overlap_event));
    const Slowdown slowdown = AnalyticModel().SlowdownOf(machine, pair);
    return SimulateOverlap(alone_us, overlap_event, slowdown, delay_us).compute_us;
  }
  std::vector<float> row;
  AppendKernelOverlapFeatures(machine, pair, overlap_event, row);
  return alone_us * std::exp(std::max(0.0, ComputeLogs({&pair, 1}, row).front()));
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
    // Often it may wait or not: a mean, so that a likelihood near one half does not turn no wait at
    // all into one for the whole kernel.
    return std::clamp(likelihood, 0.0, 1.0) * learned_us();
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
    const Blend& members = parts_.*blend;
    for (std::size_t i = 0; i < members.forests.size(); ++i) {
      file.sections.push_back({ForestSection(name, i), learn::EncodeForest(members.forests[i])});
    }
    for (std::size_t i = 0; i < members.perceptrons.size(); ++i) {
      file.sections.push_back({PerceptronSection(name, i), members.perceptrons[i].Encode()});
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
    ORRERY_TRY(parts.*blend, BlendIn(file, name));
    const bool meets = blend == &Parts::compute || blend == &Parts::planned;
    const std::size_t known = meets ? KernelOverlapFeatureNames().size() : FeatureNames().size();
    const std::size_t needed = (parts.*blend).forests.front().num_features();
    if (needed != known) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the model '{}' has {} features, this program knows {}; fit it again",
                              name, needed, known));
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
