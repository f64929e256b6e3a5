#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/breakdown/data_loading.h"
#include "orrery/analyze/breakdown/exposed_copies.h"
#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::report {
namespace {

using analyze::RunView;

using analyze::DeviceView;

using DeviceParts = std::vector<analyze::TimePart>;  // in the order of Part, without idle

const analyze::Window* WindowOfStep(const DeviceView& device, std::int64_t number) {
  const auto found = std::ranges::find(device.windows, number, &analyze::Window::number);
  return found == device.windows.end() ? nullptr : &*found;
}

std::vector<draw::TimelineSlice> SlicesWithin(const DeviceParts& parts, Interval window,
                                              std::int64_t origin_ns) {
  std::vector<draw::TimelineSlice> slices;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const IntervalSet inside = Clipped(parts[part].time, window);
    for (const Interval& interval : inside.intervals()) {
      slices.push_back({.begin_ns = interval.begin_ns - origin_ns,
                        .end_ns = interval.end_ns - origin_ns,
                        .series = static_cast<std::uint8_t>(part)});
    }
  }
  std::ranges::sort(slices, {}, &draw::TimelineSlice::begin_ns);
  return slices;
}

// From the first begin to the last end of a step on any device.
Interval SpanOfStep(const RunView& run, std::int64_t number) {
  Interval span{.begin_ns = std::numeric_limits<std::int64_t>::max(),
                .end_ns = std::numeric_limits<std::int64_t>::min()};
  for (const DeviceView& device : run.devices) {
    if (const analyze::Window* const window = WindowOfStep(device, number)) {
      span.begin_ns = std::min(span.begin_ns, window->time.begin_ns);
      span.end_ns = std::max(span.end_ns, window->time.end_ns);
    }
  }
  return span;
}

std::vector<DeviceParts> PartsOfDevices(const RunView& run) {
  std::vector<DeviceParts> parts(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads,
              [&](std::size_t i) { parts[i] = TimeParts(run, run.devices[i]); });
  return parts;
}

// Returns "rank 3", or "rank 3, GPU 1" where a rank has several devices.
std::string DeviceLabel(const RunView& run, std::size_t device) {
  const DeviceView& view = run.devices[device];
  const auto of_rank = std::ranges::count(run.devices, view.rank_index, &DeviceView::rank_index);
  return of_rank == 1 ? fmt::format("rank {}", view.rank)
                      : fmt::format("rank {}, GPU {}", view.rank, view.device);
}

std::vector<RankTime> RankTimes(const RunView& run, const std::vector<DeviceParts>& parts) {
  std::vector<RankTime> times;
  for (std::size_t device = 0; device < run.devices.size(); ++device) {
    const std::int64_t window_ns = run.devices[device].total.window_ns;
    if (window_ns == 0) {
      continue;
    }
    RankTime& time = times.emplace_back(RankTime{.label = DeviceLabel(run, device), .part_ns = {}});
    std::int64_t busy_ns = 0;
    for (std::size_t part = 0; part < parts[device].size(); ++part) {
      time.part_ns[part] = parts[device][part].time.length_ns();
      busy_ns += time.part_ns[part];
    }
    time.part_ns.back() = window_ns - busy_ns;
  }
  return times;
}

// Returns the first selected step that the first device has, on all devices that have it.
std::optional<StepTimeline> FirstStep(const RunView& run, const std::vector<DeviceParts>& parts) {
  const auto first = std::ranges::find_if(
      run.devices, [](const DeviceView& device) { return !device.windows.empty(); });
  if (first == run.devices.end()) {
    return std::nullopt;
  }
  const analyze::Window& chosen = first->windows.front();
  const Interval span = SpanOfStep(run, chosen.number);
  StepTimeline timeline{
      .step = chosen.step == kNoRow ? "The whole recording" : fmt::format("Step {}", chosen.number),
      .length_ns = span.length_ns()};
  for (std::size_t device = 0; device < run.devices.size(); ++device) {
    if (const analyze::Window* const window = WindowOfStep(run.devices[device], chosen.number)) {
      timeline.rows.push_back({.label = DeviceLabel(run, device),
                               .slices = SlicesWithin(parts[device], window->time, span.begin_ns)});
    }
  }
  return timeline;
}

std::string DeviceNames(const RunView& run) {
  std::set<std::string_view> names;
  for (const trace::Trace& trace : run.set->ranks) {
    for (const StringId name : trace.devices.name) {
      names.insert(trace.Text(name));
    }
  }
  names.erase("");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string Formats(const RunView& run) {
  std::set<std::string_view> formats;
  for (const trace::Trace& trace : run.set->ranks) {
    formats.insert(trace.info.format);
  }
  formats.erase("");
  return fmt::format("{}", fmt::join(formats, ", "));
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

std::vector<Document::Fact> Facts(const RunView& run) {
  const std::string num_ranks = draw::FormatCount(static_cast<std::int64_t>(run.set->ranks.size()));
  std::vector<Document::Fact> facts;
  for (auto& [label, value] : std::initializer_list<std::pair<const char*, std::string>>{
           {"ranks", num_ranks},
           {"device", DeviceNames(run)},
           {"model", std::string(analyze::CardText(*run.set, "model_family").value_or(""))},
           {"selected", StepsText(run)},
           {"format", Formats(run)},
           {"collectives matched", MatchText(run)},
           {"clocks", ClockText(run)}}) {
    if (!value.empty()) {
      facts.push_back({.label = label, .value = value, .is_minor = true});
    }
  }
  return facts;
}

std::vector<CommunicationTime> CommunicationTimes(const RunView& run) {
  std::vector<CommunicationTime> times;
  bool has_any = false;
  for (std::size_t i = 0; i < run.devices.size(); ++i) {
    const DeviceView& device = run.devices[i];
    const auto per_step = [&](std::int64_t sum_ns) {
      return static_cast<double>(sum_ns) / static_cast<double>(device.windows.size());
    };
    if (!device.windows.empty()) {
      times.push_back({.label = DeviceLabel(run, i),
                       .time_ns = per_step(device.total.communication_ns),
                       .hidden_ns = per_step(device.total.hidden_communication_ns())});
      has_any = has_any || device.total.communication_ns > 0;
    }
  }
  return has_any ? times : std::vector<CommunicationTime>();
}

std::string GpuOfAll(const RunView& run) {
  const hardware::Gpu* const gpu = analyze::ChipOf(run);
  const bool is_same = gpu != nullptr && std::ranges::all_of(run.set->ranks, [&](const auto& rank) {
                         const hardware::Gpu* const own = hardware::FindGpu(DeviceName(rank));
                         return own == nullptr || own == gpu;
                       });
  return is_same ? gpu->name : "";
}

Document::Fact ShareFigure(const RunReport& report, std::string label, Part part,
                           std::string note) {
  const auto index = static_cast<std::size_t>(part);
  return {.label = std::move(label),
          .value = fmt::format("{:.1f} %", 100 * MeanShares(report)[index]),
          .note = std::move(note),
          .series = PartSeries()[index]};
}

// Fields that identify a run, each with its definition.
std::vector<Document::Fact> Head(const RunReport& report) {
  std::vector<Document::Fact> head;
  const auto add = [&](std::string_view name, double ns, std::string_view definition) {
    head.push_back({.label = std::string(name),
                    .value = draw::FormatDuration({std::llround(ns)}),
                    .note = std::string(definition)});
  };
  if (report.time) {
    add(report.time->name, report.time->seconds * 1e9, report.time->definition);
  }
  if (!report.communication.empty()) {
    add("exposed communication", ExposedNs(report), analyze::kExposedCommunication);
  }
  return head;
}

// Shares are of the time on the GPU.
std::vector<Document::Fact> Figures(const RunReport& report) {
  if (report.rank_times.empty()) {
    return {};
  }
  return {ShareFigure(report, "Compute", Part::kCompute, "some compute kernel runs"),
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

}  // namespace

std::vector<std::string> NotesOf(const RunView& run) {
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
  // The same problem of several ranks is one note.
  trace::ProblemLog of_ranks;
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    of_ranks.Merge(run.set->ranks[place].problems,
                   fmt::format("rank {}", trace::RankOf(*run.set, place)));
  }
  AddNotes(of_ranks, notes);
  return notes;
}

RunReport CollectReport(const RunView& run, std::string title, std::vector<MetricRow> metrics) {
  const std::vector<DeviceParts> parts = PartsOfDevices(run);
  RunReport report{.title = std::move(title)};
  report.time = analyze::MeasureRunTime(run);
  report.facts = Facts(run);
  report.steps = StepsText(run);
  report.has_steps = std::ranges::any_of(run.devices, [](const DeviceView& device) {
    return !device.windows.empty() && device.windows.front().step != kNoRow;
  });
  report.rank_times = RankTimes(run, parts);
  report.communication = CommunicationTimes(run);
  report.head = Head(report);
  report.kernels = KernelRows(run);
  report.gpu = GpuOfAll(run);
  report.timeline = FirstStep(run, parts);
  report.collectives = CollectivePoints(run);
  report.roofs = Roofs(run);
  report.critical_path = RecordedPath(run);
  report.arrivals = ArrivalTable(run);
  report.stragglers = Stragglers(run);
  if (const auto& cost = analyze::StragglersOf(run)) {
    report.straggler_cost = *cost;
  }
  report.gains = GainsOf(run);
  report.data_loading = analyze::DataLoadingOf(run);
  report.copies = analyze::FindExposedCopies(run);
  report.metrics = std::move(metrics);
  report.notes = NotesOf(run);
  report.figures = Figures(report);
  report.findings = FindingsOf(report);
  return report;
}

}  // namespace orrery::report
