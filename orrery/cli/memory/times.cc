#include "orrery/cli/memory/times.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "orrery/draw/number_format.h"
#include "orrery/memory/needs.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

using memory::TimesJoin;
using report::Document;
using report::Unit;

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
    text += " and " + CountText(join.others, "copies and sets");
  }
  text += fmt::format(" have times from {}{}.", rank.source,
                      join.lacking.empty() ? "" : LackingText(join.lacking));
  if (join.num_only_in_times > 0) {
    text += fmt::format(" It has {} more launches, copies and sets that are not here.",
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
  return {.key = "times",
          .heading = "where times are from",
          .columns = {{"run", "recording", Unit::kText},
                      {"rank", "rank", Unit::kCount},
                      {"source", "times", Unit::kText},
                      {"launches", "launches", Unit::kCount},
                      {"launches_with_times", "with times", Unit::kCount},
                      {"others", "copies and sets", Unit::kCount},
                      {"others_with_times", "with times", Unit::kCount},
                      {"only_in_times", "not in the recording", Unit::kCount}},
          .max_shown = 0};
}

Document::Table LackingTable() {
  return {.key = "without_times",
          .heading = "work without times",
          .columns = {{"run", "recording", Unit::kText},
                      {"rank", "rank", Unit::kCount},
                      {"name", "name", Unit::kText},
                      {"count", "count", Unit::kCount}},
          .max_shown = 0};
}

}  // namespace

Result<std::vector<TimesRun>> ReadTimes(const RunArguments& arguments, std::size_t num_runs) {
  const bool is_one_run = num_runs == 1;
  if (!is_one_run && arguments.paths.size() != 1 && arguments.paths.size() != num_runs) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("--times: {} paths for {} recordings; give one for all of them, or one "
                            "for each, in their order",
                            arguments.paths.size(), num_runs));
  }
  const std::array<memory::Need, 1> needs{memory::Need::kKernelTimes};
  std::vector<TimesRun> all;
  for (std::size_t i = 0; i < (is_one_run ? 1 : arguments.paths.size()); ++i) {
    RunArguments one = arguments;
    one.paths = is_one_run ? arguments.paths : std::vector<std::string>{arguments.paths[i]};
    ORRERY_TRY(ingest::Run run, ReadRunWithProgress(one));
    for (const trace::Trace& rank : run.set.ranks) {
      if (const Status met = memory::CheckNeeds(needs, rank); !met) {
        return Fail(Error::Kind::kNotFound,
                    fmt::format("--times {}: {}; orrery capture without --accesses records them",
                                arguments.paths[i], met.error().message()));
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
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("--times {}: none of its kernels is in {}; it takes another run of "
                              "the same program",
                              times.title, title));
    }
    joins.push_back(std::move(rank));
  }
  return joins;
}

void AddTimes(const std::vector<RankTimes>& joins, MemoryResult& page) {
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

}  // namespace orrery::cli
