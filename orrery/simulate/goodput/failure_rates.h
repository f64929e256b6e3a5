#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::simulate {

/// Parts that fail, to show the causes of interruptions.
enum class FailedPart : std::uint8_t { kGpu, kNic, kNode, kSwitch, kSoftware };

inline constexpr std::array<std::pair<std::string_view, FailedPart>, 5> kFailedParts{{
    {"gpu", FailedPart::kGpu},
    {"nic", FailedPart::kNic},
    {"node", FailedPart::kNode},
    {"switch", FailedPart::kSwitch},
    {"software", FailedPart::kSoftware},
}};

/// The unit with whose number the rate of a cause grows.
enum class FailureUnit : std::uint8_t { kGpu, kNic, kNode, kJob };

/// Numbers of the units of a job.
struct UnitCounts {
  std::int64_t gpus = 0;
  std::int64_t nics = 0;
  std::int64_t nodes = 0;

  [[nodiscard]] std::int64_t Of(FailureUnit unit) const;
};

struct FailureCause {
  std::string name;
  FailedPart part = FailedPart::kNode;
  FailureUnit per = FailureUnit::kNode;
  double per_day = 0;       // of one unit
  int nodes_lost = 0;       // that are out of use until they are repaired
  bool is_planned = false;  // announced: no work is lost and nothing is to detect, so no failure
};

/// Rates of failures by cause (docs/formats/failures.md).
struct FailureRates {
  std::string name;
  std::vector<FailureCause> causes;
  double repair_s = 0;  // from the failure of a node until it can be used again
  std::string source;
};

/// The sets that are part of the program (data/hardware/failures.yaml); the first is the default.
[[nodiscard]] const std::vector<FailureRates>& ShippedFailureRates();

/// Reads sets of the form of data/hardware/failures.yaml. Errors begin with `place`; a rate of zero
/// is one.
[[nodiscard]] Result<std::vector<FailureRates>> ReadFailureRates(const std::string& yaml,
                                                                 std::string_view place);

/// One cause of failures of a whole job.
struct JobFailureCause {
  std::string name;
  FailedPart part = FailedPart::kNode;
  double per_s = 0;  // of the job; of a log: not used
  int nodes_lost = 0;
};

struct LoggedFailure {
  double at_s = 0;  // after the beginning of the window
  std::size_t cause = 0;
};

/// Failures of a job: by chance at these rates, or exactly those of a log.
struct JobFailures {
  std::vector<JobFailureCause> causes = {};
  bool is_log = false;
  std::vector<LoggedFailure> log = {};  // in order of time

  /// Of all causes together; of a log: none.
  [[nodiscard]] double per_s() const;
};

/// Without what is planned.
[[nodiscard]] JobFailures FailuresOf(const FailureRates& rates, const UnitCounts& counts);

/// Interruptions of a job that are planned, of all causes together.
[[nodiscard]] double PlannedPerSecond(const FailureRates& rates, const UnitCounts& counts);

/// The same causes in the same proportions, with as many failures together as `per_s`.
[[nodiscard]] JobFailures ScaledTo(JobFailures failures, double per_s);

/// Reads a log in CSV (docs/formats/failures.md): `time_s`, and optionally `cause`, `part` and
/// `nodes_lost` (1 unless it says otherwise).
[[nodiscard]] Result<JobFailures> ReadFailureLog(std::string_view csv);

}  // namespace orrery::simulate
