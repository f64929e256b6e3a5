#include "orrery/calibrate/collectives/constants_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "orrery/collective/closed_form.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/hardware/cluster.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/least_squares.h"

namespace orrery::calibrate {
namespace {

using collective::ClosedFormSeconds;
using collective::Constant;
using collective::ConstantInfo;
using collective::InfoOf;
using collective::kHeavyBytes;
using collective::kMostFitted;
using collective::MachineConstants;
using collective::Measurement;
using collective::TunerTables;
using enum Constant;

constexpr double kHeavyWeight = 1.5;
/// Draws constants towards their priors: a row that is off by 5 % weighs as much as a constant that
/// is off by e.
constexpr double kPriorWeight = 0.05;
constexpr int kStarts = 4;
constexpr double kStartDeviation = 0.3;

/// Rows below are of latency as well as of bandwidth.
constexpr std::int64_t kLatencyBytes = 64'000'000;
constexpr int kNodesOfHops = 3;
constexpr std::size_t kFewestIdentifying = 4;
/// Elasticities: by how much of a percent the time grows with a constant that grows by one.
constexpr double kLatencyElasticity = 0.1;
constexpr double kOtherElasticity = 0.02;

bool IsNetworkHop(Constant constant) {
  return constant == kLlNetworkHop || constant == kSimpleNetworkHop;
}

bool IsLatency(Constant constant) {
  return constant == kStart || constant == kSimpleStart || constant == kLlHop ||
         constant == kSimpleHop || IsNetworkHop(constant);
}

/// The constant of LL that one of Simple is never below.
std::optional<Constant> LeastOf(Constant constant) {
  switch (constant) {
    case kSimpleStart:
      return kStart;
    case kSimpleHop:
      return kLlHop;
    case kSimpleNetworkHop:
      return kLlNetworkHop;
    default:
      return std::nullopt;
  }
}

bool CanIdentify(const Measurement& row, Constant constant) {
  const bool is_small = !IsLatency(constant) || row.request.size.count < kLatencyBytes;
  return is_small && (!IsNetworkHop(constant) || row.fabric.nodes >= kNodesOfHops);
}

bool IsIdentified(std::span<const TunedRow> rows, const TunerTables& tables,
                  const MachineConstants& prior, Constant constant) {
  constexpr double kStep = 1.25;
  MachineConstants changed = prior;
  changed.Set(constant, prior[constant] * kStep);
  const double least =
      std::log(kStep) * (IsLatency(constant) ? kLatencyElasticity : kOtherElasticity);
  std::size_t identifying = 0;
  for (const auto& [row, choice] : rows) {
    if (CanIdentify(*row, constant)) {
      const double before = ClosedFormSeconds(row->fabric, row->request, choice, tables, prior);
      const double after = ClosedFormSeconds(row->fabric, row->request, choice, tables, changed);
      identifying += std::abs(std::log(after / before)) >= least ? 1 : 0;
    }
  }
  return identifying >= kFewestIdentifying;
}

/// The fitted constants as numbers of similar scale: logarithms, those of Simple of what they
/// exceed LL's by.
class ConstantSpace {
 public:
  ConstantSpace(std::vector<Constant> fitted, const MachineConstants& prior)
      : fitted_(std::move(fitted)), prior_(prior) {
    for (const Constant constant : fitted_) {
      const ConstantInfo& info = InfoOf(constant);
      const std::optional<Constant> base = LeastOf(constant);
      least_.push_back(base ? std::log(kLeastExcess) : std::log(std::max(info.least, kLeastShare)));
      most_.push_back(base ? std::log(info.most / prior[*base]) : std::log(info.most));
      start_.push_back(base ? std::log(prior[constant] / prior[*base] - 1)
                            : std::log(prior[constant]));
    }
  }

  [[nodiscard]] const std::vector<Constant>& fitted() const { return fitted_; }

  [[nodiscard]] const std::vector<double>& start() const { return start_; }

  [[nodiscard]] const std::vector<double>& least() const { return least_; }

  [[nodiscard]] const std::vector<double>& most() const { return most_; }

  [[nodiscard]] MachineConstants At(std::span<const double> point) const {
    MachineConstants constants = prior_;
    for (std::size_t i = 0; i < fitted_.size(); ++i) {  // LL's come before Simple's
      if (!LeastOf(fitted_[i])) {
        constants.Set(fitted_[i], std::exp(point[i]));
      }
    }
    for (const Constant constant : {kSimpleStart, kSimpleHop, kSimpleNetworkHop}) {
      const Constant base = *LeastOf(constant);
      const auto place = std::ranges::find(fitted_, constant);
      const double value =
          place == fitted_.end()
              ? prior_[constant]
              : constants[base] *
                    (1 + std::exp(point[static_cast<std::size_t>(place - fitted_.begin())]));
      constants.Set(constant, std::max(value, constants[base]));
    }
    return constants;
  }

  /// The constants that are at or beyond a bound.
  [[nodiscard]] std::vector<Constant> AtBounds(std::span<const double> point) const {
    constexpr double kNear = 1e-3;
    const MachineConstants constants = At(point);
    std::vector<Constant> found;
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      const ConstantInfo& info = InfoOf(fitted_[i]);
      const double value = constants[fitted_[i]];
      if (point[i] < least_[i] + kNear || point[i] > most_[i] - kNear ||
          value < info.least * (1 + kNear) || value > info.most * (1 - kNear)) {
        found.push_back(fitted_[i]);
      }
    }
    return found;
  }

 private:
  static constexpr double kLeastExcess = 1e-3;
  static constexpr double kLeastShare = 1e-3;  // of bounds of 0

  std::vector<Constant> fitted_;
  MachineConstants prior_;
  std::vector<double> start_;
  std::vector<double> least_;
  std::vector<double> most_;
};

std::vector<double> ResidualsAt(std::span<const double> point, std::span<const TunedRow> rows,
                                const TunerTables& tables, const ConstantSpace& space) {
  const MachineConstants constants = space.At(point);
  std::vector<double> residuals;
  residuals.reserve(rows.size() + point.size());
  for (const auto& [row, choice] : rows) {
    const double seconds = ClosedFormSeconds(row->fabric, row->request, choice, tables, constants);
    const double weight = row->request.size.count >= kHeavyBytes ? kHeavyWeight : 1;
    residuals.push_back(weight * std::log(seconds / row->seconds));
  }
  for (std::size_t i = 0; i < point.size(); ++i) {
    residuals.push_back(kPriorWeight * (point[i] - space.start()[i]));
  }
  return residuals;
}

learn::LeastSquaresFit BestFit(std::span<const TunedRow> rows, const TunerTables& tables,
                               const ConstantSpace& space) {
  const learn::Residuals residuals = [&](std::span<const double> point) {
    return ResidualsAt(point, rows, tables, space);
  };
  learn::Random random(1);
  std::optional<learn::LeastSquaresFit> best;
  for (int start = 0; start < kStarts; ++start) {
    std::vector<double> from = space.start();
    for (double& value : from) {
      value += start == 0 ? 0 : (2 * random.Uniform() - 1) * kStartDeviation;
    }
    learn::LeastSquaresFit fit =
        learn::FitLeastSquares(residuals, from, space.least(), space.most());
    if (!best || fit.loss < best->loss) {
      best = std::move(fit);
    }
  }
  return *best;
}

}  // namespace

std::vector<Constant> IdentifiedBy(std::span<const TunedRow> rows, const TunerTables& tables,
                                   const MachineConstants& prior) {
  std::vector<Constant> identified;
  for (const Constant constant :
       {kStart, kSimpleStart, kLlHop, kSimpleHop, kLinkShare, kLlLinkShare, kSharpness,
        kNetworkShare, kLlNetworkHop, kSimpleNetworkHop, kNvlsShare, kDirectShare, kCrowding,
        kOwnShare}) {
    if (identified.size() < kMostFitted && IsIdentified(rows, tables, prior, constant)) {
      identified.push_back(constant);
    }
  }
  return identified;
}

ConstantsFit FitConstants(std::span<const TunedRow> rows, const TunerTables& tables,
                          const MachineConstants& prior) {
  ConstantsFit result;
  result.fitted = IdentifiedBy(rows, tables, prior);
  while (true) {
    const ConstantSpace space(result.fitted, prior);
    const learn::LeastSquaresFit fit = BestFit(rows, tables, space);
    const std::vector<Constant> at_bounds = space.AtBounds(fit.parameters);
    if (at_bounds.empty()) {
      result.constants = space.At(fit.parameters);
      result.loss = fit.loss;
      return result;
    }
    // One at a time: the others may leave their bounds without it.
    result.at_bounds.push_back(at_bounds.front());
    std::erase(result.fitted, at_bounds.front());
  }
}

}  // namespace orrery::calibrate
