#include "orrery/report/collect.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/collective_facts.h"
#include "orrery/report/device_parts.h"
#include "orrery/report/findings.h"
#include "orrery/report/recorded_path.h"
#include "orrery/trace/problems.h"

namespace orrery::report {
namespace {

using analyze::RunView;

constexpr std::size_t kMaxNotes = 24;

// The different texts, joined.
std::string Joined(const std::set<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    out += (out.empty() ? "" : ", ") + text;
  }
  return out;
}

std::string DeviceNames(const RunView& run) {
  std::set<std::string> names;
  for (const trace::Trace& trace : run.set->ranks) {
    for (const StringId name : trace.devices.name) {
      names.emplace(trace.Text(name));
    }
  }
  names.erase("");
  return Joined(names);
}

std::string Formats(const RunView& run) {
  std::set<std::string> formats;
  for (const trace::Trace& trace : run.set->ranks) {
    formats.insert(trace.info.format);
  }
  formats.erase("");
  return Joined(formats);
}

std::string StepsText(const RunView& run) {
  const auto most = std::ranges::max_element(
      run.devices, {}, [](const analyze::DeviceView& device) { return device.windows.size(); });
  if (most == run.devices.end() || most->windows.empty()) {
    return "no steps";
  }
  if (most->windows.front().step == kNoRow) {
    return "the whole recording (no step markers)";
  }
  return most->windows.size() == 1 ? "1 step" : fmt::format("{} steps", most->windows.size());
}

std::string MatchText(const RunView& run) {
  std::int64_t matched = 0;
  std::int64_t all = 0;
  for (const trace::RankMatching& rank : run.matched.ranks) {
    matched += rank.num_matched;
    all += rank.num_matched + rank.num_unmatched;
  }
  return all == 0 ? ""
                  : fmt::format("{} of {}", draw::FormatCount(matched), draw::FormatCount(all));
}

std::string ClockText(const RunView& run) {
  if (run.set->ranks.size() < 2) {
    return {};
  }
  std::int64_t largest_ns = 0;
  for (const trace::RankClock& clock : run.alignment.ranks) {
    largest_ns = std::max(largest_ns, clock.apply ? std::abs(clock.offset_ns) : 0);
  }
  return run.alignment.applies()
             ? fmt::format("aligned, offsets up to {}", draw::FormatDuration({largest_ns}))
             : "as recorded";
}

void AddFact(std::string label, std::string value, std::vector<Fact>& facts) {
  if (!value.empty()) {
    facts.push_back({.label = std::move(label), .value = std::move(value)});
  }
}

std::vector<Fact> Facts(const RunView& run) {
  std::vector<Fact> facts;
  AddFact("ranks", draw::FormatCount(static_cast<std::int64_t>(run.set->ranks.size())), facts);
  AddFact("device", DeviceNames(run), facts);
  AddFact("model", std::string(analyze::CardText(*run.set, "model_family").value_or("")), facts);
  AddFact("selected", StepsText(run), facts);
  AddFact("format", Formats(run), facts);
  AddFact("collectives matched", MatchText(run), facts);
  AddFact("clocks", ClockText(run), facts);
  return facts;
}

std::int64_t MeanWindowNs(const RunView& run) {
  std::int64_t sum_ns = 0;
  std::int64_t count = 0;
  for (const analyze::DeviceView& device : run.devices) {
    sum_ns += device.total.window_ns;
    count += static_cast<std::int64_t>(device.windows.size());
  }
  return count == 0 ? 0 : sum_ns / count;
}

Figure ShareFigure(const RunReport& report, std::string label, Part part, std::string note) {
  const double share = MeanShares(report)[static_cast<std::size_t>(part)];
  return {.label = std::move(label),
          .value = fmt::format("{:.1f} %", 100 * share),
          .note = std::move(note),
          .part = part};
}

std::vector<Figure> Figures(const RunView& run, const RunReport& report) {
  if (report.rank_times.empty()) {
    return {};
  }
  return {{.label = "Step on the device",
           .value = draw::FormatDuration({MeanWindowNs(run)}),
           .note = "mean over ranks"},
          ShareFigure(report, "Compute", Part::kCompute, "some compute kernel runs"),
          ShareFigure(report, "Waiting", Part::kWaiting, "for the last rank"),
          ShareFigure(report, "Transfer", Part::kTransfer, "not hidden by compute"),
          ShareFigure(report, "Idle", Part::kIdle, "nothing runs")};
}

void AddNotes(const trace::ProblemLog& log, std::vector<std::string>& notes) {
  for (const trace::Problem& problem : log.all()) {
    const std::string first =
        problem.first.empty() ? "" : fmt::format(", first at {}", problem.first);
    notes.push_back(fmt::format("{}: {}{}", problem.what, draw::FormatCount(problem.count), first));
  }
}

std::vector<std::string> Notes(const RunView& run) {
  std::vector<std::string> notes;
  AddNotes(run.set->problems, notes);
  AddNotes(run.matched.problems, notes);
  AddNotes(run.alignment.problems, notes);
  if (run.waits.num_doubtful > 0) {
    notes.push_back(
        fmt::format("collectives left out of waits and bandwidths, since the match or "
                    "the times are doubtful: {}",
                    draw::FormatCount(run.waits.num_doubtful)));
  }
  // What befell several ranks is one note.
  trace::ProblemLog of_ranks;
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    of_ranks.Merge(run.set->ranks[place].problems,
                   fmt::format("rank {}", trace::RankOf(*run.set, place)));
  }
  AddNotes(of_ranks, notes);
  if (notes.size() > kMaxNotes) {
    const std::size_t more = notes.size() - kMaxNotes + 1;
    notes.resize(kMaxNotes - 1);
    notes.push_back(fmt::format("… and {} more (orrery info lists all)", more));
  }
  return notes;
}

}  // namespace

RunReport CollectReport(const RunView& run, CollectOptions options) {
  const std::vector<DeviceParts> parts = PartsOfDevices(run);
  RunReport report{.title = std::move(options.title)};
  report.facts = Facts(run);
  report.steps = StepsText(run);
  report.rank_times = RankTimes(run, parts);
  report.timeline = FirstStep(run, parts);
  report.collectives = CollectivePoints(run);
  report.roofs = Roofs(run);
  report.critical_path = RecordedPath(run);
  report.arrivals = ArrivalTable(run);
  report.stragglers = Stragglers(run);
  report.metrics = std::move(options.metrics);
  report.notes = Notes(run);
  report.figures = Figures(run, report);
  report.findings = FindingsOf(report);
  return report;
}

}  // namespace orrery::report
