#include <algorithm>
#include <cstddef>
#include <deque>
#include <new>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/mapped_file.h"
#include "orrery/trace/orr/block_codec.h"
#include "orrery/trace/orr/directory.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/orr/rank_reader.h"
#include "orrery/trace/orr/workers.h"

namespace orrery::trace {
namespace orr {
namespace {

Status CheckBlockSizes(const Directory& directory) {
  if (directory.rows_per_block > 0 && directory.rows_per_block <= kMaxRowsPerBlock &&
      directory.characters_per_block > 0) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("directory: blocks of {} rows and {} characters: {}",
                          directory.rows_per_block, directory.characters_per_block, kDamageFix));
}

Status CheckMemory(const std::deque<RankReader>& ranks, std::size_t file_bytes,
                   const UnpackLimits& limits) {
  const double needed =
      std::accumulate(ranks.begin(), ranks.end(), 0.0,
                      [](double sum, const RankReader& rank) { return sum + rank.MemoryBytes(); });
  const double allowed = std::max(static_cast<double>(limits.free_bytes),
                                  limits.max_ratio * static_cast<double>(file_bytes));
  if (needed <= allowed) {
    return {};
  }
  return Fail(Error::Kind::kLimit,
              fmt::format("its {} bytes claim to hold {:.0f} bytes of columns, and at most {:.0f} "
                          "are believed: {}",
                          file_bytes, needed, allowed, kDamageFix));
}

// Heavy tasks go first, so that no thread is left alone with one at the end. The error is that of
// the first task that failed in the order of the file, for any number of threads.
Status Run(const std::vector<ReadTask>& tasks, std::string_view file, int threads) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    return std::pair(tasks[rhs].num_bytes, lhs) < std::pair(tasks[lhs].num_bytes, rhs);
  });
  std::vector<Status> results(tasks.size());
  ForEachIndex(
      tasks.size(), threads, [&] { return BlockDecoder(file); },
      [&](BlockDecoder& decoder, std::size_t index) {
        results[order[index]] = tasks[order[index]].run(decoder);
      });
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const Status& status) { return !status.has_value(); });
  return failed == results.end() ? Status() : *failed;
}

Result<TraceSet> ReadSet(std::string_view file, const OrrReadOptions& options) {
  ORRERY_TRY(const std::string_view directory_bytes, OpenEnvelope(file));
  ORRERY_TRY(const Directory directory, DecodeDirectory(directory_bytes));
  ORRERY_TRY_STATUS(CheckBlockSizes(directory));
  TraceSet set;
  set.card = directory.card;
  set.problems = directory.problems;
  set.ranks.resize(directory.ranks.size());
  std::deque<RankReader> ranks;
  for (std::size_t rank = 0; rank < set.ranks.size(); ++rank) {
    ranks.emplace_back(fmt::format("rank {}", rank), directory, directory.ranks[rank],
                       set.ranks[rank]);
  }
  ORRERY_TRY_STATUS(CheckMemory(ranks, file.size(), options.limits));
  std::vector<ReadTask> tasks;
  for (RankReader& rank : ranks) {
    ORRERY_TRY_STATUS(rank.Plan(tasks));
  }
  ORRERY_TRY_STATUS(Run(tasks, file, options.threads));
  return set;
}

}  // namespace
}  // namespace orr

Result<TraceSet> ReadOrrBytes(std::string_view bytes, const OrrReadOptions& options) {
  try {
    return orr::ReadSet(bytes, options);
  } catch (const std::bad_alloc&) {
    return Fail(Error::Kind::kLimit, "there is not enough memory for its columns");
  }
}

Result<TraceSet> ReadOrr(const std::string& path, const OrrReadOptions& options) {
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  auto set = ReadOrrBytes(file.bytes(), options);
  if (!set) {
    return FailWithin(path, set);
  }
  return set;
}

}  // namespace orrery::trace
