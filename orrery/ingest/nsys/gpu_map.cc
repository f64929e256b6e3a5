#include "orrery/ingest/nsys/gpu_map.h"

#include <array>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_text.h"

namespace orrery::ingest::nsys {
namespace {

// The columns of TARGET_INFO_GPU that have no column in Devices.
constexpr std::array<std::string_view, 4> kExtraNumbers{"memoryBandwidth", "clockRate",
                                                        "l2CacheSize", "maxWarpsPerSm"};
constexpr std::array<std::string_view, 3> kExtraTexts{"uuid", "chipName", "busLocation"};

enum Column : std::size_t {
  kId,
  kCudaDevice,
  kName,
  kMemory,
  kMultiprocessors,
  kMajor,
  kMinor,
  kFirstExtra,
};

constexpr auto kGpuColumns = [] {
  std::array<std::string_view, kFirstExtra + kExtraNumbers.size() + kExtraTexts.size()> columns{
      "id", "cuDevice", "name", "totalMemory", "smCount", "computeMajor", "computeMinor"};
  std::size_t next = kFirstExtra;
  for (const std::string_view column : kExtraNumbers) {
    columns[next++] = column;
  }
  for (const std::string_view column : kExtraTexts) {
    columns[next++] = column;
  }
  return columns;
}();

std::string ReadExtra(TableScan& row) {
  JsonFields extra;
  for (std::size_t i = 0; i < kExtraNumbers.size(); ++i) {
    if (!row.IsMissing(kFirstExtra + i)) {
      extra.Add(kExtraNumbers[i], row.Integer(kFirstExtra + i));
    }
  }
  for (std::size_t i = 0; i < kExtraTexts.size(); ++i) {
    const std::string_view text = row.Text(kFirstExtra + kExtraNumbers.size() + i);
    if (!text.empty()) {
      extra.Add(kExtraTexts[i], text);
    }
  }
  return extra.text();
}

constexpr std::string_view kTable = "GPU_METRICS";

using MetricKey = std::pair<std::int64_t, std::int64_t>;  // type and metric

std::map<MetricKey, std::string> ReadNames(ExportContext& context) {
  std::map<MetricKey, std::string> names;
  context.ForEachRow("TARGET_INFO_GPU_METRICS", {"typeId", "metricId", "metricName"},
                     [&](TableScan& row) {
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

GpuMap::GpuMap(ExportContext& context) {
  ReadGpus(context);
  ReadCudaDevices(context);
}

void GpuMap::ReadGpus(ExportContext& context) {
  context.ForEachRow("TARGET_INFO_GPU", kGpuColumns, [&](TableScan& row) {
    const std::int64_t id = row.Integer(kId);
    gpus_[id] = {.id = id,
                 .cuda_device = row.Integer(kCudaDevice, -1),
                 .name = std::string(row.Text(kName)),
                 .memory_bytes = row.Integer(kMemory, -1),
                 .multiprocessors = row.SmallInteger(kMultiprocessors, -1),
                 .compute_major = row.SmallInteger(kMajor, -1),
                 .compute_minor = row.SmallInteger(kMinor, -1),
                 .extra = ReadExtra(row)};
  });
}

void GpuMap::ReadCudaDevices(ExportContext& context) {
  context.ForEachRow("TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId"},
                     [&](const TableScan& row) {
                       gpu_of_device_[{row.Integer(0), row.SmallInteger(1)}] = row.Integer(2);
                     });
}

std::int64_t GpuMap::GpuOf(const RankBuilder& rank) const {
  const auto told = gpu_of_device_.find({ProcessNumber(rank.process()), rank.device()});
  if (told != gpu_of_device_.end()) {
    return told->second;
  }
  for (const auto& [id, gpu] : gpus_) {
    if (gpu.cuda_device == rank.device()) {
      return id;
    }
  }
  return rank.device();
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
  const std::int64_t process = ProcessNumber(rank.process());
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

void GpuMap::AppendDevice(RankBuilder& rank, const Gpu& gpu, std::int32_t id) const {
  rank.trace.devices.Append({.id = id,
                             .name = rank.Intern(gpu.name),
                             .memory_bytes = gpu.memory_bytes,
                             .multiprocessors = gpu.multiprocessors,
                             .compute_major = gpu.compute_major,
                             .compute_minor = gpu.compute_minor,
                             .extra = rank.Intern(gpu.extra)});
}

void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus) {
  CounterFinder counters(context, ranks, gpus);
  context.ForEachRow(kTable, {"timestamp", "typeId", "metricId", "value"},
                     [&](const TableScan& row) {
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
