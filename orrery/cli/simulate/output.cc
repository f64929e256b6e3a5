#include "orrery/cli/simulate/output.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/draw/json_writer.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/simulate/share_names.h"
#include "orrery/workload/job/job_facts.h"

namespace orrery::cli {
namespace {

using draw::JsonWriter;
using draw::TextTable;
using simulate::DimensionTotal;
using simulate::StageSummary;
using simulate::StepSummary;
using simulate::TimeShare;

constexpr double kTera = 1e12;
constexpr std::size_t kMostParts = 4;  // of memory, in one line

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

std::string Time(std::int64_t ps) {
  return draw::FormatDuration({ps / 1000});
}

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

std::string Share(std::int64_t ps, std::int64_t step_ps) {
  return step_ps == 0 ? ""
                      : fmt::format("{:.1f} %",
                                    100 * static_cast<double>(ps) / static_cast<double>(step_ps));
}

std::string PartsText(const simulate::StageMemory& memory) {
  std::string text;
  for (std::size_t i = 0; i < memory.parts.size() && i < kMostParts; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", memory.parts[i].category,
                        Size(memory.parts[i].bytes));
  }
  return text;
}

// "OUT OF MEMORY: …" where it is; nothing else.
std::string OutOfMemoryText(const StepSummary& summary) {
  if (!summary.IsOutOfMemory()) {
    return "";
  }
  const StageSummary& stage = *summary.Fullest();
  return fmt::format(
      "OUT OF MEMORY: {} needs {}, {} has {} for it{}.\nThe times below are those of "
      "the same job on GPUs with enough memory.\n",
      stage.name, Size(stage.memory.needed_bytes), stage.gpu.empty() ? "a GPU" : "its " + stage.gpu,
      Size(*summary.memory_size_bytes),
      stage.memory.parts.empty() ? "" : "; largest: " + PartsText(stage.memory));
}

std::string Count(double value) {
  return draw::FormatCount(static_cast<std::int64_t>(value));
}

std::string ThroughputText(const simulate::JobFigures& figures, std::uint32_t ranks) {
  return figures.tokens_per_s
             ? fmt::format("  throughput   {} tokens/s, {} a GPU\n", Count(*figures.tokens_per_s),
                           Count(*figures.tokens_per_s / ranks))
             : fmt::format("  throughput   {} samples/s\n", Count(figures.samples_per_s));
}

std::string UtilisationText(const simulate::JobFigures& figures) {
  if (!figures.model) {
    return "";
  }
  return fmt::format(
      "  utilisation  MFU {:.1f} %, {:.0f} TFLOP/s a GPU{}\n", 100 * figures.model->share,
      figures.model->flops_per_s_of_gpu / kTera,
      figures.hardware ? fmt::format(", HFU {:.1f} %", 100 * figures.hardware->share) : "");
}

std::string FiguresText(const StepSummary& summary) {
  std::string text = fmt::format("  step         {:.4g} s\n", Seconds(summary.step_ps));
  if (summary.figures) {
    text += ThroughputText(*summary.figures, summary.ranks) + UtilisationText(*summary.figures);
  }
  return text;
}

std::string WhatIfText(const std::vector<std::string>& phrases) {
  return phrases.empty() ? "" : fmt::format("  what if      {}\n", fmt::join(phrases, ", "));
}

std::string MemoryLine(const StepSummary& summary) {
  const StageSummary* const fullest = summary.Fullest();
  if (fullest == nullptr) {
    return "";
  }
  const std::string of =
      summary.memory_size_bytes ? fmt::format(" of {}", Size(*summary.memory_size_bytes)) : "";
  if (summary.is_memory_recorded) {
    return fmt::format("  memory       {}{} at the peak, recorded with rank {}\n",
                       Size(fullest->memory.needed_bytes), of, fullest->rank);
  }
  return fmt::format("  memory       {}{} at the peak, of {} after {}\n",
                     Size(fullest->memory.needed_bytes), of, fullest->name,
                     Time(fullest->memory.peak_ps));
}

std::string BreakdownText(const StepSummary& summary) {
  TextTable table({{"where the step goes"},
                   {"time", TextTable::Align::kRight},
                   {"share", TextTable::Align::kRight}});
  for (const TimeShare& share : simulate::LargestFirst(summary.breakdown)) {
    table.AddRow({simulate::ShareText(share), Time(share.ps), Share(share.ps, summary.step_ps)});
  }
  table.AddRow({"step", Time(summary.step_ps), Share(summary.step_ps, summary.step_ps)});
  return fmt::format("Rank {}, the slowest:\n\n", summary.slowest_rank) + table.Render();
}

std::string DimensionsText(const StepSummary& summary) {
  if (summary.dimensions.empty()) {
    return "";
  }
  TextTable table({{"communication"},
                   {"calls", TextTable::Align::kRight},
                   {"bytes", TextTable::Align::kRight},
                   {"moving", TextTable::Align::kRight},
                   {"waiting", TextTable::Align::kRight},
                   {"exposed", TextTable::Align::kRight}});
  for (const DimensionTotal& total : summary.dimensions) {
    table.AddRow({total.dimension, draw::FormatCount(total.calls), draw::FormatBytes({total.bytes}),
                  Time(total.transfer_ps), Time(total.wait_ps), Time(total.exposed_ps)});
  }
  return "\n" + table.Render();
}

std::string StagesText(const StepSummary& summary) {
  if (summary.Fullest() == nullptr || summary.is_memory_recorded) {
    return "";
  }
  TextTable table({{"memory of"},
                   {"rank", TextTable::Align::kRight},
                   {"peak", TextTable::Align::kRight},
                   {"after", TextTable::Align::kRight},
                   {"largest parts"}});
  for (const StageSummary& stage : summary.stages) {
    table.AddRow({stage.Label(), std::to_string(stage.rank), Size(stage.memory.needed_bytes),
                  Time(stage.memory.peak_ps), PartsText(stage.memory)});
  }
  return "\n" + table.Render();
}

std::string ListText(std::string_view title, const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) {
    text += fmt::format("  - {}\n", sentence);
  }
  return text.empty() ? "" : fmt::format("\n{}:\n{}", title, text);
}

std::string DefinitionsText(const StepSummary& summary) {
  if (!summary.figures || !summary.figures->model) {
    return "";
  }
  const simulate::JobFigures& figures = *summary.figures;
  return fmt::format(
      "\nMFU: {}.\n{}", figures.model->definition,
      figures.hardware ? fmt::format("HFU: {}.\n", figures.hardware->definition) : "");
}

void WriteBreakdown(const simulate::Breakdown& breakdown, JsonWriter& json) {
  json.BeginObject();
  for (const TimeShare& share : breakdown.shares) {
    json.Key(simulate::ShareKey(share)).Number(Seconds(share.ps));
  }
  json.EndObject();
}

void WriteReplayed(const std::vector<ReplayedRank>& replayed, JsonWriter& json) {
  if (replayed.empty()) {
    return;
  }
  json.Key("replayed_ranks").BeginArray();
  for (const ReplayedRank& rank : replayed) {
    json.BeginObject();
    json.Key("rank").Unsigned(rank.rank);
    json.Key("measured_step_s").Number(rank.step_ms * 1e-3);
    json.Key("profiler_cost_us").Number(rank.profiler_cost_us);
    json.Key("profiler_cost_from").String(rank.cost_source);
    json.EndObject();
  }
  json.EndArray();
}

void WriteShare(std::string_view key, const std::optional<simulate::Utilisation>& utilisation,
                JsonWriter& json) {
  json.Key(key);
  utilisation ? json.Number(utilisation->share) : json.Null();
}

void WriteUtilisation(std::string_view key, const std::optional<simulate::Utilisation>& utilisation,
                      JsonWriter& json) {
  if (!utilisation) {
    return;
  }
  json.Key(key).BeginObject();
  json.Key("flops").Number(utilisation->flops);
  json.Key("share").Number(utilisation->share);
  json.Key("tflops_per_s_a_gpu").Number(utilisation->flops_per_s_of_gpu / kTera);
  json.Key("definition").String(utilisation->definition);
  json.EndObject();
}

void WriteFigures(const std::optional<simulate::JobFigures>& known, JsonWriter& json) {
  const simulate::JobFigures figures = known.value_or(simulate::JobFigures{});
  json.Key("tokens_per_s");
  figures.tokens_per_s ? json.Number(*figures.tokens_per_s) : json.Null();
  json.Key("samples_per_s");
  known ? json.Number(figures.samples_per_s) : json.Null();
  WriteShare("mfu", figures.model, json);
  WriteShare("hfu", figures.hardware, json);
  WriteUtilisation("model_flops", figures.model, json);
  WriteUtilisation("hardware_flops", figures.hardware, json);
}

void WriteStage(const StageSummary& stage, JsonWriter& json) {
  json.BeginObject();
  json.Key("name").String(stage.name);
  json.Key("stage");
  stage.stage ? json.Unsigned(*stage.stage) : json.Null();
  json.Key("rank").Unsigned(stage.rank);
  json.Key("ranks").Unsigned(stage.ranks);
  if (stage.stage) {
    json.Key("busy_s").Number(Seconds(stage.busy_ps));
  }
  if (!stage.gpu.empty()) {
    json.Key("gpu").String(stage.gpu);
    json.Key("memory_usable_bytes").Integer(stage.memory.usable_bytes);
  }
  json.Key("memory_peak_bytes").Integer(stage.memory.peak_bytes);
  json.Key("memory_needed_bytes").Integer(stage.memory.needed_bytes);
  json.Key("memory_peak_at_s").Number(Seconds(stage.memory.peak_ps));
  json.Key("memory_parts").BeginObject();
  for (const simulate::MemoryPart& part : stage.memory.parts) {
    json.Key(part.category).Integer(part.bytes);
  }
  json.EndObject();
  json.EndObject();
}

void WriteMemory(const StepSummary& summary, JsonWriter& json) {
  const StageSummary* const fullest = summary.Fullest();
  json.Key("memory_peak_bytes");
  fullest == nullptr ? json.Null() : json.Integer(fullest->memory.peak_bytes);
  json.Key("memory_needed_bytes");
  fullest == nullptr ? json.Null() : json.Integer(fullest->memory.needed_bytes);
  json.Key("memory_usable_bytes");
  summary.memory_size_bytes ? json.Integer(*summary.memory_size_bytes) : json.Null();
  json.Key("out_of_memory").Bool(summary.IsOutOfMemory());
}

void WriteDimensions(const StepSummary& summary, JsonWriter& json) {
  json.Key("communication").BeginArray();
  for (const DimensionTotal& total : summary.dimensions) {
    json.BeginObject();
    json.Key("dimension").String(total.dimension);
    json.Key("calls").Integer(total.calls);
    json.Key("bytes").Integer(total.bytes);
    json.Key("transfer_s").Number(Seconds(total.transfer_ps));
    json.Key("wait_s").Number(Seconds(total.wait_ps));
    json.Key("exposed_s").Number(Seconds(total.exposed_ps));
    json.EndObject();
  }
  json.EndArray();
}

void WriteHeldUp(const simulate::DelayTotals& totals, JsonWriter& json) {
  json.Key("held_up").BeginObject();
  json.Key("kernels").Integer(totals.kernels);
  json.Key("kernels_alone_s").Number(Seconds(totals.kernels_alone_ps));
  json.Key("kernels_s").Number(Seconds(totals.kernels_ps));
  json.Key("transfers").Integer(totals.transfers);
  json.Key("transfers_alone_s").Number(Seconds(totals.transfers_alone_ps));
  json.Key("transfers_s").Number(Seconds(totals.transfers_ps));
  json.Key("delayed_s").Number(Seconds(totals.delayed_ps));
  json.EndObject();
}

void WriteTexts(std::string_view key, const std::vector<std::string>& texts, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) {
    json.String(text);
  }
  json.EndArray();
}

// Sections become objects, settings texts.
void WriteJob(const SimulationAnswer& answer, JsonWriter& json) {
  json.Key("job").BeginObject().Key("title").String(answer.title);
  std::string section;
  if (answer.job != nullptr) {
    for (const workload::JobFact& fact : workload::JobFacts(*answer.job)) {
      if (fact.section != section) {
        section.empty() ? json : json.EndObject();
        json.Key(fact.section).BeginObject();
        section = fact.section;
      }
      json.Key(fact.name).String(fact.value);
    }
  }
  section.empty() ? json : json.EndObject();
  json.EndObject();
}

}  // namespace

std::string SimulationText(const SimulationAnswer& answer) {
  const StepSummary& summary = answer.summary;
  return answer.title + "\n" + OutOfMemoryText(summary) + FiguresText(summary) +
         MemoryLine(summary) + WhatIfText(answer.what_ifs) +
         fmt::format("  bottleneck   {}\n\n", answer.bottleneck) + BreakdownText(summary) +
         DimensionsText(summary) + StagesText(summary) + DefinitionsText(summary) +
         ListText("Remarks", answer.remarks) + ListText("Not modelled", answer.not_modelled) +
         fmt::format("\n{} events of {} rank class{} ({} ranks) in {:.2f} s\n",
                     draw::FormatCount(summary.events), draw::FormatCount(summary.rank_classes),
                     summary.rank_classes == 1 ? "" : "es", draw::FormatCount(summary.ranks),
                     answer.wall_s);
}

std::string SimulationJson(const SimulationAnswer& answer) {
  const StepSummary& summary = answer.summary;
  JsonWriter json;
  json.BeginObject();
  json.Key("step_time_s").Number(Seconds(summary.step_ps));
  WriteFigures(summary.figures, json);
  WriteMemory(summary, json);
  json.Key("breakdown_s");
  WriteBreakdown(summary.breakdown, json);
  json.Key("breakdown_rank").Unsigned(summary.slowest_rank);
  json.Key("exposed_communication_s").Number(Seconds(answer.exposed_ps));
  WriteDimensions(summary, json);
  WriteHeldUp(summary.delayed, json);
  json.Key("stages").BeginArray();
  for (const StageSummary& stage : summary.stages) {
    WriteStage(stage, json);
  }
  json.EndArray();
  json.Key("bottleneck").String(answer.bottleneck);
  WriteReplayed(answer.replayed, json);
  WriteTexts("what_ifs", answer.what_ifs, json);
  WriteTexts("remarks", answer.remarks, json);
  WriteTexts("not_modelled", answer.not_modelled, json);
  json.Key("ranks").Unsigned(summary.ranks);
  json.Key("rank_classes").Unsigned(summary.rank_classes);
  json.Key("events").Integer(summary.events);
  json.Key("wall_s").Number(answer.wall_s);
  WriteJob(answer, json);
  json.EndObject();
  return json.Finish();
}

}  // namespace orrery::cli
