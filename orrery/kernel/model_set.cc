#include "orrery/kernel/model_set.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/parallel.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/similarity.h"

namespace orrery::kernel {

namespace {

constexpr std::size_t kBlockRows = 1024;
/// Of the roofline, where nothing was measured: what well-written kernels reach.
constexpr double kUsualEfficiency = 0.7;
constexpr double kRooflineDeviation = 0.5;
constexpr double kOtherGpuDeviation = 0.15;
constexpr double kOutsideFactor = 2;
constexpr double kHalfHolds = 0.0;
/// Where the roofline says that half the size takes less than this share of the time, no learned
/// efficiency turns it round, and the half is not asked.
constexpr double kHalfMatters = 0.6;

LaunchFloor DefaultFloor(Timing timing) {
  return timing == Timing::kEager ? LaunchFloor{30e-6, 4} : LaunchFloor{2e-6, 1};
}

/// Asks the models for a block of operators.
class Asker {
 public:
  Asker(const hardware::Gpu& gpu, const LaunchFloor& floor) : gpu_(gpu), floor_(floor) {}

  /// Adds the logarithm of the efficiency that a model sees in each operator, times `weight`.
  void AddEfficiency(const EfficiencyModel& model, double weight,
                     std::span<const Operator> operators, std::span<double> sums,
                     std::span<bool> was_outside) {
    features_.clear();
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const std::optional<EfficiencyModel::Placed> placed = model.Place(operators[i]);
      const Operator& asked = placed ? placed->op : operators[i];
      was_outside[i] = was_outside[i] || !placed || placed->was_outside;
      const FeatureRow row = FeaturesOf(asked, gpu_);
      features_.insert(features_.end(), row.values().begin(), row.values().end());
    }
    const std::vector<double> predicted = model.forest().PredictRows(features_);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      sums[i] += weight * predicted[i];
    }
  }

  [[nodiscard]] double Base(const Operator& op) const {
    return floor_.Join(BoundOf(op, WorkOf(op), gpu_).Seconds());
  }

 private:
  const hardware::Gpu& gpu_;
  const LaunchFloor& floor_;
  std::vector<float> features_;
};

/// An operator and those of half a size that may hold for it.
struct Family {
  std::vector<Operator> members;    // of all operators, each followed by its halves
  std::vector<std::size_t> owners;  // of each member
};

void AddHalves(const Operator& op, std::size_t owner, const Asker& asker, Family& family) {
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  const double base = asker.Base(op);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::int64_t value = op.values()[i];
    if (fields[i].type != FieldType::kSize || value < 2 || value % 2 != 0) {
      continue;
    }
    Operator half = op;
    half.Set(fields[i].key, value / 2);
    if (asker.Base(half) > kHalfMatters * base) {
      family.members.push_back(half);
      family.owners.push_back(owner);
    }
  }
}

Family FamilyOf(std::span<const Operator> operators, const Asker& asker) {
  Family family;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    family.members.push_back(operators[i]);
    family.owners.push_back(i);
    AddHalves(operators[i], i, asker, family);
  }
  return family;
}

}  // namespace

void ModelSet::Add(EfficiencyModel model) {
  models_.push_back(std::move(model));
}

ModelSet::Advice ModelSet::AdviceFor(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                     Timing timing) const {
  Advice advice;
  advice.floor = DefaultFloor(timing);
  std::vector<Donor> others;
  std::vector<double> floors;
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
    const hardware::Gpu* donor = hardware::FindGpu(domain.gpu);
    if (donor != nullptr) {
      others.push_back({&model, Similarity(*donor, gpu, type) * (is_same_timing ? 1 : 0.2)});
      if (is_same_timing) {
        floors.push_back(model.floor().seconds);
        advice.floor.sharpness = model.floor().sharpness;
      }
    }
  }
  if (own != nullptr) {
    advice.donors = {{own, 1}};
    advice.rung = Rung::kThisGpu;
    advice.floor = own->domain().timing == timing ? own->floor() : DefaultFloor(timing);
    return advice;
  }
  if (!floors.empty()) {
    std::ranges::sort(floors);
    advice.floor.seconds = floors[floors.size() / 2];
  }
  double total = 0;
  for (const Donor& donor : others) {
    total += donor.weight;
  }
  for (Donor& donor : others) {
    donor.weight /= total;
    if (donor.weight > 0.02) {
      advice.donors.push_back(donor);
      advice.rung = Rung::kSibling;
    }
  }
  return advice;
}

void ModelSet::Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const {
  PredictAs(Timing::kKernels, operators, gpu, estimates);
}

namespace {

/// Operators of one kind and type, by their places in the question.
struct Batch {
  OperatorKind kind;
  DataType type;
  std::vector<std::size_t> places;
};

std::vector<Batch> BatchesOf(std::span<const Operator> operators) {
  std::map<std::pair<OperatorKind, DataType>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    places[{operators[i].kind(), operators[i].type()}].push_back(i);
  }
  std::vector<Batch> batches;
  for (auto& [key, rows] : places) {
    for (std::size_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      const std::size_t end = std::min(begin + kBlockRows, rows.size());
      batches.push_back({key.first,
                         key.second,
                         {rows.begin() + static_cast<std::ptrdiff_t>(begin),
                          rows.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
  }
  return batches;
}

}  // namespace

void ModelSet::PredictAs(Timing timing, std::span<const Operator> operators,
                         const hardware::Gpu& gpu, std::span<Estimate> estimates,
                         int threads) const {
  const std::vector<Batch> batches = BatchesOf(operators);
  ParallelFor(batches.size(), threads, [&](std::size_t index) {
    const Batch& batch = batches[index];
    const Advice advice = AdviceFor(batch.kind, batch.type, gpu, timing);
    Asker asker(gpu, advice.floor);
    std::vector<Operator> asked;
    for (const std::size_t place : batch.places) {
      asked.push_back(operators[place]);
    }
    const Family family = FamilyOf(asked, asker);
    const double usual = advice.donors.empty() ? -std::log(kUsualEfficiency) : 0;
    std::vector<double> logs(family.members.size(), usual);
    std::unique_ptr<bool[]> outside(new bool[family.members.size()]());
    double deviation = advice.donors.empty() ? kRooflineDeviation : 0;
    for (const Donor& donor : advice.donors) {
      asker.AddEfficiency(*donor.model, donor.weight, family.members, logs,
                          {outside.get(), family.members.size()});
      deviation += donor.weight * donor.model->deviation();
    }
    if (advice.rung == Rung::kSibling) {
      deviation = std::hypot(deviation, kOtherGpuDeviation);
    }
    std::size_t member = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      Estimate& estimate = estimates[batch.places[i]];
      estimate.seconds = asker.Base(asked[i]) * std::exp(logs[member]);
      estimate.roofline_seconds = BoundOf(asked[i], WorkOf(asked[i]), gpu).Seconds();
      estimate.rung = advice.rung;
      estimate.is_extrapolated = advice.rung != Rung::kThisGpu || outside[member];
      estimate.uncertainty = deviation * (outside[member] ? kOutsideFactor : 1.0);
      for (++member; member < family.members.size() && family.owners[member] == i; ++member) {
        const double half = asker.Base(family.members[member]) * std::exp(logs[member]);
        estimate.seconds = std::max(estimate.seconds, kHalfHolds * half);
      }
    }
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
