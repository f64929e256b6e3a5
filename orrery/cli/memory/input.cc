#include "orrery/cli/memory/input.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

using Reads = MemoryTool::Reads;

Result<std::vector<ingest::Run>> ReadRuns(const RunArguments& arguments, Reads reads) {
  std::vector<ingest::Run> runs;
  if (reads != Reads::kRuns) {
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments));
    runs.push_back(std::move(run));
    return runs;
  }
  for (const std::string& path : arguments.paths) {
    RunArguments one = arguments;
    one.paths = {path};
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(one));
    runs.push_back(std::move(run));
  }
  return runs;
}

// A tool for one rank takes the only one there is; of several, --rank says which.
Result<std::vector<const trace::Trace*>> ChosenRanks(const trace::TraceSet& set,
                                                     std::optional<std::int32_t> rank,
                                                     Reads reads) {
  std::vector<const trace::Trace*> chosen;
  for (const std::uint32_t place : trace::PlacesInRankOrder(set)) {
    if (!rank || trace::RankOf(set, place) == *rank) {
      chosen.push_back(&set.ranks[place]);
    }
  }
  if (chosen.empty()) {
    return Fail(Error::Kind::kNotFound, rank ? fmt::format("--rank {}: no such rank", *rank)
                                             : std::string("there is no trace in it"));
  }
  if (reads == Reads::kOneRank && chosen.size() > 1) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("there are {} ranks; --rank N says which one", chosen.size()));
  }
  return chosen;
}

std::vector<const trace::Trace*> TimesOfRanks(const TimesRun* times, const trace::TraceSet& set,
                                              const std::vector<const trace::Trace*>& ranks) {
  std::vector<const trace::Trace*> found;
  for (const trace::Trace* const rank : ranks) {
    const auto place = static_cast<std::size_t>(rank - set.ranks.data());
    found.push_back(times == nullptr ? nullptr : TimesOfRank(*times, set, place));
  }
  return found;
}

// "h100/run.json" and "mi300/run.json" would both be "run.json".
void TellApart(std::span<const std::string> paths, std::vector<MemoryRun>& runs) {
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool is_alone = std::ranges::count(runs, runs[i].title, &MemoryRun::title) == 1;
    const std::string folder = std::filesystem::path(paths[i]).parent_path().filename().string();
    titles.push_back(is_alone || folder.empty() ? runs[i].title : folder + "/" + runs[i].title);
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].title = std::move(titles[i]);
  }
}

}  // namespace

std::string MemoryTitle(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::filesystem::path name =
      whole.has_filename() ? whole.filename() : whole.parent_path().filename();
  return name.string();
}

const TimesRun* ReadMemory::TimesOf(std::size_t run) const {
  return times.empty() ? nullptr : &times[times.size() == 1 ? 0 : run];
}

bool ReadMemory::is_partial() const {
  return std::ranges::any_of(runs, &ingest::Run::is_partial) ||
         std::ranges::any_of(times, [](const TimesRun& one) { return one.run.is_partial(); });
}

Result<ReadMemory> ReadMemoryRuns(const MemorySources& sources, Reads reads, bool joins_times) {
  ReadMemory read;
  ORRERY_TRY(read.runs, ReadRuns(sources.run, reads));
  if (sources.times.empty()) {
    return read;
  }
  RunArguments times = sources.run;
  times.paths = sources.times;
  ORRERY_TRY(read.times, ReadTimes(times, read.runs.size()));
  for (std::size_t i = 0; joins_times && i < read.runs.size(); ++i) {
    ORRERY_TRY(std::vector<RankTimes> joins,
               JoinTimes(*read.TimesOf(i), MemoryTitle(sources.run.paths[i]), read.runs[i].set));
    std::ranges::move(joins, std::back_inserter(read.joins));
  }
  return read;
}

Result<MemoryInput> MemoryInputOf(const MemorySources& sources, const ReadMemory& read,
                                  Reads reads) {
  MemoryInput input{.top = sources.top, .threads = sources.run.threads};
  for (std::size_t i = 0; i < read.runs.size(); ++i) {
    const std::string& path = sources.run.paths[i];
    const trace::TraceSet& set = read.runs[i].set;
    const auto ranks = ChosenRanks(set, sources.rank, reads);
    if (!ranks) {
      return FailWithin(path, ranks);
    }
    // All paths are one run unless each is one.
    const std::size_t others = sources.run.paths.size() - read.runs.size();
    input.runs.push_back(
        {.title = MemoryTitle(path) + (others == 0 ? "" : fmt::format(" and {} more", others)),
         .ranks = *ranks,
         .times = TimesOfRanks(read.TimesOf(i), set, *ranks)});
  }
  TellApart(sources.run.paths, input.runs);
  return input;
}

}  // namespace orrery::cli
