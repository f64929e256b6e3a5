#pragma once

#include <string>
#include <vector>

#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A setting of a job in words: "plan", "tp", "8".
struct JobFact {
  std::string section;
  std::string name;
  std::string value;

  bool operator==(const JobFact&) const = default;
};

/// The settings of a job that say what it is; those that change nothing are left out.
[[nodiscard]] std::vector<JobFact> JobFacts(const Job& job);

/// One line: "llama3-70b on 512 H100 (DGX H100): tp 8, pp 4, dp 16, 1f1b".
[[nodiscard]] std::string JobLine(const Job& job);

}  // namespace orrery::workload
