#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/ingest/nsys/row_readers.h"
#include "orrery/ingest/sqlite_database.h"

namespace orrery::ingest::nsys {
namespace {

enum Column : std::size_t {
  kId,
  kCudaDevice,
  kName,
  kMemory,
  kMultiprocessors,
  kMajor,
  kMinor,
  kFirstExtra,
  kFirstText = kFirstExtra + 4
};

// Those from kFirstExtra on have no column in Devices: numbers, then texts.
const std::vector<std::string_view> kGpuColumns{
    "id",           "cuDevice",        "name",      "totalMemory", "smCount",       "computeMajor",
    "computeMinor", "memoryBandwidth", "clockRate", "l2CacheSize", "maxWarpsPerSm", "uuid",
    "chipName",     "busLocation"};

std::string ReadExtra(TableScan& row) {
  JsonFields extra;
  for (std::size_t i = kFirstExtra; i < kFirstText; ++i) {
    if (!row.IsMissing(i)) {
      extra.Add(kGpuColumns[i], row.Integer(i));
    }
  }
  for (std::size_t i = kFirstText; i < kGpuColumns.size(); ++i) {
    if (const std::string_view text = row.Text(i); !text.empty()) {
      extra.Add(kGpuColumns[i], text);
    }
  }
  return extra.text();
}

constexpr std::string_view kTable = "GPU_METRICS";

using MetricKey = std::pair<std::int64_t, std::int64_t>;  // type and metric

// The counter that receives the samples of one metric of one GPU.
struct Counter {
  RankBuilder* rank = nullptr;
  StringId name = StringId::kEmpty;
  std::int32_t device = -1;
};

Counter MakeCounter(ExportContext& context, RankSet& ranks, const GpuMap& gpus,
                    const MetricKey& key, const std::string& name) {
  const std::int64_t gpu = key.first & 0xFF;
  RankBuilder* rank = gpus.FindRank(ranks, gpu);
  const std::int32_t device = rank == nullptr ? static_cast<std::int32_t>(gpu) : rank->device;
  rank = rank == nullptr ? &ranks.first() : rank;
  context.problems.Note("GPU metric without a name", name.empty() ? 1 : 0, kTable);
  return {.rank = rank,
          .name = rank->Intern(name.empty() ? fmt::format("metric {}", key.second) : name),
          .device = device};
}

}  // namespace

GpuMap::GpuMap(ExportContext& context) {
  context.ForEachRow("TARGET_INFO_GPU", kGpuColumns, [&](TableScan& row) {
    gpus_[row.Integer(kId)] = {.cuda_device = row.Integer(kCudaDevice, -1),
                               .device = {.memory_bytes = row.Integer(kMemory, -1),
                                          .multiprocessors = row.SmallInteger(kMultiprocessors, -1),
                                          .compute_major = row.SmallInteger(kMajor, -1),
                                          .compute_minor = row.SmallInteger(kMinor, -1)},
                               .name = std::string(row.Text(kName)),
                               .extra = ReadExtra(row)};
  });
  context.ForEachRow("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"},
                     [&](const TableScan& row) {
                       gpu_of_device_[{row.Integer(0), row.SmallInteger(1)}] = row.Integer(2);
                     });
}

std::int64_t GpuMap::GpuOf(const RankBuilder& rank) const {
  const auto known = gpu_of_device_.find({ProcessNumber(rank.process), rank.device});
  if (known != gpu_of_device_.end()) {
    return known->second;
  }
  for (const auto& [id, gpu] : gpus_) {
    if (gpu.cuda_device == rank.device) {
      return id;
    }
  }
  return rank.device;
}

RankBuilder* GpuMap::FindRank(const RankSet& ranks, std::int64_t gpu) const {
  for (const auto& rank : ranks.all()) {
    if (GpuOf(*rank) == gpu) {
      return rank.get();
    }
  }
  return nullptr;
}

void GpuMap::FillDevices(RankBuilder& rank) const {
  const std::int64_t process = ProcessNumber(rank.process);
  for (const auto& [device, gpu] : gpu_of_device_) {
    const auto known = gpus_.find(gpu);
    if (device.first == process && known != gpus_.end()) {
      AppendDevice(rank, known->second, device.second);
    }
  }
  if (!rank.trace.devices.empty()) {
    return;
  }
  for (const auto& [id, gpu] : gpus_) {
    const std::int64_t number = gpu.cuda_device >= 0 ? gpu.cuda_device : id;
    AppendDevice(rank, gpu, static_cast<std::int32_t>(number & 0xFFFF));
  }
}

void GpuMap::AppendDevice(RankBuilder& rank, const Gpu& gpu, std::int32_t id) {
  trace::Devices::Row device = gpu.device;
  device.id = id;
  device.name = rank.Intern(gpu.name);
  device.extra = rank.Intern(gpu.extra);
  rank.trace.devices.Append(device);
}

void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus) {
  std::map<MetricKey, std::string> names;
  context.ForEachRow(
      "TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"},
      [&](TableScan& row) { names[{row.Integer(0, -1), row.Integer(1, -1)}] = row.Text(2); });
  std::map<MetricKey, Counter> counters;
  context.ForEachRow(kTable, {"timestamp", "typeId", "metricId", "value"},
                     [&](const TableScan& row) {
                       const auto time_ns = context.ReadTime(row, 0, kTable);
                       if (!time_ns) {
                         return;
                       }
                       const MetricKey key(row.Integer(1), row.Integer(2, -1));
                       const Counter counter = FindOrAdd(counters, key, [&] {
                         return MakeCounter(context, ranks, gpus, key, FindOr(names, key));
                       });
                       counter.rank->trace.counters.Append({.begin_ns = *time_ns,
                                                            .name = counter.name,
                                                            .device = counter.device,
                                                            .value = row.Number(3)});
                     });
}

}  // namespace orrery::ingest::nsys
