#include "orrery/workload/job/other_gpus.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "orrery/hardware/gpu.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/nearest_name.h"

namespace orrery::workload {
namespace {

std::optional<int> ReadRank(std::string_view text) {
  int rank = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, rank);
  const bool is_rank = !text.empty() && read.ec == std::errc() && read.ptr == end && rank >= 0;
  return is_rank ? std::optional(rank) : std::nullopt;
}

Result<OtherGpus> ReadRanks(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<int> first = ReadRank(text.substr(0, dash));
  const std::optional<int> last =
      dash == std::string_view::npos ? first : ReadRank(text.substr(dash + 1));
  if (!first || !last || *last < *first) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("gpu_of '{}' names no ranks: write 8-15, or 8 for one", text));
  }
  return OtherGpus{.first = *first, .last = *last, .gpu = {}};
}

}  // namespace

std::vector<GpuCount> GpusOf(const Job& job) {
  std::vector<GpuCount> counts = {{.gpu = &job.gpu, .ranks = job.gpus}};
  for (const OtherGpus& other : job.other_gpus) {
    const int ranks = other.last - other.first + 1;
    counts.front().ranks -= ranks;
    const auto known = std::ranges::find_if(
        counts, [&](const GpuCount& count) { return count.gpu->name == other.gpu.name; });
    if (known == counts.end()) {
      counts.push_back({.gpu = &other.gpu, .ranks = ranks});
    } else {
      known->ranks += ranks;
    }
  }
  return counts;
}

const hardware::Gpu& GpuOfRank(const Job& job, std::uint32_t rank) {
  for (const OtherGpus& other : job.other_gpus) {
    if (rank >= static_cast<std::uint32_t>(other.first) &&
        rank <= static_cast<std::uint32_t>(other.last)) {
      return other.gpu;
    }
  }
  return job.gpu;
}

Status CheckOtherGpus(const Job& job) {
  int next = 0;
  for (const OtherGpus& other : job.other_gpus) {
    if (other.first < next) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("gpu_of names rank {} twice: give each rank one GPU", other.first));
    }
    if (other.last >= job.gpus) {
      return Fail(
          Error::Kind::kInvalidInput,
          fmt::format("gpu_of {}: there is no rank {}; the job has {} ranks, counted from 0",
                      RanksText(other), other.last, job.gpus));
    }
    if (other.gpu.vendor != job.gpu.vendor) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("gpu_of {}: {} and {} are of different vendors and have no common library of "
                              "collectives: take a GPU of {}",
                              RanksText(other), other.gpu.name, job.gpu.name, job.gpu.vendor));
    }
    next = other.last + 1;
  }
  return {};
}

std::string RanksText(const OtherGpus& other) {
  return other.first == other.last ? std::to_string(other.first)
                                   : fmt::format("{}-{}", other.first, other.last);
}

Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node) {
  if (!node.IsMap()) {
    return Fail(Error::Kind::kInvalidInput,
                "gpu_of is not a mapping of ranks to GPUs: write it as {8-15: A100-80GB}");
  }
  std::vector<OtherGpus> others;
  for (const auto& entry : node) {
    ORRERY_TRY(OtherGpus other, ReadRanks(entry.first.as<std::string>()));
    const std::string name = entry.second.IsScalar() ? entry.second.Scalar() : "";
    const hardware::Gpu* const gpu = hardware::FindGpu(name);
    if (gpu == nullptr) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("gpu_of {}: gpu '{}' is not in the catalogue; the nearest is {}",
                              RanksText(other), name, NearestName(name, hardware::GpuCatalogue())));
    }
    other.gpu = *gpu;
    others.push_back(std::move(other));
  }
  std::ranges::stable_sort(others, {}, &OtherGpus::first);
  return others;
}

}  // namespace orrery::workload
