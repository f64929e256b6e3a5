#include "orrery/report/document.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"
#include "orrery/api/diff/page.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/kernel_name.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::api {
namespace {

constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kMaxNameWidth = 44;
constexpr std::size_t kMaxBars = 10;
constexpr double kMarkersDiffer = 0.05;  // of the step

std::string DurationText(double ns) {
  return draw::FormatDuration({std::llround(ns)});
}

// Returns "+12.3 ms" or "-12.3 ms".
std::string SignedTimeText(double ns) {
  const std::string text = DurationText(ns);
  return std::llround(ns) > 0 ? "+" + text : text;
}

/// Times of both runs, measured alike: their step times, else their recorded spans.
struct StepTimes {
  double before_ns = 0;
  double after_ns = 0;
  std::string_view name;
  std::string_view per;

  [[nodiscard]] double DifferenceNs() const { return after_ns - before_ns; }
};

StepTimes TimesOf(const RunDiff& diff) {
  const StepParts& before = diff.step_before;
  const StepParts& after = diff.step_after;
  if (before.step_ns && after.step_ns) {
    return {*before.step_ns, *after.step_ns, "Step time", "per step"};
  }
  return {before.span_ns, after.span_ns, "Recorded span", "in all"};
}

// The change in the given direction: positive when it is part of the cause.
double Along(double difference_ns, double direction) {
  return direction < 0 ? -difference_ns : difference_ns;
}

const StepPart& LargestPart(const RunDiff& diff, double direction) {
  const auto share = [&](const StepPart& part) {
    return Along(diff.step_after.*part.member - diff.step_before.*part.member, direction);
  };
  // The last part is the sum of the others.
  return *std::ranges::max_element(std::span(kStepParts).first(kStepParts.size() - 1), {}, share);
}

bool IsComputeKernel(const CostChange& change) {
  return change.kernel_class != trace::KernelClassName(trace::KernelClass::kCommunication);
}

// The largest change of a list (they are in order) in the same direction.
template <typename Test>
std::string LargestIn(const std::vector<CostChange>& changes, double direction, Test&& belongs) {
  for (const CostChange& change : changes) {
    if (belongs(change) && Along(change.DifferenceNs(), direction) > 0) {
      return fmt::format(", there in {} ({})",
                         report::FittedName(report::ShortKernelName(change.name), kMaxNameWidth),
                         SignedTimeText(change.DifferenceNs()));
    }
  }
  return "";
}

std::string CauseText(const RunDiff& diff, double direction) {
  const StepPart& part = LargestPart(diff, direction);
  const double part_ns = diff.step_after.*part.member - diff.step_before.*part.member;
  const double all_ns = diff.step_after.window_ns - diff.step_before.window_ns;
  if (Along(part_ns, direction) <= 0) {
    return "";
  }
  const bool is_most = Along(all_ns, direction) > 0 && std::abs(part_ns) * 2 >= std::abs(all_ns);
  std::string text = fmt::format("{} {} ({})", is_most ? "Most of it in" : "The largest part is",
                                 part.label, SignedTimeText(part_ns));
  if (part.member == &StepParts::compute_ns) {
    text += LargestIn(diff.kernels, direction, IsComputeKernel);
  } else if (part.member == &StepParts::exposed_communication_ns) {
    text += LargestIn(diff.collectives, direction, [](const CostChange&) { return true; });
  }
  return text + ".";
}

// Markers are of the CPU: where work on the GPU does not follow them, both are said.
std::string DeviceText(const RunDiff& diff, const StepTimes& times) {
  const double before_ns = diff.step_before.window_ns;
  const double after_ns = diff.step_after.window_ns;
  const double otherwise_ns = after_ns - before_ns - times.DifferenceNs();
  return std::abs(otherwise_ns) <= kMarkersDiffer * times.before_ns
             ? ""
             : fmt::format("The work of a step on a GPU spans {} → {}.", DurationText(before_ns),
                           DurationText(after_ns));
}

// The result of a comparison in a sentence or two: "B is 3.2 % slower than A: 607 ms → 626 ms per
// step." "Most of it in compute (+15.0 ms), there in sgemm (+12.0 ms)."
void AddHeadline(const RunDiff& diff, Document::Section& section) {
  const StepTimes times = TimesOf(diff);
  if (times.before_ns <= 0 || times.after_ns <= 0) {
    section.Say("The time of a step is not known in both runs.", Document::Text::Style::kVerdict);
    return;
  }
  const double percent = 100 * times.DifferenceNs() / times.before_ns;
  const bool is_same = std::abs(percent) < 0.05;
  section.Say(
      is_same ? fmt::format("B is as fast as A: {} {}.", DurationText(times.before_ns), times.per)
              : fmt::format("B is {:.1f} % {} than A: {} → {} {}.", std::abs(percent),
                            percent > 0 ? "slower" : "faster", DurationText(times.before_ns),
                            DurationText(times.after_ns), times.per),
      Document::Text::Style::kVerdict);
  for (std::string line : {is_same ? "" : CauseText(diff, percent), DeviceText(diff, times)}) {
    if (!line.empty()) {
      section.Say(std::move(line));
    }
  }
}

std::string RunText(const StepParts& parts) {
  return fmt::format("{} rank{}, {}", parts.num_ranks, parts.num_ranks == 1 ? "" : "s",
                     parts.num_steps == 0 ? "no step markers"
                                          : fmt::format("{} step{}", parts.num_steps,
                                                        parts.num_steps == 1 ? "" : "s"));
}

std::string PercentText(double before, double after) {
  if (before == after) {
    return "0.0 %";
  }
  return before == 0 ? "–" : fmt::format("{:+.1f} %", 100 * (after - before) / std::abs(before));
}

Document::Column NumberColumn(std::string header) {
  return {"", std::move(header), Unit::kNumber};
}

Document::Table StepTable(const StepParts& before, const StepParts& after) {
  Document::Table table{.columns = {AsText(""), NumberColumn("A"), NumberColumn("B"),
                                    NumberColumn("difference"), NumberColumn("change")}};
  const auto add = [&](std::string_view label, double first, double second) {
    table.rows.push_back({label, DurationText(first), DurationText(second),
                          SignedTimeText(second - first), PercentText(first, second)});
  };
  for (const StepPart& part : kStepParts) {
    add(part.label, before.*part.member, after.*part.member);
  }
  if (before.step_ns && after.step_ns) {
    add("step time", *before.step_ns, *after.step_ns);
  } else {
    add("recorded span", before.span_ns, after.span_ns);
  }
  return table;
}

std::string MetricValue(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "n/a";
}

Document::Table MetricTable(const std::vector<MetricChange>& changes) {
  Document::Table table{.columns = {AsText("metric"), AsText("unit"), NumberColumn("A"),
                                    NumberColumn("B"), NumberColumn("change"), AsText("verdict")},
                        .max_shown = SIZE_MAX};
  for (const MetricChange& change : changes) {
    if (change.better == analyze::Better::kLowerTime && change.IsEvaluated()) {
      table.caption = "The verdict on a share of the step is that on its time.";
    }
    if (change.before || change.after) {
      const bool has_both = change.before && change.after;
      table.rows.push_back({change.name, change.unit, MetricValue(change.before),
                            MetricValue(change.after),
                            has_both ? PercentText(*change.before, *change.after) : "–",
                            VerdictName(change.GetVerdict())});
    }
  }
  return table;
}

std::vector<Document::Column> CostColumns(const std::vector<CostField>& fields) {
  std::vector<Document::Column> columns{AsText("", "name", 0)};
  for (const char* const header : {"count A", "count B", "time A", "time B", "difference"}) {
    columns.push_back(NumberColumn(header));
  }
  for (const CostField& field : fields) {
    columns.push_back(NumberColumn(std::string(field.title)));
  }
  return columns;
}

std::string SignedBytesText(double bytes) {
  const std::string text = draw::FormatBytes({std::llround(bytes)});
  return bytes > 0 ? "+" + text : text;
}

std::vector<Value> CostCells(std::string name, const CostChange& change,
                             const std::vector<CostField>& fields) {
  const auto& before = change.before;
  const auto& after = change.after;
  std::vector<Value> cells{std::move(name),
                           before.count,
                           after.count,
                           DurationText(before.device_ns),
                           DurationText(after.device_ns),
                           SignedTimeText(after.device_ns - before.device_ns)};
  for (const CostField& field : fields) {
    const double difference = after.*field.member - before.*field.member;
    cells.emplace_back(field.key == "bytes" ? SignedBytesText(difference)
                                            : SignedTimeText(difference));
  }
  return cells;
}

// Names for people: those of kernels without what they have in common.
std::vector<std::string> LabelsOf(const std::vector<const CostChange*>& changes,
                                  const Section& section) {
  std::vector<std::string_view> names;
  for (const CostChange* const change : changes) {
    names.push_back(change->name == "set" ? "memset" : std::string_view(change->name));
  }
  return section.member == &RunDiff::kernels ? report::ShortKernelNames(names)
                                             : std::vector<std::string>(names.begin(), names.end());
}

Document::Picture DifferenceBars(const std::vector<const CostChange*>& changes,
                                 const std::vector<std::string>& labels) {
  const draw::Series slower{.name = "takes longer in B", .style = "transfer"};
  const draw::Series faster{.name = "takes less time in B", .style = "memory"};
  draw::RankedBars chart{.series = slower,
                         .quantity = draw::Quantity::kNanoseconds,
                         .description = "The largest differences of time"};
  for (std::size_t i = 0; i < std::min(changes.size(), kMaxBars); ++i) {
    const CostChange& change = *changes[i];
    const double difference_ns = change.after.device_ns - change.before.device_ns;
    if (difference_ns != 0) {
      chart.bars.push_back(
          {.label = labels[i],
           .value = std::abs(difference_ns),
           .note = SignedTimeText(difference_ns),
           .tip = fmt::format("{}\n{} → {}", change.name, DurationText(change.before.device_ns),
                              DurationText(change.after.device_ns)),
           .style = difference_ns < 0 ? faster.style : ""});
    }
  }
  return {.svg = draw::RenderRankedBars(chart),
          .caption = "Difference of the time on the GPU, mean per step and GPU.",
          .legend = {slower, faster}};
}

void AddCosts(const std::vector<CostChange>& all, const Section& about, Document& document) {
  if (all.empty()) {
    return;
  }
  std::vector<const CostChange*> changes;
  for (const CostChange& change : all) {
    if (change.change != Change::kUnchanged) {
      changes.push_back(&change);
    }
  }
  Document::Section& section = document.AddSection(std::string(about.title));
  if (changes.empty()) {
    section.Say(fmt::format("No change ({} name{}).",
                            draw::FormatCount(static_cast<std::int64_t>(all.size())),
                            all.size() == 1 ? "" : "s"));
    return;
  }
  const std::vector<std::string> labels = LabelsOf(changes, about);
  Document::Picture bars = DifferenceBars(changes, labels);
  if (!bars.svg.empty()) {
    section.Add(std::move(bars));
  }
  std::vector<CostField> fields;  // that changed anywhere
  std::ranges::copy_if(about.fields, std::back_inserter(fields), [&](const CostField& field) {
    return std::ranges::any_of(changes, [&](const CostChange* change) {
      return change->before.*field.member != change->after.*field.member;
    });
  });
  Document::Table table{.columns = CostColumns(fields), .max_shown = kMaxRows};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    table.rows.push_back(
        CostCells(report::FittedName(labels[i], kMaxNameWidth), *changes[i], fields));
  }
  section.Add(std::move(table));
}

Document::Table MemoryTable(const std::vector<MemoryChange>& changes) {
  const auto bytes_text = [](std::optional<std::int64_t> bytes) {
    return bytes ? draw::FormatBytes({*bytes}) : std::string("n/a");
  };
  Document::Table table{
      .columns = {AsText(""), NumberColumn("A"), NumberColumn("B"), NumberColumn("change")},
      .max_shown = SIZE_MAX};
  for (const MemoryChange& change : changes) {
    const bool has_both = change.before_bytes && change.after_bytes;
    table.rows.push_back({change.name, bytes_text(change.before_bytes),
                          bytes_text(change.after_bytes),
                          has_both ? PercentText(static_cast<double>(*change.before_bytes),
                                                 static_cast<double>(*change.after_bytes))
                                   : "–"});
  }
  return table;
}

draw::StackedBar BarOf(std::string label, const StepParts& parts) {
  return {.label = std::move(label),
          .values = {parts.compute_ns, parts.exposed_communication_ns, parts.exposed_memory_ns,
                     parts.idle_ns},
          .note = DurationText(parts.window_ns)};
}

Document::Picture StepBars(const RunDiff& diff) {
  const draw::StackedBars chart{.series = {{"compute", "compute"},
                                           {"exposed communication", "transfer"},
                                           {"memcpy alone", "memory"},
                                           {"idle", "idle"}},
                                .bars = {BarOf("A", diff.step_before), BarOf("B", diff.step_after)},
                                .quantity = draw::Quantity::kNanoseconds,
                                .description = "Where the time of a step goes in both runs"};
  return {.svg = draw::RenderStackedBars(chart),
          .caption = "Time on the GPU, mean per step and GPU.",
          .legend = chart.series};
}

void AddTiles(const RunDiff& diff, Document& document) {
  const StepTimes times = TimesOf(diff);
  Document::Section& tiles = document.AddSection();
  tiles.shown = report::Shown::kInHtml;
  tiles.Show(fmt::format("{} of A", times.name), DurationText(times.before_ns),
             RunText(diff.step_before));
  tiles.Show(fmt::format("{} of B", times.name), DurationText(times.after_ns),
             RunText(diff.step_after));
  tiles.Show("Difference", SignedTimeText(times.DifferenceNs()),
             PercentText(times.before_ns, times.after_ns));
}

void AddTable(std::string heading, Document::Table table, Document& document) {
  if (!table.rows.empty()) {
    document.AddSection(std::move(heading)).Add(std::move(table));
  }
}

}  // namespace

Document DiffDocument(const DiffPage& page) {
  const RunDiff& diff = page.diff;
  Document document{.title = fmt::format("{} → {}", page.path_before, page.path_after),
                    .kind = "Orrery diff"};
  document.AddSection()
      .Add(Document::Fact{.label = "A:", .value = RunText(diff.step_before), .is_minor = true})
      .Add(Document::Fact{.label = "B:", .value = RunText(diff.step_after), .is_minor = true});
  AddHeadline(diff, document.AddSection());
  if (diff.step_before.window_ns > 0 || diff.step_after.window_ns > 0) {
    AddTiles(diff, document);
    document.AddSection("Time of a step")
        .Add(StepBars(diff))
        .Add(StepTable(diff.step_before, diff.step_after));
  }
  for (const Section& section : kSections) {
    AddCosts(diff.*section.member, section, document);
  }
  AddTable("Peak memory", MemoryTable(diff.memory), document);
  AddTable("Metrics", MetricTable(diff.metrics), document);
  document.sheets.emplace_back("changes", DiffTable(page));
  return document;
}

}  // namespace orrery::api
