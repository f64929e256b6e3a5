#include "orrery/workload/plan/token_load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/base/math/mix_bits.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::uint64_t kDrawsOfMean = 256;
constexpr double kSteepest = 8;  // exponent: nearly all tokens choose the same experts

std::uint64_t KeyOf(std::uint64_t seed, std::uint64_t layer, std::uint64_t microbatch) {
  return MixBits(MixBits(MixBits(seed + 1) + layer + 1) + microbatch + 1);
}

}  // namespace

TokenLoad::TokenLoad(const Experts& experts, const Plan& plan)
    : ranks_(static_cast<std::size_t>(std::max(plan.ep, 1))),
      routing_(plan.routing),
      exponent_(plan.routing.loads.empty() ? plan.routing.zipf : 0) {
  if (!routing_.loads.empty()) {
    return;
  }
  if (routing_.zipf > 0) {
    shares_ = ZipfShares(experts, routing_.zipf);
  } else {
    FindExponent(experts, plan.token_imbalance);
  }
}

// The mean grows with the exponent, but for the draws, which are the same for each.
void TokenLoad::FindExponent(const Experts& experts, double mean) {
  double low = 0;
  double high = kSteepest;
  constexpr int kHalvings = 24;
  for (int i = 0; i < kHalvings; ++i) {
    exponent_ = (low + high) / 2;
    shares_ = ZipfShares(experts, exponent_);
    (Mean() < mean ? low : high) = exponent_;
  }
}

double TokenLoad::BusiestOf(const std::vector<double>& loads) const {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
  if (sum <= 0) {
    return 1;
  }
  const std::size_t local = std::max<std::size_t>(1, loads.size() / ranks_);
  double busiest = 0;
  for (std::size_t first = 0; first < loads.size(); first += local) {
    const std::size_t last = std::min(first + local, loads.size());
    busiest =
        std::max(busiest, std::accumulate(loads.begin() + static_cast<std::ptrdiff_t>(first),
                                          loads.begin() + static_cast<std::ptrdiff_t>(last), 0.0));
  }
  return busiest * static_cast<double>(ranks_) / sum;
}

double TokenLoad::DrawnBusiest(std::uint64_t key) const {
  std::vector<std::pair<std::uint64_t, std::size_t>> order(shares_.size());
  for (std::size_t expert = 0; expert < order.size(); ++expert) {
    order[expert] = {MixBits(key + expert), expert};
  }
  std::ranges::sort(order);
  std::vector<double> loads(shares_.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    loads[order[place].second] = shares_[place];
  }
  return BusiestOf(loads);
}

double TokenLoad::Busiest(std::uint32_t layer, std::uint32_t microbatch) const {
  if (shares_.empty()) {
    const std::size_t layers = std::max<std::size_t>(1, routing_.layers_of_log);
    const std::size_t steps = std::max<std::size_t>(1, routing_.loads.size() / layers);
    return BusiestOf(routing_.loads[microbatch % steps * layers + layer % layers]);
  }
  return DrawnBusiest(KeyOf(routing_.seed, layer, microbatch));
}

double TokenLoad::Mean() const {
  double sum = 0;
  if (shares_.empty()) {
    for (const std::vector<double>& loads : routing_.loads) {
      sum += BusiestOf(loads);
    }
    return sum / static_cast<double>(routing_.loads.size());
  }
  for (std::uint64_t draw = 0; draw < kDrawsOfMean; ++draw) {
    sum += DrawnBusiest(KeyOf(routing_.seed, draw, 0));
  }
  return sum / kDrawsOfMean;
}

}  // namespace orrery::workload
