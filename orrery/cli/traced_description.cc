#include "orrery/cli/traced_description.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "orrery/draw/number_format.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

// Heads that a generated model leaves out, and buffers that count as parameters.
constexpr double kLargestDifference = 0.01;

bool HasSameSize(std::int64_t described, std::int64_t traced) {
  return std::abs(static_cast<double>(described - traced)) <=
         kLargestDifference * static_cast<double>(traced);
}

Status CheckDescription(const workload::Job& described, const workload::TracedJob& traced) {
  const std::int64_t parameters = workload::TotalParameters(described.model);
  if (!HasSameSize(parameters, traced.parameters)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("it describes a model with {} parameters, and one with {} was traced",
                            draw::FormatCount(parameters), draw::FormatCount(traced.parameters)));
  }
  if (traced.sequence > 0 && described.training.sequence != traced.sequence) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("it describes samples of {} tokens, and those of {} were traced",
                            described.training.sequence, traced.sequence));
  }
  return {};
}

}  // namespace

Result<std::optional<workload::Job>> ReadDescribedJob(const std::string& folder,
                                                      const workload::TracedJob& traced) {
  const std::string path = (fs::path(folder) / "job.yaml").string();
  if (std::error_code error; !fs::exists(path, error)) {
    return std::optional<workload::Job>();
  }
  ORRERY_TRY(workload::JobFile file, workload::ReadJobFile(path));
  if (const Status status = CheckDescription(file.job, traced); !status) {
    return FailWithin(path, status);
  }
  return std::optional(std::move(file.job));
}

}  // namespace orrery::cli
