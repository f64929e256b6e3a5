#include "orrery/ingest/nsys/gpu_metrics.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace orrery::ingest::nsys {
namespace {

constexpr std::string_view kTable = "GPU_METRICS";

using MetricKey = std::pair<std::int64_t, std::int64_t>;  // type and metric

std::map<MetricKey, std::string> ReadNames(ExportContext& context) {
  static constexpr std::array<std::string_view, 3> kColumns{"typeId", "metricId", "metricName"};
  std::map<MetricKey, std::string> names;
  context.ForEachRow("TARGET_INFO_GPU_METRICS", kColumns, [&](TableScan& row) {
    names[{row.Integer(0, -1), row.Integer(1, -1)}] = row.Text(2);
  });
  return names;
}

// Where the samples of one metric of one GPU go.
struct Counter {
  RankBuilder* rank = nullptr;
  StringId name = StringId::kEmpty;
  std::int32_t device = -1;
};

class CounterFinder {
 public:
  CounterFinder(ExportContext& context, RankSet& ranks, const GpuMap& gpus)
      : names_(ReadNames(context)), context_(context), ranks_(ranks), gpus_(gpus) {}

  const Counter& Of(const MetricKey& key) {
    if (latest_ != nullptr && key == latest_key_) {
      return *latest_;
    }
    const auto [entry, is_new] = counters_.try_emplace(key);
    if (is_new) {
      entry->second = Make(key);
    }
    latest_key_ = key;
    latest_ = &entry->second;
    return *latest_;
  }

 private:
  Counter Make(const MetricKey& key) {
    const std::int64_t gpu = key.first & 0xFF;
    RankBuilder* rank = gpus_.FindRank(ranks_, gpu);
    const std::int32_t device = rank == nullptr ? static_cast<std::int32_t>(gpu) : rank->device();
    rank = rank == nullptr ? &ranks_.first() : rank;
    const auto name = names_.find(key);
    if (name == names_.end()) {
      context_.problems.Note("GPU metric without a name", 1, kTable);
    }
    return {.rank = rank,
            .name = rank->Intern(name == names_.end() ? fmt::format("metric {}", key.second)
                                                      : name->second),
            .device = device};
  }

  std::map<MetricKey, std::string> names_;
  std::map<MetricKey, Counter> counters_;
  MetricKey latest_key_;
  const Counter* latest_ = nullptr;
  ExportContext& context_;
  RankSet& ranks_;
  const GpuMap& gpus_;
};

}  // namespace

void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus) {
  static constexpr std::array<std::string_view, 4> kColumns{"timestamp", "typeId", "metricId",
                                                            "value"};
  CounterFinder counters(context, ranks, gpus);
  context.ForEachRow(kTable, kColumns, [&](const TableScan& row) {
    const auto time_ns = context.ReadTime(row, 0, kTable);
    if (!time_ns) {
      return;
    }
    const Counter& counter = counters.Of({row.Integer(1), row.Integer(2, -1)});
    counter.rank->trace.counters.Append({.begin_ns = *time_ns,
                                         .name = counter.name,
                                         .device = counter.device,
                                         .value = row.Number(3)});
  });
}

}  // namespace orrery::ingest::nsys
