#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/step_time.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/simulation_pictures.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/energy.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::api {
namespace {

using simulate::DimensionTotal;
using simulate::StageSummary;
using simulate::StepSummary;
using simulate::TimeKind;
using simulate::TimeShare;

constexpr double kTera = 1e12;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

Value KnownShare(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? Value() : Value(static_cast<double>(part) / static_cast<double>(whole));
}

std::string Count(double value) {
  return draw::FormatCount(static_cast<std::int64_t>(value));
}

void AddThroughput(const StepSummary& summary, Document::Section& section) {
  if (!summary.figures) {
    return;
  }
  const simulate::JobFigures& figures = *summary.figures;
  if (figures.tokens_per_s) {
    section.Show("throughput", Count(*figures.tokens_per_s) + " tokens/s",
                 Count(*figures.tokens_per_s / summary.ranks) + " per GPU");
  } else {
    section.Show("throughput", Count(figures.samples_per_s) + " samples/s");
  }
  if (figures.model) {
    section.Show(
        "utilisation", fmt::format("MFU {:.1f} %", 100 * figures.model->share),
        fmt::format(
            "{:.0f} TFLOP/s per GPU{}", figures.model->flops_per_s_of_gpu / kTera,
            figures.hardware ? fmt::format(", HFU {:.1f} %", 100 * figures.hardware->share) : ""));
  }
}

// Adds the time that ranks lose to each other: to the pipeline where there is one.
void AddLoss(const SimulationAnswer& answer, Document::Section& section) {
  const StepSummary& summary = answer.summary;
  const simulate::Breakdown& breakdown = summary.breakdown;
  const std::string on_slowest = fmt::format("on rank {}, the slowest", summary.slowest_rank);
  if (summary.has_pipeline) {
    const double share = summary.step_ps == 0
                             ? 0
                             : static_cast<double>(breakdown.TotalPs(TimeKind::kBubble)) /
                                   static_cast<double>(summary.step_ps);
    section.Add(Document::Fact{
        .label = "pipeline bubble",
        .value = KnownShare(answer.means.bubble_ps, summary.step_ps),
        .format = Unit::kShare,
        .note = fmt::format("mean over ranks; {:.1f} % {}", 100 * share, on_slowest)});
  }
  if (summary.has_pipeline || !summary.dimensions.empty()) {
    section.Add(Document::Fact{.label = "exposed communication",
                               .value = KnownShare(answer.means.exposed_ps, summary.step_ps),
                               .format = Unit::kShare,
                               .note = std::string(analyze::kExposedCommunication)});
  }
}

// Adds the cost of sharing the network.
void AddNetwork(const SimulationAnswer& answer, Document::Section& section) {
  if (answer.network == simulate::NetworkModel::kAlone) {
    return;
  }
  section.Show("network", std::string(simulate::Name(answer.network)),
               !answer.is_contended ? "no transfer slows another one down"
               : answer.contended_ps == 0
                   ? "transfers that share links slow each other down, but not the step"
                   : fmt::format("transfers that share links add {} ({:.2g} %)",
                                 draw::FormatDuration({answer.contended_ps / 1000}),
                                 100.0 * static_cast<double>(answer.contended_ps) /
                                     static_cast<double>(answer.summary.step_ps)));
}

// Adds the cost of a checkpoint that is written beside the step.
void AddCheckpoint(const SimulationAnswer& answer, Document::Section& section) {
  if (!answer.checkpoint) {
    return;
  }
  const CheckpointAnswer& checkpoint = *answer.checkpoint;
  const std::string cost = checkpoint.added_ps <= 0
                               ? "does not lengthen the step"
                               : fmt::format("adds {} ({:.2g} %) to the step",
                                             draw::FormatDuration({checkpoint.added_ps / 1000}),
                                             100.0 * static_cast<double>(checkpoint.added_ps) /
                                                 static_cast<double>(answer.summary.step_ps));
  section.Show(
      "checkpoint", draw::FormatBytes(checkpoint.written.size),
      checkpoint.written.end_ps <= answer.summary.step_ps
          ? fmt::format("{}; written after {:.4g} s", cost, Seconds(checkpoint.written.end_ps))
          : cost + ", after which it is not written yet");
}

void AddEnergy(const SimulationAnswer& answer, Document::Section& section) {
  if (!answer.energy) {
    return;
  }
  const simulate::StepEnergy& energy = *answer.energy;
  const std::optional<simulate::JobFigures>& figures = answer.summary.figures;
  const double step_s = Seconds(answer.summary.step_ps);
  std::string text;
  if (figures && figures->tokens_per_s) {
    text = fmt::format("{:.3g} J/token", energy.joules / (*figures->tokens_per_s * step_s));
  } else if (figures) {
    text = fmt::format("{:.3g} J/sample", energy.joules / (figures->samples_per_s * step_s));
  }
  section.Show("GPU energy", text,
               fmt::format("{:.0f} W per GPU{}, {} kWh a month", energy.watts_of_gpu,
                           energy.clock < 1 ? fmt::format(" at {:.0f} % of the highest clock",
                                                          100 * energy.clock)
                                            : "",
                           Count(energy.MonthKwh(answer.job->gpus))));
}

void AddHead(const SimulationAnswer& answer, Document& document) {
  const StepSummary& summary = answer.summary;
  Document::Section& section = document.AddSection();
  AddOutOfMemory("", summary, section);
  AddLeftOut("the job", answer.left_out, section);
  const std::string ranks =
      fmt::format("{} rank{}", draw::FormatCount(summary.ranks), summary.ranks == 1 ? "" : "s");
  section.Show("step", fmt::format("{:.4g} s", Seconds(summary.step_ps)),
               answer.interval ? fmt::format("80 % interval {:.3g} to {:.3g} s; {}",
                                             answer.interval->low_s, answer.interval->high_s, ranks)
                               : ranks);
  AddThroughput(summary, section);
  AddMemory(summary, section);
  AddEnergy(answer, section);
  if (answer.is_step_only) {
    return;
  }
  AddLoss(answer, section);
  AddNetwork(answer, section);
  AddCheckpoint(answer, section);
  section.Say(fmt::format("bottleneck: {}", answer.bottleneck), Document::Text::Style::kVerdict);
  if (!answer.interval_note.empty()) {
    section.Say(answer.interval_note);
  }
  section.Add(
      Document::List{"", "Advice, each simulated", simulate::AdviceSentences(answer.advice)});
  if (!answer.what_ifs.empty()) {
    section.Say(fmt::format("what if: {}", fmt::join(answer.what_ifs, ", ")));
  }
}

void AddBreakdown(const SimulationAnswer& answer, const simulate::SimulatedStep* simulated,
                  Document& document) {
  const StepSummary& summary = answer.summary;
  Document::Section& section = document.AddSection(
      fmt::format("Where the time goes: rank {}, the slowest", summary.slowest_rank));
  if (simulated != nullptr) {
    section.Add(report::BreakdownPicture(*simulated, summary));
  }
  Document::Table table{
      .columns = {AsText("part"), AsTime("time"), AsShare("share")},
      .total = {"step", summary.step_ps / 1000, KnownShare(summary.step_ps, summary.step_ps)},
      .max_shown = SIZE_MAX};
  for (const TimeShare& share : summary.breakdown.LargestFirst()) {
    table.rows.push_back(
        {simulate::ShareText(share), share.ps / 1000, KnownShare(share.ps, summary.step_ps)});
  }
  section.Add(std::move(table));
}

void AddDimensions(const StepSummary& summary, Document& document) {
  if (summary.dimensions.empty()) {
    return;
  }
  const bool has_global = std::ranges::find(summary.dimensions, simulate::kAllRanks,
                                            &DimensionTotal::dimension) != summary.dimensions.end();
  Document::Table table{
      .columns = {AsText("dimension"), AsCount("calls"), AsDecimalBytes("bytes"),
                  AsTime("transfer"), AsTime("waiting"), AsTime("exposed"), AsShare("of the step")},
      .caption = fmt::format(
          "Exposed is what no kernel hides on this rank{}.{}",
          summary.has_pipeline ? "; waiting for another stage of the pipeline counts as bubble"
                               : "",
          has_global && summary.figures ? " Global synchronisation is the grad-norm all-reduce."
                                        : "")};
  for (const DimensionTotal& total : summary.dimensions) {
    table.rows.push_back({total.dimension == simulate::kAllRanks ? "global" : total.dimension,
                          total.calls, total.bytes, total.transfer_ps / 1000, total.wait_ps / 1000,
                          total.exposed_ps / 1000, KnownShare(total.exposed_ps, summary.step_ps)});
  }
  document.AddSection(fmt::format("Communication: rank {}", summary.slowest_rank))
      .Add(std::move(table));
}

void AddDefinitions(const StepSummary& summary, Document& document) {
  if (!summary.figures || !summary.figures->model) {
    return;
  }
  Document::Section& section = document.AddSection();
  section.Say(fmt::format("MFU: {}.", summary.figures->model->definition));
  if (summary.figures->hardware) {
    section.Say(fmt::format("HFU: {}.", summary.figures->hardware->definition));
  }
}

void AddSettings(const SimulationAnswer& answer, Document& document) {
  if (answer.job == nullptr) {
    return;
  }
  Document::Table table{.columns = {AsText("of"), AsText("setting"), AsText("", "value", 0)},
                        .max_shown = SIZE_MAX};
  for (const workload::JobFact& fact : workload::JobFacts(*answer.job)) {
    table.rows.push_back({fact.section, fact.name, fact.value});
  }
  Document::Section& section = document.AddSection("What was simulated");
  section.shown = report::Shown::kInHtml;
  section.Add(std::move(table));
}

}  // namespace

void AddLeftOut(std::string_view of, const std::vector<std::string>& left_out,
                Document::Section& section) {
  if (!left_out.empty()) {
    section.Say(fmt::format("left out of {}: {}", of, fmt::join(left_out, "; ")),
                Document::Text::Style::kAlarm);
  }
}

Document SimulationDocument(const SimulationAnswer& answer,
                            const simulate::SimulatedStep* simulated) {
  const StepSummary& summary = answer.summary;
  if (answer.is_step_only) {
    simulated = nullptr;
  }
  Document document{.title = answer.title, .kind = "Orrery simulated step: " + answer.name};
  AddHead(answer, document);
  if (simulated != nullptr) {
    Document::Section& timeline = document.AddSection("The step over time");
    timeline.shown = report::Shown::kInHtml;
    std::ranges::move(report::TimelinePictures(*simulated, summary),
                      std::back_inserter(timeline.blocks));
  }
  if (!answer.is_step_only) {
    AddBreakdown(answer, simulated, document);
  }
  if (answer.steps) {
    AddSteps(*answer.steps, simulated != nullptr, document);
  }
  AddDimensions(summary, document);
  if (simulated != nullptr && !answer.links.links.empty()) {
    Document::Section& links = document.AddSection("The network over time");
    links.shown = report::Shown::kInHtml;
    links.Add(report::LinkPicture(answer.links, summary.step_ps));
  }
  AddMemorySection(summary, simulated, document);
  AddDefinitions(summary, document);
  AddSettings(answer, document);
  document.AddSection().Add(Document::List{"", "Remarks", answer.remarks});
  document.AddSection().Add(Document::List{"", "Not modelled", answer.not_modelled, true});
  document.AddSection().Say(fmt::format(
      "{} events of {} rank class{} ({} ranks){}", draw::FormatCount(summary.events),
      draw::FormatCount(summary.rank_classes), summary.rank_classes == 1 ? "" : "es",
      draw::FormatCount(summary.ranks),
      answer.classes_alone < summary.rank_classes && answer.classes_alone > 0
          ? fmt::format("; {} where no links are shared", draw::FormatCount(answer.classes_alone))
          : ""));
  return document;
}

}  // namespace orrery::api
