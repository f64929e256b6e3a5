#include "orrery/kernel/model_set.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/parallel.h"
#include "orrery/base/statistics.h"
#include "orrery/kernel/alignment.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/similarity.h"

namespace orrery::kernel {

namespace {

constexpr std::size_t kBlockRows = 1024;
/// Of the roofline, where nothing was measured: what well-written kernels reach.
constexpr double kUsualEfficiency = 0.7;
constexpr double kRooflineDeviation = 0.5;
/// Of GPUs whose own models were left out: 17 to 25 % (docs/validation/kernels.md).
constexpr double kOtherGpuDeviation = 0.25;
constexpr double kOutsideFactor = 2;

LaunchFloor DefaultFloor(Timing timing) {
  return timing == Timing::kEager ? LaunchFloor{30e-6, 4} : LaunchFloor{2e-6, 1};
}

/// Whether times of kernels are given where those of a framework's calls are asked for.
bool LacksLaunch(Timing given, Timing asked) {
  return given != Timing::kEager && asked == Timing::kEager;
}

/// An operator whose time is asked for.
struct Question {
  Operator op;
  double roofline_seconds = 0;
  double base_seconds = 0;  // the roofline joined with the launch
  double seconds = 0;
  bool was_outside = false;
  const EfficiencyModel* teacher = nullptr;  // who said what its alignment costs
};

/// What a launch takes beside a GPU that nobody measured. It is the host's, and hosts get faster
/// over the years: beside a GPU that is as new as every source_model, the least of them; else the median
/// of the source_models of its maker.
class DonatedFloors {
 public:
  DonatedFloors(const hardware::Gpu& gpu, const LaunchFloor& fallback)
      : gpu_(gpu), fallback_(fallback) {}

  void Add(const hardware::Gpu& source_model, const LaunchFloor& floor) {
    is_newest_ = is_newest_ && gpu_.year >= source_model.year;
    all_.push_back(floor.seconds);
    if (source_model.vendor == gpu_.vendor) {
      of_maker_.push_back(floor.seconds);
    }
    fallback_.sharpness = std::max(fallback_.sharpness, floor.sharpness);
  }

  [[nodiscard]] LaunchFloor Floor() const {
    if (all_.empty()) {
      return fallback_;
    }
    const bool is_least = is_newest_ || of_maker_.empty();
    return {is_least ? std::ranges::min(all_) : Median(of_maker_), fallback_.sharpness};
  }

 private:
  const hardware::Gpu& gpu_;
  LaunchFloor fallback_;
  bool is_newest_ = true;
  std::vector<double> all_;
  std::vector<double> of_maker_;
};

/// Asks the models that speak for operators of one kind and type.
class BatchPredictor {
 public:
  BatchPredictor(const Advice& advice, const hardware::Gpu& gpu) : advice_(advice), gpu_(gpu) {}

  [[nodiscard]] Question QuestionOf(const Operator& op) const {
    const double roofline = BoundOf(op, WorkOf(op), gpu_).Seconds();
    return {.op = op, .roofline_seconds = roofline, .base_seconds = advice_.floor.Join(roofline)};
  }

  void Answer(std::span<Question> questions) {
    const double start = advice_.source_models.empty() ? -std::log(kUsualEfficiency) : advice_.log_level;
    logs_.assign(questions.size(), start);
    for (const SourceModel& source_model : advice_.source_models) {
      AddEfficiency(source_model, questions);
    }
    for (std::size_t i = 0; i < questions.size(); ++i) {
      questions[i].seconds = questions[i].base_seconds * std::exp(logs_[i]);
    }
  }

 private:
  /// Adds the logarithm of the efficiency that a model sees in each operator.
  void AddEfficiency(const SourceModel& source_model, std::span<Question> questions) {
    features_.clear();
    losses_.clear();
    for (Question& question : questions) {
      const Operator asked = Aligned(question.op, TaughtSizes(source_model, question.op));
      const std::optional<EfficiencyModel::Placed> placed = source_model.model->Place(asked);
      question.was_outside = question.was_outside || !placed || placed->was_outside;
      const FeatureRow row = FeaturesOf(placed ? placed->op : asked, gpu_);
      features_.insert(features_.end(), row.values().begin(), row.values().end());
      losses_.push_back(asked == question.op ? 0 : BorrowedLoss(*source_model.teacher, asked, question));
    }
    const std::vector<double> predicted = source_model.model->forest().PredictRows(features_);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      logs_[i] += source_model.weight * AgainstBase(source_model, questions[i], predicted[i] + losses_[i]);
    }
  }

  /// Unaligned sizes of which the teacher of a source_model knows more than the source_model.
  [[nodiscard]] static GemmSizes TaughtSizes(const SourceModel& source_model, const Operator& op) {
    if (source_model.teacher == nullptr) {
      return {};
    }
    return UnalignedSizes(op) & source_model.model->BlindTo(op) & ~source_model.teacher->BlindTo(op);
  }

  /// Asks a teacher what is lost against the aligned product, as a logarithm.
  [[nodiscard]] double BorrowedLoss(const EfficiencyModel& teacher, const Operator& aligned,
                                    Question& question) const {
    question.teacher = &teacher;
    return EfficiencyBy(teacher, question.op) - EfficiencyBy(teacher, aligned);
  }

  [[nodiscard]] double EfficiencyBy(const EfficiencyModel& model, const Operator& op) const {
    const std::optional<EfficiencyModel::Placed> placed = model.Place(op);
    return model.forest().Predict(FeaturesOf(placed ? placed->op : op, gpu_).values());
  }

  /// Turns what a source_model says against its own base into the same against the base that is asked for.
  /// Where it tells kernels alone, they take the place of the roofline beside the launch.
  [[nodiscard]] double AgainstBase(const SourceModel& source_model, const Question& question,
                                   double efficiency) const {
    const LaunchFloor& own = source_model.model->floor();
    if (source_model.lacks_launch) {
      const double kernels = own.Join(question.roofline_seconds) * std::exp(efficiency);
      return std::log(advice_.floor.Join(kernels) / question.base_seconds);
    }
    if (own.sharpness == advice_.floor.sharpness) {
      return efficiency;
    }
    const LaunchFloor floor{advice_.floor.seconds, own.sharpness};
    return efficiency + std::log(floor.Join(question.roofline_seconds) / question.base_seconds);
  }

  const Advice& advice_;
  const hardware::Gpu& gpu_;
  std::vector<float> features_;
  std::vector<double> losses_;
  std::vector<double> logs_;
};

}  // namespace

void ModelSet::Add(EfficiencyModel model) {
  models_.push_back(std::move(model));
}

ModelSet ModelSet::Without(std::string_view gpu) const {
  ModelSet others;
  for (const EfficiencyModel& model : models_) {
    if (model.domain().gpu != gpu) {
      others.Add(model);
    }
  }
  std::ranges::copy_if(levels_, std::back_inserter(others.levels_),
                       [&](const SiblingLevel& level) { return level.gpu != gpu; });
  return others;
}

void ModelSet::SetLevels(std::vector<SiblingLevel> levels) {
  levels_ = std::move(levels);
}

const SiblingLevel* ModelSet::FindLevel(OperatorKind kind, DataType type,
                                        const hardware::Gpu& gpu) const {
  const auto found = std::ranges::find_if(levels_, [&](const SiblingLevel& level) {
    return level.kind == kind && level.type == type && level.gpu == gpu.name;
  });
  return found == levels_.end() ? nullptr : &*found;
}

const EfficiencyModel* ModelSet::TeacherOf(const EfficiencyModel& source_model, DataType type) const {
  const hardware::Gpu* const gpu = hardware::FindGpu(source_model.domain().gpu);
  const EfficiencyModel* teacher = nullptr;
  double best = 0;
  for (const EfficiencyModel& model : models_) {
    const bool knows = model.domain().kind == source_model.domain().kind &&
                       model.domain().types[static_cast<std::size_t>(type)] &&
                       model.SeesAlignment(type);
    const hardware::Gpu* const other = knows ? hardware::FindGpu(model.domain().gpu) : nullptr;
    const bool is_of_generation = other && gpu && other->generation == gpu->generation;
    if (&model == &source_model || !is_of_generation) {
      continue;
    }
    const double similarity = Similarity(*other, *gpu, type);
    teacher = similarity > best ? &model : teacher;
    best = std::max(best, similarity);
  }
  return teacher;
}

Advice ModelSet::AdviceFor(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                           Timing timing) const {
  Advice advice = UntaughtAdvice(kind, type, gpu, timing);
  for (SourceModel& source_model : advice.source_models) {
    source_model.teacher = TeacherOf(*source_model.model, type);
  }
  return advice;
}

Advice ModelSet::UntaughtAdvice(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                Timing timing) const {
  Advice advice;
  advice.deviation = kRooflineDeviation;
  advice.floor = DefaultFloor(timing);
  std::vector<SourceModel> others;
  DonatedFloors floors(gpu, advice.floor);
  const EfficiencyModel* own = nullptr;
  for (const EfficiencyModel& model : models_) {
    const EfficiencyModel::Domain& domain = model.domain();
    if (domain.kind != kind || !model.Place(Operator(kind, type))) {
      continue;
    }
    const bool is_same_timing = domain.timing == timing;
    if (domain.gpu == gpu.name) {
      const bool is_better =
          own == nullptr || is_same_timing ||
          (own->domain().timing != timing && domain.timing < own->domain().timing);
      own = is_better ? &model : own;
      continue;
    }
    const hardware::Gpu* source_model = hardware::FindGpu(domain.gpu);
    if (source_model != nullptr) {
      others.push_back({&model, Similarity(*source_model, gpu, type) * (is_same_timing ? 1 : 0.2),
                        LacksLaunch(domain.timing, timing)});
      if (is_same_timing) {
        floors.Add(*source_model, model.floor());
      }
    }
  }
  if (own != nullptr) {
    advice.source_models = {{own, 1, LacksLaunch(own->domain().timing, timing)}};
    advice.source = EstimateSource::kThisGpu;
    advice.deviation = own->deviation();
    advice.floor = own->domain().timing == timing ? own->floor() : DefaultFloor(timing);
    return advice;
  }
  advice.floor = floors.Floor();
  double total = 0;
  for (const SourceModel& source_model : others) {
    total += source_model.weight;
  }
  double deviation = 0;
  for (SourceModel& source_model : others) {
    source_model.weight /= total;
    if (source_model.weight > 0.02) {
      advice.source_models.push_back(source_model);
      advice.source = EstimateSource::kSibling;
      deviation += source_model.weight * source_model.model->deviation();
      advice.deviation = std::hypot(deviation, kOtherGpuDeviation);
    }
  }
  const SiblingLevel* level = FindLevel(kind, type, gpu);
  if (level != nullptr && !advice.source_models.empty()) {
    advice.log_level = std::log(level->factor_of_timing[static_cast<std::size_t>(timing)]);
    advice.deviation = level->deviation;
  }
  return advice;
}

void ModelSet::Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const {
  PredictAs(Timing::kKernels, operators, gpu, estimates);
}

namespace {

using KindAndType = std::pair<OperatorKind, DataType>;

/// Operators of one kind and type, by their places in the question.
struct Batch {
  KindAndType key;
  std::span<const std::size_t> places;
};

std::map<KindAndType, std::vector<std::size_t>> PlacesOf(std::span<const Operator> operators) {
  std::map<KindAndType, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    places[{operators[i].kind(), operators[i].type()}].push_back(i);
  }
  return places;
}

std::vector<Batch> BatchesOf(const std::map<KindAndType, std::vector<std::size_t>>& places) {
  std::vector<Batch> batches;
  for (const auto& [key, rows] : places) {
    for (std::size_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      const std::size_t count = std::min(kBlockRows, rows.size() - begin);
      batches.push_back({key, std::span(rows).subspan(begin, count)});
    }
  }
  return batches;
}

Estimate EstimateOf(const Question& question, const Advice& advice) {
  const bool is_taught = question.teacher != nullptr;
  const double deviation = advice.deviation * (question.was_outside ? kOutsideFactor : 1);
  return {.seconds = question.seconds,
          .roofline_seconds = question.roofline_seconds,
          .uncertainty = std::hypot(deviation, is_taught ? question.teacher->deviation() : 0),
          .is_extrapolated = advice.source != EstimateSource::kThisGpu || question.was_outside || is_taught,
          .source = advice.source,
          .alignment_gpu = is_taught ? hardware::FindGpu(question.teacher->domain().gpu) : nullptr};
}

void PredictBatch(const Batch& batch, const Advice& advice, std::span<const Operator> operators,
                  const hardware::Gpu& gpu, std::span<Estimate> estimates) {
  BatchPredictor predictor(advice, gpu);
  std::vector<Question> questions;
  questions.reserve(batch.places.size());
  for (const std::size_t place : batch.places) {
    questions.push_back(predictor.QuestionOf(operators[place]));
  }
  predictor.Answer(questions);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    estimates[batch.places[i]] = EstimateOf(questions[i], advice);
  }
}

}  // namespace

void ModelSet::PredictAs(Timing timing, std::span<const Operator> operators,
                         const hardware::Gpu& gpu, std::span<Estimate> estimates,
                         int threads) const {
  const std::map<KindAndType, std::vector<std::size_t>> places = PlacesOf(operators);
  std::map<KindAndType, Advice> advice;
  for (const auto& [key, rows] : places) {
    advice.emplace(key, AdviceFor(key.first, key.second, gpu, timing));
  }
  const std::vector<Batch> batches = BatchesOf(places);
  ParallelFor(batches.size(), threads, [&](std::size_t index) {
    const Batch& batch = batches[index];
    PredictBatch(batch, advice.at(batch.key), operators, gpu, estimates);
  });
}

void ModelSet::AddTo(learn::ModelFile& file) const {
  for (const EfficiencyModel& model : models_) {
    const EfficiencyModel::Domain& domain = model.domain();
    file.sections.push_back(
        {fmt::format("{} {} {}", domain.gpu, TimingName(domain.timing), SchemaOf(domain.kind).name),
         model.Encode()});
  }
}

Status ModelSet::AddFrom(const learn::ModelFile& file) {
  for (const learn::ModelFile::Section& section : file.sections) {
    Result<EfficiencyModel> model = EfficiencyModel::Decode(section.bytes);
    if (!model) {
      return FailWithin(section.name, model);
    }
    Add(*std::move(model));
  }
  return {};
}

}  // namespace orrery::kernel
