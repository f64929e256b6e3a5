#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::kernel_sequences {
namespace {

constexpr std::size_t kShortestSequence = 2;
constexpr std::size_t kNumSequencesShown = 20;

// The operator and then its kernels, by name.
using Sequence = std::vector<std::string_view>;
using TotalOfSequence = std::map<Sequence, DurationTotal>;

// The operator around which there is no other. Parents come before their children.
std::vector<RowId> OutermostOperators(const trace::HostOps& ops) {
  std::vector<RowId> outermost(ops.size());
  for (RowId op = 0; op < ops.size(); ++op) {
    outermost[op] = ops.parent[op] == kNoRow ? op : outermost[ops.parent[op]];
  }
  return outermost;
}

// The kernels that one operator launched on one device, in order of time.
struct KernelsOfOperator {
  std::vector<StringId> names;
  std::int64_t ns = 0;
};

std::map<RowId, KernelsOfOperator> KernelsByOperator(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<RowId> outermost = OutermostOperators(trace.host_ops);
  std::map<RowId, KernelsOfOperator> kernels_of_operator;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId op = trace.activities.host_op[row];
    if (op != kNoRow && trace.activities.kind[row] == trace::ActivityKind::kKernel) {
      KernelsOfOperator& kernels = kernels_of_operator[outermost[op]];
      kernels.names.push_back(trace.activities.name[row]);
      kernels.ns += trace.activities.duration_ns[row];
    }
  });
  return kernels_of_operator;
}

// Counts by string ids first: most sequences repeat, and texts are long.
void AddSequences(const RunView& run, const DeviceView& device, TotalOfSequence& totals) {
  const trace::Trace& trace = run.TraceOf(device);
  std::map<std::vector<StringId>, DurationTotal> total_of_ids;
  for (auto& [op, kernels] : KernelsByOperator(run, device)) {
    if (kernels.names.size() >= kShortestSequence) {
      kernels.names.insert(kernels.names.begin(), trace.host_ops.name[op]);
      total_of_ids[kernels.names].Add(kernels.ns);
    }
  }
  for (const auto& [ids, total] : total_of_ids) {
    Sequence sequence;
    for (const StringId id : ids) {
      sequence.push_back(trace.Text(id));
    }
    totals[sequence] += total;
  }
}

Value DescribeSequence(const Sequence& sequence, const DurationTotal& total) {
  Value kernels = Value::List();
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    kernels.Add(sequence[i]);
  }
  Value row = Value::Object();
  row.Set("operator", sequence.front());
  total.Describe(row);
  return row.Set("kernels", std::move(kernels));
}

MetricResult Compute(const RunView& run) {
  TotalOfSequence totals;
  for (const DeviceView& device : run.devices) {
    AddSequences(run, device, totals);
  }
  if (totals.empty()) {
    return NotAvailable("no operator launched two kernels or more");
  }
  std::vector<std::pair<Sequence, DurationTotal>> sorted(totals.begin(), totals.end());
  std::int64_t most_frequent = 0;
  for (const auto& [sequence, total] : sorted) {
    most_frequent = std::max(most_frequent, total.count);
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& entry) { return entry.second.sum_ns; });
  MetricResult result{.value = static_cast<double>(most_frequent)};
  NoteScope(run, result.detail);
  result.detail.Set("num_sequences", sorted.size());
  sorted.resize(std::min(sorted.size(), kNumSequencesShown));
  Value rows = Value::List();
  for (const auto& [sequence, total] : sorted) {
    rows.Add(DescribeSequence(sequence, total));
  }
  result.detail.Set("sequences", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "kernel_sequences",
           .meaning = "Sequences of kernels that operators launch again and again",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "The kernels that an outermost operator launched, two or more, in order of time: "
               "what could be fused or captured. The number is how often the most frequent "
               "sequence occurs on all devices; detail has those with most time.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::kernel_sequences
