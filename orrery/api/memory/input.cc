#include "orrery/api/memory/input.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/error.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/join/joined_times.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {
namespace {

using memory::TimesJoin;
using Reads = MemoryTool::Reads;

constexpr std::size_t kNamed = 4;  // names in a sentence

std::string CountText(const TimesJoin::Count& count, std::string_view what) {
  return fmt::format("{} of {} {}", draw::FormatCount(count.with_times),
                     draw::FormatCount(count.all), what);
}

std::string LackingText(const std::vector<TimesJoin::Lacking>& lacking) {
  const std::size_t num_named = std::min(kNamed, lacking.size());
  std::int64_t count = 0;
  std::string names;
  for (std::size_t i = 0; i < lacking.size(); ++i) {
    count += lacking[i].count;
    if (i < num_named) {
      names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", lacking[i].name,
                           draw::FormatCount(lacking[i].count));
    }
  }
  const std::size_t num_left = lacking.size() - num_named;
  return fmt::format(
      "; {} {} none: {}{}", draw::FormatCount(count), count == 1 ? "has" : "have", names,
      num_left == 0 ? "" : fmt::format(" and {} more name{}", num_left, num_left == 1 ? "" : "s"));
}

std::string SentenceOf(const RankTimes& rank) {
  const TimesJoin& join = rank.join;
  std::string text = CountText(join.kernels, "launches");
  if (join.others.all > 0) {
    text += " and " + CountText(join.others, "memcpys and memsets");
  }
  text += fmt::format(" have times from {}{}.", rank.source,
                      join.lacking.empty() ? "" : LackingText(join.lacking));
  if (join.num_only_in_times > 0) {
    text += fmt::format(" It has {} more launches, memcpys and memsets that are not here.",
                        draw::FormatCount(join.num_only_in_times));
  }
  if (2 * join.kernels.with_times < join.kernels.all) {
    text += " That is less than half: is it another program?";
  }
  if (join.is_cut) {
    text += " The two runs differ so much that their rest was not compared.";
  }
  return text;
}

Document::Table JoinTable() {
  return {
      .key = "times",
      .heading = "where times are from",
      .columns = {AsText("run", "recording"), AsCount("rank", "rank"), AsText("source", "times"),
                  AsCount("launches", "launches"), AsCount("launches_with_times", "with times"),
                  AsCount("others", "memcpys and memsets"),
                  AsCount("others_with_times", "with times"),
                  AsCount("only_in_times", "not in the recording")},
      .max_shown = 0};
}

Document::Table LackingTable() {
  return {.key = "without_times",
          .heading = "work without times",
          .columns = {AsText("run", "recording"), AsCount("rank", "rank"), AsText("name", "name"),
                      AsCount("count", "count")},
          .max_shown = 0};
}

Result<ingest::Run> ReadOnePath(RunInput input, const std::string& path, const Progress& progress) {
  input.paths = {path};
  return ReadRun(input, progress);
}

Result<std::vector<ingest::Run>> ReadRuns(const RunInput& arguments, Reads reads,
                                          const Progress& progress) {
  std::vector<ingest::Run> runs;
  if (reads != Reads::kRuns) {
    ORRERY_TRY(runs.emplace_back(), ReadRun(arguments, progress));
    return runs;
  }
  for (const std::string& path : arguments.paths) {
    ORRERY_TRY(runs.emplace_back(), ReadOnePath(arguments, path, progress));
  }
  return runs;
}

// A tool for one rank takes the only one there is; of several, --rank says which.
Result<std::vector<const trace::Trace*>> ChosenRanks(const trace::TraceSet& set,
                                                     std::optional<std::int32_t> rank,
                                                     Reads reads) {
  std::vector<const trace::Trace*> chosen;
  std::vector<std::int64_t> there_are;
  for (const std::uint32_t place : trace::PlacesInRankOrder(set)) {
    there_are.push_back(trace::RankOf(set, place));
    if (!rank || trace::RankOf(set, place) == *rank) {
      chosen.push_back(&set.ranks[place]);
    }
  }
  if (chosen.empty()) {
    return Fail(Error::Kind::kNotFound,
                rank && !there_are.empty()
                    ? fmt::format("--rank {}: no such rank; there {} {}", *rank,
                                  there_are.size() == 1 ? "is" : "are", RangesText(there_are))
                    : std::string("there is no trace in it"));
  }
  if (reads == Reads::kOneRank && chosen.size() > 1) {
    return InvalidInput("there are {} ranks; --rank N says which one", chosen.size());
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

Result<std::vector<TimesRun>> ReadTimes(const RunInput& arguments, std::size_t num_runs,
                                        const Progress& progress) {
  const bool is_one_run = num_runs == 1;
  if (!is_one_run && arguments.paths.size() != 1 && arguments.paths.size() != num_runs) {
    return InvalidInput(
        "--times: {} paths for {} recordings; give one for all of them, or one "
        "for each, in their order",
        arguments.paths.size(), num_runs);
  }
  const std::array<memory::Need, 1> needs{memory::Need::kKernelTimes};
  std::vector<TimesRun> all;
  for (std::size_t i = 0; i < (is_one_run ? 1 : arguments.paths.size()); ++i) {
    ORRERY_TRY(ingest::Run run, is_one_run ? ReadRun(arguments, progress)
                                           : ReadOnePath(arguments, arguments.paths[i], progress));
    for (const trace::Trace& rank : run.set.ranks) {
      if (const Status met = memory::CheckNeeds(needs, rank); !met) {
        return NotFound("--times {}: {}; orrery capture without --accesses records them",
                        arguments.paths[i], met.error().message());
      }
    }
    all.push_back({.title = arguments.paths[i], .run = std::move(run)});
  }
  return all;
}

const trace::Trace* TimesOfRank(const TimesRun& times, const trace::TraceSet& set,
                                std::size_t place) {
  const trace::TraceSet& others = times.run.set;
  if (set.ranks.size() == 1 && others.ranks.size() == 1) {
    return &others.ranks.front();
  }
  for (std::size_t other = 0; other < others.ranks.size(); ++other) {
    if (trace::RankOf(others, other) == trace::RankOf(set, place)) {
      return &others.ranks[other];
    }
  }
  return nullptr;
}

Result<std::vector<RankTimes>> JoinTimes(const TimesRun& times, const std::string& title,
                                         trace::TraceSet& set) {
  const trace::Trace none;
  std::vector<RankTimes> joins;
  for (std::size_t place = 0; place < set.ranks.size(); ++place) {
    const trace::Trace* const source = TimesOfRank(times, set, place);
    RankTimes rank{.run = title,
                   .rank = trace::RankOf(set, place),
                   .source = times.title,
                   .join = memory::GiveTimes(source == nullptr ? none : *source, set.ranks[place])};
    if (source != nullptr && rank.join.kernels.all > 0 && rank.join.kernels.with_times == 0) {
      return InvalidInput(
          "--times {}: none of its kernels is in {}; it takes another run of "
          "the same program",
          times.title, title);
    }
    joins.push_back(std::move(rank));
  }
  return joins;
}

void AddTimes(const std::vector<RankTimes>& joins, MemoryToolResult& page) {
  Document::Table joined = JoinTable();
  Document::Table lacking = LackingTable();
  const bool has_several = joins.size() > 1;
  for (const RankTimes& rank : joins) {
    const std::string label = fmt::format("{}, rank {}: ", rank.run, rank.rank);
    page.times.push_back((has_several ? label : "") + SentenceOf(rank));
    joined.rows.push_back({rank.run, std::int64_t{rank.rank}, rank.source, rank.join.kernels.all,
                           rank.join.kernels.with_times, rank.join.others.all,
                           rank.join.others.with_times, rank.join.num_only_in_times});
    for (const TimesJoin::Lacking& name : rank.join.lacking) {
      lacking.rows.push_back({rank.run, std::int64_t{rank.rank}, name.name, name.count});
    }
  }
  page.tables.push_back(std::move(joined));
  page.tables.push_back(std::move(lacking));
}

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
  ORRERY_TRY(read.runs, ReadRuns(sources.run, reads, sources.progress));
  if (sources.times.empty()) {
    return read;
  }
  RunInput times = sources.run;
  times.paths = sources.times;
  ORRERY_TRY(read.times, ReadTimes(times, read.runs.size(), sources.progress));
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

}  // namespace orrery::api
