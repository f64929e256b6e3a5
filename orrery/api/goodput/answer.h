#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/goodput.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {

/// Input of the simulated months, and the assumptions in it.
struct GoodputSetting {
  simulate::GoodputRequest request;
  Bytes checkpoint;
  std::string rates;  // whose failures they are
  std::vector<std::string> assumed;
};

/// A job and its step.
struct GoodputStep {
  const workload::Job* job = nullptr;
  std::int64_t step_ps = 0;
  bool is_simulated = true;
  std::optional<learn::TimeInterval> interval = {};
  bool fits = true;                     // into the memory of the GPUs
  std::int64_t checkpoint_loss_ps = 0;  // steps beside a checkpoint that is written, together
};

/// Reads the options. One sentence for what cannot be: a rate of zero, a checkpoint that the
/// storage has no room for or that takes longer than its interval.
[[nodiscard]] Result<GoodputSetting> SettingOf(const GoodputRequest& arguments,
                                               const GoodputStep& step);

/// Reads "2.5" or "H100=2.5,A100-80GB=1.1" and returns what the job's GPUs cost an hour, with
/// `spares` nodes more; nothing where no price is given.
[[nodiscard]] Result<std::optional<double>> DollarsPerHour(const std::string& price,
                                                           const workload::Job& job,
                                                           std::int64_t spare_gpus);

/// The months of a request, and everything that they were simulated from.
struct GoodputAnswer {
  workload::Job job;
  GoodputStep step;  // points to the job
  GoodputSetting setting;
  simulate::GoodputStudy study;
  std::optional<double> dollars_per_hour = {};  // with the chosen spares
  double dollars_of_spare = 0;                  // an hour of one spare node
  bool has_checkpoint_traffic = false;
  std::vector<std::string> left_out = {};  // of the job as it is written
};

/// Figures that follow from an answer.
struct GoodputFigures {
  explicit GoodputFigures(const GoodputAnswer& answer);

  /// Tokens, or samples of models without, for a dollar; nothing without a price.
  [[nodiscard]] std::optional<double> YieldOf(const GoodputAnswer& answer,
                                              const simulate::GoodputVariant& variant) const;

  /// Work between the checkpoints of a variant.
  [[nodiscard]] double IntervalOf(const simulate::GoodputVariant& variant) const;

  double window_s;
  double step_s;
  double yield_of_step = 0;  // tokens, or samples
  double samples = 0;
  std::optional<double> tokens = {};     // of models that read them
  simulate::WindowFactors factors = {};  // of both, for 80 % of windows
  std::optional<double> dollars = {};    // if a price is given
  std::optional<double> interval_s = {};
  std::optional<double> mtbf_s = {};
};

/// A sentence for each thing that a month leaves out.
[[nodiscard]] std::vector<std::string> GoodputNotModelled(const GoodputAnswer& answer);

/// The typed result of an answer.
[[nodiscard]] GoodputResult MakeResult(std::shared_ptr<const GoodputAnswer> answer);

/// The document without its JSON.
[[nodiscard]] Document GoodputDocument(const GoodputAnswer& answer);

}  // namespace orrery::api
