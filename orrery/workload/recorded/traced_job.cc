#include "orrery/workload/recorded/traced_job.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "orrery/workload/import/unpacked_file.h"

namespace orrery::workload {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJobFile = "trace.json";

tl::unexpected<Error> Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

template <typename Parse>
auto ParseFile(const std::string& path, const Parse& parse) -> decltype(parse(std::string_view())) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  auto parsed = parse(text);
  if (!parsed) {
    return FailWithin(path, parsed);
  }
  return parsed;
}

// Every rank of the world has one that stands for it.
Status CheckRanks(const TracedJob& job) {
  if (job.ranks.empty()) {
    return Refuse("no rank was traced: `orrery trace` ended before the first");
  }
  std::vector<std::uint8_t> is_known(job.world);
  for (const TracedRank& rank : job.ranks) {
    if (std::ranges::find(rank.stands_for, rank.rank) == rank.stands_for.end()) {
      return Refuse(fmt::format("rank {} does not stand for itself", rank.rank));
    }
    for (const Rank stood_for : rank.stands_for) {
      if (std::exchange(is_known[stood_for], std::uint8_t{1}) != 0) {
        return Refuse(fmt::format("two traced ranks stand for rank {}", stood_for));
      }
    }
  }
  const auto missing = std::ranges::find(is_known, std::uint8_t{0});
  if (missing != is_known.end()) {
    return Refuse(fmt::format("no traced rank stands for rank {}: trace one of its kind as well",
                              missing - is_known.begin()));
  }
  return {};
}

Status CheckMesh(const TracedJob& job) {
  std::uint64_t ranks = 1;
  for (const MeshDimension& dimension : job.mesh) {
    ranks *= dimension.size;
    if (ranks > job.world) {
      break;
    }
  }
  return job.mesh.empty() || ranks == job.world
             ? Status()
             : Refuse(fmt::format(
                   "the dimensions of plan.mesh do not make the {} ranks of the world", job.world));
}

Status ReadRank(Rank world, TracedRank& rank, std::vector<std::string>& remarks) {
  ORRERY_TRY(rank.steps, ParseFile(rank.Path("steps.json"), ParseTracedSteps));
  ORRERY_TRY(rank.collectives,
             ParseFile(rank.Path("collectives.json"), [world](std::string_view json) {
               return ParseTracedCollectives(json, world);
             }));
  if (!rank.steps.is_complete) {
    remarks.push_back(fmt::format("The tracing of rank {} ended early{}{}", rank.rank,
                                  rank.steps.why.empty() ? "." : ": ", rank.steps.why));
  }
  return {};
}

}  // namespace

std::string TracedRank::Path(std::string_view file) const {
  return (fs::path(folder) / file).string();
}

bool HoldsTracedJob(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::path(folder) / kJobFile, error);
}

Result<TracedJob> ReadTracedJob(const std::string& folder) {
  const std::string path = (fs::path(folder) / kJobFile).string();
  ORRERY_TRY(TracedJob job, ParseFile(path, ParseTracedJob));
  for (const Status& status : {CheckRanks(job), CheckMesh(job)}) {
    if (!status) {
      return FailWithin(path, status);
    }
  }
  for (TracedRank& rank : job.ranks) {
    rank.folder = (fs::path(folder) / rank.folder).string();
    ORRERY_TRY_STATUS(ReadRank(job.world, rank, job.remarks));
  }
  return job;
}

bool IsDataDimension(std::string_view name) {
  return name == "dp" || name == "dp_replicate" || name == "dp_shard";
}

std::int64_t SamplesOfStep(const TracedJob& job, Rank world) {
  // More than any job reads: a file that says so is wrong.
  constexpr double kMostSamples = 1e15;
  if (job.mesh.empty() && job.world > 1) {
    return 0;
  }
  double ranks_of_replica = 1;
  for (const MeshDimension& dimension : job.mesh) {
    ranks_of_replica *= IsDataDimension(dimension.name) ? 1.0 : dimension.size;
  }
  const double samples = static_cast<double>(job.micro_batch) *
                         static_cast<double>(job.accumulation) * job.microbatches * world /
                         ranks_of_replica;
  return samples <= kMostSamples ? static_cast<std::int64_t>(samples) : 0;
}

}  // namespace orrery::workload
