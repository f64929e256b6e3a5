#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::simulate {

/// The request of a study of a job that runs for a month.
struct GoodputRequest {
  GoodputJob job = {};
  JobFailures failures = {};
  GoodputOptions options = {};
  bool chooses_interval = false;  // instead of options.interval_steps
  bool chooses_spares = false;    // instead of options.spares
  std::size_t runs = 1'000;       // months
  int threads = 0;                // 0: as many as there are
};

/// The same months with another interval or other spares.
struct GoodputVariant {
  std::int64_t interval_steps = 0;
  std::int64_t spares = 0;
  GoodputSummary summary = {};
  std::optional<double> expected_ettr = {};  // ExpectedEttr, where there are checkpoints

  /// Productive time over the GPU time that is paid for, spares included.
  [[nodiscard]] double PaidShare(std::int64_t nodes) const;
};

struct GoodputStudy {
  GoodputOptions options = {};            // as chosen
  RenewalModel model = {};                // without waiting, slow nodes and shrinking
  std::optional<double> best_s = {};      // interval, by the model; none without failures or stalls
  std::vector<GoodputMonth> months = {};  // of the options
  GoodputVariant chosen = {};
  std::vector<GoodputVariant> intervals =
      {};                                   // a quarter of the chosen one to four times, ascending
  std::vector<GoodputVariant> spares = {};  // ascending
};

/// Simulates the months, after the interval was chosen by the renewal model and the spares by the
/// highest share of paid time, and what other intervals and spares would give. Those, and the
/// choice, take at most 200 months each: the same failures as the first of the others.
[[nodiscard]] GoodputStudy StudyGoodput(const GoodputRequest& request);

}  // namespace orrery::simulate
