#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/fields.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/operator_work.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/data_type.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/report/document.h"
#include "orrery/report/kernel_name.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::report {
namespace {

using analyze::DeviceView;
using analyze::RunView;

constexpr std::size_t kRowsInText = 10;
constexpr std::size_t kRowsOnPage = 40;
constexpr std::size_t kNameInText = 47;
constexpr std::size_t kNameOnPage = 64;
constexpr double kMostlyKnown = 0.5;  // of a kernel's time, to be shown
constexpr double kMostOfCall = 0.8;   // of a call's time, to have its work

/// The work of the calls of one kernel that are understood, and the least time for it.
struct KnownCalls {
  std::int64_t time_ns = 0;
  double flops = 0;
  double bytes = 0;
  double compute_seconds = 0;
  double memory_seconds = 0;
  bool has_bounds = true;

  KnownCalls& operator+=(const KnownCalls& other) {
    time_ns += other.time_ns;
    flops += other.flops;
    bytes += other.bytes;
    compute_seconds += other.compute_seconds;
    memory_seconds += other.memory_seconds;
    has_bounds = has_bounds && other.has_bounds;
    return *this;
  }
};

using KnownByName = std::map<std::string_view, KnownCalls>;

// Frameworks may let fp32 GEMMs run as TF32; only the kernel's name tells. Nothing where it does
// not.
std::optional<kernel::Operator> WithPrecisionOf(std::string_view name, const kernel::Operator& op) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  const bool is_single = op.type() == DataType::kFp32 || op.type() == DataType::kTf32;
  if (!kernel::IsGemm(op.kind()) || !is_single) {
    return op;
  }
  if (has("tf32") || has("tensorop") || has("s1688") || has("s16816")) {
    return op.WithType(DataType::kTf32);
  }
  return has("ffma") || has("simt") || has("sgemm") ? std::optional(op.WithType(DataType::kFp32))
                                                    : std::nullopt;
}

/// Attributes the work of a call to its kernel: where it launched several, to the GEMM, convolution
/// or attention kernel that takes nearly all of their time, and of a convolution's two gradients
/// (whose FLOPs are equal) half to each kernel.
class WorkOfDevice {
 public:
  WorkOfDevice(const RunView& run, const DeviceView& device, KnownByName& of_name)
      : run_(run), device_(device), trace_(run.TraceOf(device)), of_name_(of_name) {
    gpu_ = hardware::FindGpu(trace::DeviceName(trace_));
    gpu_ = gpu_ == nullptr ? analyze::ChipOf(run) : gpu_;
  }

  void Add() {
    AddCostModel();
    if (gpu_ == nullptr) {
      return;
    }
    analyze::OperatorsOfCalls operators(trace_);
    std::map<RowId, std::vector<RowId>> kernels_of_call;
    ForEachSelected(run_, device_, [&](RowId row) {
      const RowId op = trace_.activities.host_op[row];
      if (op != kNoRow && trace::IsCompute(run_.ClassOf(device_, row))) {
        const RowId call = operators.CallOfKernel(op, run_.ClassOf(device_, row));
        kernels_of_call[call].push_back(row);
      }
    });
    for (const auto& [op, kernels] : kernels_of_call) {
      AddCall(operators.Of(op), kernels);
    }
  }

 private:
  // XLA's cost model knows FLOPs and bytes but not the type, so there is no peak to compare with.
  void AddCostModel() {
    for (const analyze::KernelWork& work : analyze::KnownWork(run_, device_)) {
      if (work.source == analyze::WorkSource::kCostModel) {
        of_name_[NameOf(work.activity)] += {.time_ns = DurationNs(work.activity),
                                            .flops = work.flops.value_or(0),
                                            .bytes = work.bytes.value_or(0),
                                            .has_bounds = false};
      }
    }
  }

  void AddCall(const std::vector<kernel::Operator>& operators, const std::vector<RowId>& kernels) {
    if (operators.empty()) {
      return;
    }
    std::vector<RowId> main;
    std::int64_t main_ns = 0;
    for (const RowId row : kernels) {
      if (kernels.size() == 1 || analyze::IsMainClass(run_.ClassOf(device_, row))) {
        main.push_back(row);
        main_ns += DurationNs(row);
      }
    }
    const bool is_halved =
        main.size() == 2 && operators.size() == 1 && kernel::HasBothGradients(operators.front());
    for (const RowId row : main) {
      const bool is_most =
          static_cast<double>(DurationNs(row)) >= kMostOfCall * static_cast<double>(main_ns);
      if (is_halved || is_most) {
        AddKernel(operators, row, is_halved ? 0.5 : 1);
      }
    }
  }

  void AddKernel(const std::vector<kernel::Operator>& operators, RowId row, double share) {
    KnownCalls known{.time_ns = DurationNs(row)};
    for (const kernel::Operator& op : operators) {
      const auto run_as = WithPrecisionOf(NameOf(row), op);
      if (!run_as) {
        return;
      }
      const kernel::Work work = kernel::WorkOf(*run_as);
      const kernel::Bound bound = kernel::BoundOf(*run_as, work, *gpu_);
      known += {.flops = share * work.flops,
                .bytes = share * work.Bytes(),
                .compute_seconds = share * bound.compute_seconds,
                .memory_seconds = share * bound.memory_seconds};
    }
    of_name_[NameOf(row)] += known;
  }

  [[nodiscard]] std::string_view NameOf(RowId row) const {
    return trace_.Text(trace_.activities.name[row]);
  }

  [[nodiscard]] std::int64_t DurationNs(RowId row) const {
    return trace_.activities.duration_ns[row];
  }

  const RunView& run_;
  const DeviceView& device_;
  const trace::Trace& trace_;
  const hardware::Gpu* gpu_ = nullptr;
  KnownByName& of_name_;
};

KnownByName KnownWorkByName(const RunView& run) {
  std::vector<KnownByName> of_device(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads,
              [&](std::size_t i) { WorkOfDevice(run, run.devices[i], of_device[i]).Add(); });
  KnownByName sum;
  for (const KnownByName& device : of_device) {
    for (const auto& [name, known] : device) {
      sum[name] += known;
    }
  }
  return sum;
}

// More than the peak FLOP/s is impossible: then the precision is another than the tensors'. More
// than the memory's bandwidth is not, since caches have some of the data.
void SetAchieved(const KnownCalls& known, KernelRow& row) {
  const double seconds = static_cast<double>(known.time_ns) / 1e9;
  row.known_share =
      std::min(1.0, static_cast<double>(known.time_ns) / static_cast<double>(row.total_ns));
  if (known.time_ns <= 0 || known.compute_seconds > seconds) {
    return;
  }
  row.flops_per_second = known.flops / seconds;
  row.bytes_per_second = known.bytes / seconds;
  if (known.has_bounds) {
    row.is_compute_bound = known.compute_seconds >= known.memory_seconds;
    row.roof_share = std::max(known.compute_seconds, known.memory_seconds) / seconds;
  }
}

bool IsShown(const KernelRow& row) {
  return row.flops_per_second && row.known_share >= kMostlyKnown;
}

std::string AchievedText(const KernelRow& row) {
  if (!IsShown(row)) {
    return "–";
  }
  const bool by_flops = row.roof_share ? row.is_compute_bound : *row.flops_per_second > 0;
  const double tera = *row.flops_per_second / 1e12;
  return by_flops ? fmt::format("{:.{}f} TFLOP/s", tera, tera < 10 ? 2 : 0)
                  : draw::FormatBandwidth({*row.bytes_per_second});
}

// Communication has no roof here; how much of it is waiting explains its time.
std::string RoofText(const KernelRow& row) {
  if (row.wait_ns > 0) {
    return fmt::format("{:.0f} % waiting",
                       100 * static_cast<double>(row.wait_ns) / static_cast<double>(row.total_ns));
  }
  return IsShown(row) && row.roof_share
             ? fmt::format("{:.0f} % {}", 100 * *row.roof_share, BoundName(row))
             : "–";
}

Document::Table KernelTable(const std::vector<KernelRow>& kernels, std::size_t max_rows,
                            std::size_t name_width) {
  Document::Table table{.columns = {AsText("", "kernel", 0),
                                    AsText("class"),
                                    AsCount("calls"),
                                    AsTime("time"),
                                    AsShare("share"),
                                    {"", "achieved", Unit::kNumber, 0, Shown::kInHtml},
                                    AsNumber("of roof")},
                        .max_shown = SIZE_MAX};
  for (const KernelRow& row : std::span(kernels).first(std::min(max_rows, kernels.size()))) {
    table.rows.push_back({FittedName(row.short_name, name_width), row.kernel_class, row.calls,
                          row.time_ns, row.share, AchievedText(row), RoofText(row)});
  }
  return table;
}

// Remarks on the rows that the table leaves out, and on its last column.
std::vector<std::string> KernelRemarks(const RunReport& report, std::size_t max_rows) {
  double rest = 1;
  double highest = 0;  // of the roofs
  for (const KernelRow& row :
       std::span(report.kernels).first(std::min(max_rows, report.kernels.size()))) {
    rest -= row.share;
    highest = std::max(highest, IsShown(row) ? row.roof_share.value_or(0) : 0);
  }
  std::vector<std::string> remarks;
  if (report.kernels.size() > max_rows) {
    remarks.push_back(fmt::format("{} more: {:.1f} % of kernel time (--json has all).",
                                  report.kernels.size() - max_rows, 100 * rest));
  }
  remarks.push_back(highest == 0
                        ? "No roofline: it takes recorded shapes and a GPU of the catalogue."
                        : fmt::format("Roof: {} peak FLOP/s or memory bandwidth, whichever limits "
                                      "the recorded shapes; –: unknown.",
                                      report.gpu.empty() ? "the GPUs'" : report.gpu + "'s"));
  if (highest > 1) {
    remarks.emplace_back("Above 100 %: data from caches, or one tensor passed twice.");
  }
  return remarks;
}

void AddKernelSection(const RunReport& report, std::size_t max_rows, std::size_t name_width,
                      Shown shown, Document& document) {
  Document::Section& section = document.AddSection(
      fmt::format("Kernels ({})", report.has_steps ? "mean per step and GPU" : "mean per GPU"));
  section.shown = shown;
  section.tab = "kernels";
  section.Add(KernelTable(report.kernels, max_rows, name_width));
  for (std::string& remark : KernelRemarks(report, max_rows)) {
    section.Say(std::move(remark));
  }
}

}  // namespace

std::string_view BoundName(const KernelRow& row) {
  return row.is_compute_bound ? "compute" : "memory";
}

std::vector<KernelRow> KernelRows(const RunView& run) {
  const std::vector<analyze::KernelTotal> totals = analyze::TotalKernels(run);
  const KnownByName known = KnownWorkByName(run);
  std::size_t num_windows = 0;
  for (const DeviceView& device : run.devices) {
    num_windows += device.windows.size();
  }
  std::int64_t all_ns = 0;
  std::vector<std::string_view> names;
  for (const analyze::KernelTotal& total : totals) {
    all_ns += total.durations.sum_ns;
    names.push_back(total.name);
  }
  if (all_ns == 0 || num_windows == 0) {
    return {};
  }
  std::vector<KernelRow> rows;
  const std::vector<std::string> shorts = ShortKernelNames(names);
  for (const analyze::KernelTotal& total : totals) {
    const auto per_step = [&](std::int64_t sum) {
      return static_cast<double>(sum) / static_cast<double>(num_windows);
    };
    KernelRow& row = rows.emplace_back(KernelRow{
        .name = std::string(total.name),
        .short_name = shorts[rows.size()],
        .kernel_class = std::string(trace::KernelClassName(total.kernel_class)),
        .calls = per_step(total.durations.count),
        .time_ns = per_step(total.durations.sum_ns),
        .share = static_cast<double>(total.durations.sum_ns) / static_cast<double>(all_ns),
        .total_ns = total.durations.sum_ns,
        .wait_ns = total.wait_ns});
    if (const auto found = known.find(total.name); found != known.end() && row.total_ns > 0) {
      SetAchieved(found->second, row);
    }
  }
  return rows;
}

void AddKernels(const RunReport& report, Document& document) {
  if (!report.kernels.empty()) {
    AddKernelSection(report, kRowsInText, kNameInText, Shown::kInText, document);
    AddKernelSection(report, kRowsOnPage, kNameOnPage, Shown::kInHtml, document);
  }
}

}  // namespace orrery::report
