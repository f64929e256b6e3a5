#include "orrery/ingest/nsys/gpu_map.h"

#include <array>

#include "orrery/ingest/nsys/json_fields.h"

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
      extra.AddText(kExtraTexts[i], text);
    }
  }
  return extra.text();
}

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
  static constexpr std::array<std::string_view, 3> kColumns{"pid", "cudaId", "gpuId"};
  context.ForEachRow("TARGET_INFO_CUDA_DEVICE", kColumns, [&](const TableScan& row) {
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

}  // namespace orrery::ingest::nsys
