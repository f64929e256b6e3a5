#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// An algorithm and protocol with NCCL's estimates. The estimates rank candidates and are not
/// predictions, which use the structure (shape.h) with fitted constants.
struct Candidate {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  double latency_us = 0;
  double algorithm_gbps = 0;  // GB/s of the request's size
  double time_us = 0;
};

/// All enabled candidates, and NCCL's choice: the first of the fastest.
class Tuning {
 public:
  void Add(const Candidate& candidate);

  [[nodiscard]] std::span<const Candidate> candidates() const {
    return {candidates_.data(), count_};
  }

  [[nodiscard]] const Candidate& choice() const { return candidates_[choice_]; }

 private:
  std::array<Candidate, kNumTunedAlgorithms * kNumProtocols> candidates_{};
  std::size_t count_ = 0;
  std::size_t choice_ = 0;
};

/// Reproduces NCCL's tuner. Fails if the settings leave no candidate.
[[nodiscard]] Result<Tuning> Tune(const Fabric& fabric, const Request& request,
                                  const NcclSettings& settings, const TunerTables& tables);

}  // namespace orrery::collective
