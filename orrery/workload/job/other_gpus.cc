#include "orrery/workload/job/other_gpus.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/workload/job/job.h"

namespace orrery::workload {

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
                  fmt::format("gpu_of {}: {} and {} have different makers and no common library of "
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

}  // namespace orrery::workload
