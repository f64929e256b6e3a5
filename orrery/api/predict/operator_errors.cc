#include "orrery/api/predict/operator_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orrery/api/predict/trace_answer.h"
#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::api {
namespace {

using ErrorOfName = std::map<std::string, OperatorError, std::less<>>;

void AddPredicted(const workload::Program& program, ErrorOfName& errors) {
  for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CallId call = program.tasks.call[task];
    if (program.tasks.kind[task] == workload::TaskKind::kKernel && call != workload::kNone) {
      errors[std::string(program.strings.View(program.calls.name[call]))].predicted_s +=
          static_cast<double>(program.tasks.duration_ps[task]) * 1e-12;
    }
  }
  for (const StringId name : program.calls.name) {
    const auto found = errors.find(program.strings.View(name));
    if (found != errors.end()) {
      ++found->second.calls;
    }
  }
}

// Kernels launched inside steps only: others belong to steps that were cut off.
void AddMeasured(const trace::Trace& measured, ErrorOfName& errors) {
  const auto num_steps = static_cast<double>(std::max<std::size_t>(1, measured.steps.size()));
  for (RowId row = 0; row < measured.activities.size(); ++row) {
    const RowId op = measured.activities.host_op[row];
    if (op != kNoRow) {
      errors[std::string(measured.Text(measured.host_ops.name[op]))].measured_s +=
          static_cast<double>(measured.activities.duration_ns[row]) * 1e-9 / num_steps;
    }
  }
}

}  // namespace

std::vector<OperatorError> WorstOperators(const workload::Program& program,
                                          const trace::Trace& measured, std::size_t how_many) {
  ErrorOfName errors;
  AddPredicted(program, errors);
  AddMeasured(measured, errors);
  std::vector<OperatorError> worst;
  for (auto& [name, error] : errors) {
    error.name = name;
    worst.push_back(error);
  }
  const auto off = [](const OperatorError& error) {
    return std::abs(error.predicted_s - error.measured_s);
  };
  std::stable_sort(
      worst.begin(), worst.end(),
      [&](const OperatorError& lhs, const OperatorError& rhs) { return off(lhs) > off(rhs); });
  worst.resize(std::min(worst.size(), how_many));
  return worst;
}

}  // namespace orrery::api
