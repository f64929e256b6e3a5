#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/simulation_pictures.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"

namespace orrery::api {
namespace {

using simulate::StageSummary;
using simulate::StepSummary;

constexpr std::size_t kMostParts = 4;  // in one line

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

Value ShareOfGpu(const simulate::StageMemory& memory) {
  return memory.usable_bytes == 0 ? Value()
                                  : Value(static_cast<double>(memory.needed_bytes) /
                                          static_cast<double>(memory.usable_bytes));
}

Document::Table RecordedMemoryTable(const StepSummary& summary) {
  Document::Table table{.columns = {AsText("of"), AsBytes("allocated at the peak"),
                                    AsBytes("reserved at the peak"), AsShare("of the GPU")},
                        .caption =
                            "As recorded when the ranks were traced, not simulated; shares "
                            "are of what a program can use of the GPU."};
  for (const StageSummary& stage : summary.stages) {
    table.rows.push_back({stage.Label(), stage.memory.peak_bytes, stage.memory.needed_bytes,
                          ShareOfGpu(stage.memory)});
  }
  return table;
}

std::string PartsText(const simulate::StageMemory& memory) {
  std::string text;
  for (std::size_t i = 0; i < memory.parts.size() && i < kMostParts; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", memory.parts[i].category,
                        Size(memory.parts[i].bytes));
  }
  return text;
}

// Fragments of the allocator and buffers of libraries vary from run to run by some percent.
std::string NearlyFullText(std::string_view of, const StepSummary& summary) {
  const StageSummary& stage = *summary.Fullest();
  return fmt::format(
      "NEARLY OUT OF MEMORY: {}{} needs {} of {}, {:.1f} %: above {:.0f} % a job may fail, since "
      "fragments of the allocator and buffers of libraries differ from run to run.",
      of, stage.name, Size(stage.memory.needed_bytes), Size(*summary.memory_size_bytes),
      100 * static_cast<double>(stage.memory.needed_bytes) /
          static_cast<double>(*summary.memory_size_bytes),
      100 * simulate::kSafeMemoryShare);
}

}  // namespace

void AddOutOfMemory(std::string_view of, const StepSummary& summary, Document::Section& section) {
  if (summary.IsNearlyOutOfMemory()) {
    section.Say(NearlyFullText(of, summary), Document::Text::Style::kAlarm);
  }
  if (!summary.IsOutOfMemory()) {
    return;
  }
  const StageSummary& stage = *summary.Fullest();
  section.Say(
      fmt::format("OUT OF MEMORY: {}{} needs {}, {} has {} for it{}.\nThe times below are those of "
                  "the same job on GPUs with enough memory.",
                  of, stage.name, Size(stage.memory.needed_bytes),
                  stage.gpu.empty() ? "a GPU" : "its " + stage.gpu,
                  Size(*summary.memory_size_bytes),
                  stage.memory.parts.empty() ? "" : "; largest: " + PartsText(stage.memory)),
      Document::Text::Style::kAlarm);
}

std::vector<Document::Column> MemoryColumns() {
  return {AsText("of"),          AsNumber("rank"), AsBytes("peak"),
          AsShare("of the GPU"), AsTime("after"),  AsText("", "largest parts", 0)};
}

std::vector<Value> MemoryCells(const StageSummary& stage) {
  return {stage.Label(),
          stage.rank,
          stage.memory.needed_bytes,
          ShareOfGpu(stage.memory),
          stage.memory.peak_ps / 1000,
          PartsText(stage.memory)};
}

void AddMemory(const StepSummary& summary, Document::Section& section) {
  const StageSummary* const fullest = summary.Fullest();
  if (fullest == nullptr) {
    return;
  }
  const std::string of =
      summary.memory_size_bytes ? fmt::format("of {} ", Size(*summary.memory_size_bytes)) : "";
  section.Show("memory", Size(fullest->memory.needed_bytes),
               summary.is_memory_recorded
                   ? fmt::format("{}at the peak, recorded with rank {}", of, fullest->rank)
                   : fmt::format("{}at the peak, {} after {}", of, fullest->name,
                                 draw::FormatDuration({fullest->memory.peak_ps / 1000})));
}

void AddMemorySection(const StepSummary& summary, const simulate::SimulatedStep* simulated,
                      Document& document) {
  if (summary.Fullest() == nullptr) {
    return;
  }
  Document::Section& section = document.AddSection("Memory");
  section.tab = "memory";
  if (summary.is_memory_recorded) {
    section.Add(RecordedMemoryTable(summary));
    return;
  }
  if (simulated != nullptr) {
    section.Add(report::MemoryPicture(*simulated, summary));
  }
  Document::Table table{.columns = MemoryColumns(), .max_shown = SIZE_MAX};
  std::ranges::transform(summary.stages, std::back_inserter(table.rows), MemoryCells);
  section.Add(std::move(table));
}

}  // namespace orrery::api
