#include "orrery/analyze/kernel_work.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "orrery/analyze/json_fields.h"
#include "orrery/analyze/operator_work.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze {
namespace {

using trace::KernelClass;
using trace::Trace;

std::optional<KernelWork> CostModelWork(const Trace& trace, RowId row) {
  const std::string_view fields = trace.Text(trace.activities.extra[row]);
  if (fields.empty()) {
    return std::nullopt;
  }
  auto flops = JsonNumber(fields, "model_flops");
  if (!flops) {
    flops = JsonNumber(fields, "flops");
  }
  const auto bytes = JsonNumber(fields, "bytes_accessed");
  if (!flops && !bytes) {
    return std::nullopt;
  }
  return KernelWork{
      .activity = row, .flops = flops, .bytes = bytes, .source = WorkSource::kCostModel};
}

bool IsMainClass(KernelClass kernel_class) {
  return kernel_class == KernelClass::kGemm || kernel_class == KernelClass::kConvolution ||
         kernel_class == KernelClass::kAttention;
}

/// The work of the operators of a rank; computed once for calls of the same shape.
class OperatorWorks {
 public:
  explicit OperatorWorks(const Trace& trace) : trace_(trace) {}

  const std::optional<OperatorWork>& Of(RowId op) {
    const trace::HostOps& table = trace_.host_ops;
    const Key key{table.name[op], table.input_dims[op], table.input_types[op],
                  table.concrete_inputs[op]};
    const auto [place, is_new] = works_.try_emplace(key);
    if (is_new) {
      place->second = WorkOfOperator(trace_.Text(table.name[op]), OperatorInputs(trace_, op));
    }
    return place->second;
  }

 private:
  using Key = std::tuple<StringId, StringId, StringId, StringId>;

  const Trace& trace_;
  std::map<Key, std::optional<OperatorWork>> works_;
};

// The kernel of each operator call that has its work: [HostOps row].
std::vector<RowId> MainKernels(const RunView& run, const DeviceView& device,
                               const std::vector<RowId>& kernels) {
  const Trace& trace = run.TraceOf(device);
  std::vector<RowId> main_of_op(trace.host_ops.size(), kNoRow);
  const auto rank_of = [&](RowId row) {
    return std::pair(IsMainClass(run.ClassOf(device, row)), trace.activities.duration_ns[row]);
  };
  for (const RowId row : kernels) {
    const RowId op = trace.activities.host_op[row];
    if (op != kNoRow && (main_of_op[op] == kNoRow || rank_of(row) > rank_of(main_of_op[op]))) {
      main_of_op[op] = row;
    }
  }
  return main_of_op;
}

std::vector<RowId> ComputeKernels(const RunView& run, const DeviceView& device) {
  std::vector<RowId> kernels;
  ForEachSelected(run, device, [&](RowId row) {
    if (trace::IsCompute(run.ClassOf(device, row))) {
      kernels.push_back(row);
    }
  });
  return kernels;
}

}  // namespace

std::string_view WorkSourceName(WorkSource source) {
  return source == WorkSource::kCostModel ? "XLA cost model" : "operator shapes";
}

std::vector<KernelWork> KnownWork(const RunView& run, const DeviceView& device) {
  const Trace& trace = run.TraceOf(device);
  const std::vector<RowId> kernels = ComputeKernels(run, device);
  const std::vector<RowId> main_of_op = MainKernels(run, device, kernels);
  OperatorWorks works(trace);
  std::vector<KernelWork> known;
  for (const RowId row : kernels) {
    if (const auto work = CostModelWork(trace, row)) {
      known.push_back(*work);
      continue;
    }
    const RowId op = trace.activities.host_op[row];
    if (op == kNoRow || main_of_op[op] != row) {
      continue;
    }
    if (const auto& work = works.Of(op)) {
      known.push_back({.activity = row,
                       .flops = work->flops,
                       .bytes = work->bytes,
                       .type = work->type,
                       .source = WorkSource::kShapes});
    }
  }
  return known;
}

WorkTotal TotalWork(const RunView& run, const DeviceView& device) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  WorkTotal total;
  for (const RowId row : ComputeKernels(run, device)) {
    total.compute_ns += activities.duration_ns[row];
    ++total.num_kernels;
  }
  for (const KernelWork& work : KnownWork(run, device)) {
    const std::int64_t duration_ns = activities.duration_ns[work.activity];
    total.is_from_shapes |= work.source == WorkSource::kShapes;
    if (work.flops) {
      total.flops += *work.flops;
      total.flops_ns += duration_ns;
      ++total.kernels_with_flops;
    }
    if (work.bytes) {
      total.bytes += *work.bytes;
      total.bytes_ns += duration_ns;
      ++total.kernels_with_bytes;
    }
  }
  return total;
}

}  // namespace orrery::analyze
