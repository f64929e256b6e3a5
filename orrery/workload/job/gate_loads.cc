#include "orrery/workload/job/gate_loads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/run.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/token_load.h"

namespace orrery::workload {
namespace {

std::string PathOf(const std::string& log, const std::string& job_file) {
  const std::filesystem::path beside = std::filesystem::path(job_file).parent_path() / log;
  std::error_code ignored;
  return std::filesystem::exists(beside, ignored) ? beside.string() : log;
}

/// Rows of a gate log: step, layer (or none), expert, tokens.
Status ReadLoads(const Table& rows, const std::string& path, const Experts& experts,
                 TokenRouting& routing) {
  std::int64_t steps = 0;
  std::int64_t layers = 1;
  std::int64_t most = 0;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    steps = std::max(steps, rows.Integer(row, "step").value_or(0) + 1);
    layers = std::max(layers, rows.Integer(row, "layer").value_or(0) + 1);
    most = std::max(most, rows.Integer(row, "expert").value_or(0) + 1);
  }
  if (most != experts.count) {
    return Refuse("plan.token_imbalance: {} has loads of {} experts, the model has {}", path, most,
                  experts.count);
  }
  constexpr std::int64_t kMostLoads = 10'000'000;
  if (steps > kMostLoads / layers / most) {
    return Refuse("plan.token_imbalance: {} has too many steps; keep the first of them", path);
  }
  routing.layers_of_log = static_cast<std::size_t>(layers);
  routing.loads.assign(static_cast<std::size_t>(steps * layers),
                       std::vector<double>(static_cast<std::size_t>(most), 0));
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    const std::int64_t place =
        rows.Integer(row, "step").value_or(0) * layers + rows.Integer(row, "layer").value_or(0);
    routing.loads[static_cast<std::size_t>(place)]
                 [static_cast<std::size_t>(rows.Integer(row, "expert").value_or(0))] =
        std::max(0.0, rows.Number(row, "tokens").value_or(0));
  }
  return {};
}

Status ReadLog(const std::string& job_file, const Experts& experts, TokenRouting& routing) {
  const std::string path = PathOf(routing.log, job_file);
  ORRERY_TRY(const ingest::Run run, ingest::ReadRun({path}));
  if (run.tables.empty() || run.tables.front().format != "gate log" ||
      run.tables.front().rows.num_rows() == 0) {
    return Refuse("plan.token_imbalance: {} is no log of expert loads (expert_loads by step)",
                  path);
  }
  return ReadLoads(run.tables.front().rows, path, experts, routing);
}

}  // namespace

Status ResolveTokenRouting(const std::string& job_file, Job& job) {
  TokenRouting& routing = job.plan.routing;
  if (routing.zipf == 0 && routing.log.empty()) {
    return {};
  }
  const Experts* const experts = ExpertsOf(job.model);
  if (experts == nullptr) {
    return Refuse("plan.token_imbalance needs a model with experts");
  }
  if (!routing.log.empty()) {
    ORRERY_TRY_STATUS(ReadLog(job_file, *experts, routing));
  }
  job.plan.token_imbalance = std::max(1.0, TokenLoad(*experts, job.plan).Mean());
  return {};
}

}  // namespace orrery::workload
