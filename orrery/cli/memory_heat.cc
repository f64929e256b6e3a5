#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory_tool.h"
#include "orrery/cli/word_option.h"
#include "orrery/draw/chart/heat_map.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/memory/heat.h"
#include "orrery/memory/most_referenced.h"
#include "orrery/memory/object_label.h"

namespace orrery::cli {
namespace {

using memory::AccessHeat;
using memory::HeatBlock;
using memory::HeatCell;
using memory::HeatOptions;
using memory::ObjectHeat;
using report::MemoryPage;
using report::MemoryTable;
using report::MemoryUnit;

constexpr std::size_t kMaxColumns = 400;
constexpr std::size_t kMaxRows = 400;
constexpr std::size_t kNumLevels = 8;
constexpr std::size_t kLabelWidth = 24;  // letters left of the map

std::size_t GroupSize(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, (count + most - 1) / most);
}

std::string LabelOf(const trace::Trace& trace, const HeatBlock& block) {
  const std::string label = memory::ObjectLabel(trace, block.object);
  return block.num_objects > 1 ? fmt::format("{} and {} more", label, block.num_objects - 1)
                               : label;
}

// What neighbours that share a row or column of the picture have in sum.
struct Drawn {
  std::size_t blocks_a_row = 1;
  std::size_t windows_a_column = 1;
  draw::HeatMap map = {};
};

Drawn DrawnOf(const trace::Trace& trace, const AccessHeat& heat) {
  Drawn drawn{.blocks_a_row = GroupSize(heat.blocks.size(), kMaxRows),
              .windows_a_column = GroupSize(heat.num_windows, kMaxColumns)};
  for (std::size_t block = 0; block < heat.blocks.size(); block += drawn.blocks_a_row) {
    drawn.map.row_labels.push_back(
        draw::Truncated(memory::ObjectLabel(trace, heat.blocks[block].object), kLabelWidth));
  }
  for (std::size_t window = 0; window < heat.num_windows; window += drawn.windows_a_column) {
    drawn.map.column_labels.push_back(fmt::format("window {}", window));
  }
  const std::size_t width = drawn.map.column_labels.size();
  drawn.map.values.resize(drawn.map.row_labels.size() * width,
                          std::numeric_limits<double>::quiet_NaN());
  for (const HeatCell& cell : heat.cells) {
    double& value =
        drawn.map
            .values[cell.block / drawn.blocks_a_row * width + cell.window / drawn.windows_a_column];
    value = (std::isnan(value) ? 0 : value) + static_cast<double>(cell.accesses);
  }
  return drawn;
}

std::string CaptionOf(const Drawn& drawn, const HeatOptions& options) {
  return fmt::format(
      "A row: {} of {}, labelled with the object most accessed there; a column: {} "
      "of {} {}; empty blocks are left out",
      drawn.blocks_a_row == 1 ? "a block" : fmt::format("{} blocks", drawn.blocks_a_row),
      draw::FormatBinaryBytes({options.block_bytes}),
      drawn.windows_a_column == 1 ? "a window" : fmt::format("{} windows", drawn.windows_a_column),
      draw::FormatCount(options.window), memory::WindowUnitName(options.unit));
}

report::MemoryPicture PictureOf(const trace::Trace& trace, const AccessHeat& heat,
                                const HeatOptions& options) {
  Drawn drawn = DrawnOf(trace, heat);
  double largest = 1;
  for (const double value : drawn.map.values) {
    largest = std::isnan(value) ? largest : std::max(largest, value);
  }
  drawn.map.levels = draw::LogLevels(largest, kNumLevels, "heat-", draw::Quantity::kNumber);
  drawn.map.column_title = "window";
  drawn.map.description = "Accesses over addresses and time";
  report::MemoryPicture picture{.heading = "Accesses over addresses and time",
                                .svg = draw::RenderHeatMap(drawn.map),
                                .caption = CaptionOf(drawn, options)};
  for (const draw::HeatLevel& level : drawn.map.levels) {
    picture.legend.push_back(level.series);
  }
  return picture;
}

MemoryTable ObjectTable(const trace::Trace& trace, const AccessHeat& heat, std::size_t top) {
  MemoryTable table{.key = "objects",
                    .heading = "objects by accesses",
                    .columns = {{"object", "object", MemoryUnit::kText},
                                {"class", "class", MemoryUnit::kText},
                                {"bytes", "bytes", MemoryUnit::kBytes},
                                {"accesses", "accesses", MemoryUnit::kCount},
                                {"share", "share", MemoryUnit::kShare},
                                {"accesses_per_byte", "a byte", MemoryUnit::kCount},
                                {"launches", "launches", MemoryUnit::kCount}},
                    .max_shown = top};
  const trace::MemoryObjects& objects = trace.memory_objects;
  for (const ObjectHeat& one : heat.objects) {
    const bool is_known = one.object != trace::kNoRow;
    const std::int64_t bytes = is_known ? objects.bytes[one.object] : 0;
    const auto accesses = static_cast<double>(one.accesses);
    table.rows.push_back(
        {memory::ObjectLabel(trace, one.object),
         std::string(is_known ? memory::MemoryClassName(objects.memory_class[one.object]) : ""),
         is_known ? Table::Cell(bytes) : Table::Cell(), one.accesses,
         accesses / static_cast<double>(heat.total_accesses),
         bytes > 0 ? Table::Cell(accesses / static_cast<double>(bytes)) : Table::Cell(),
         one.num_launches});
  }
  return table;
}

MemoryTable BlockTable(const trace::Trace& trace, const AccessHeat& heat) {
  MemoryTable table{.key = "blocks",
                    .heading = "blocks in order of address",
                    .columns = {{"address", "address", MemoryUnit::kAddress},
                                {"accesses", "accesses", MemoryUnit::kCount},
                                {"objects", "objects", MemoryUnit::kText}},
                    .max_shown = 0};
  for (const HeatBlock& block : heat.blocks) {
    table.rows.push_back(
        {static_cast<std::int64_t>(block.address), block.accesses, LabelOf(trace, block)});
  }
  return table;
}

MemoryTable CellTable(const AccessHeat& heat) {
  MemoryTable table{.key = "cells",
                    .heading = "cells of the map",
                    .columns = {{"address", "address", MemoryUnit::kAddress},
                                {"window", "window", MemoryUnit::kCount},
                                {"accesses", "accesses", MemoryUnit::kCount}},
                    .max_shown = 0};
  for (const HeatCell& cell : heat.cells) {
    table.rows.push_back({static_cast<std::int64_t>(heat.blocks[cell.block].address),
                          static_cast<std::int64_t>(cell.window), cell.accesses});
  }
  return table;
}

// Where the kernel with most accesses is called, the innermost frame first.
MemoryTable StackTable(const memory::MostReferenced& most, std::size_t top) {
  MemoryTable table{.key = "call_stack",
                    .heading = "where the most referenced kernel is called",
                    .columns = {{"frame", "frame", MemoryUnit::kText, 0}},
                    .max_shown = top};
  for (const std::string& frame : most.call_stack) {
    table.rows.push_back({frame});
  }
  return table;
}

std::string MostReferencedSentence(const memory::MostReferenced& most) {
  const std::string place =
      most.call_stack.empty()
          ? "from where is not known"
          : fmt::format("{} of them called from {}", draw::FormatCount(most.stack_accesses),
                        most.call_stack.front());
  return fmt::format("Most referenced kernel: {}, {} accesses in {} launch{}, {}.", most.kernel,
                     draw::FormatCount(most.accesses), draw::FormatCount(most.num_launches),
                     most.num_launches == 1 ? "" : "es", place);
}

void AddMostReferenced(const trace::Trace& trace, std::size_t top, MemoryPage& page) {
  const auto most = memory::FindMostReferenced(trace);
  if (!most) {
    return;
  }
  page.sentences.push_back(MostReferencedSentence(*most));
  if (!most->call_stack.empty()) {
    page.tables.push_back(StackTable(*most, top));
  }
}

std::vector<std::string> SentencesOf(const AccessHeat& heat) {
  std::vector<std::string> sentences = {
      "An access is one of one lane of a kernel; copies and sets are not counted. All cells "
      "together are all accesses; the last window may be shorter than the others. Counts of a "
      "launch are taken in order of address."};
  for (std::size_t i = 0; i < memory::kNumHeatSources; ++i) {
    if (heat.source_accesses[i] > 0) {
      sentences.push_back(fmt::format("{} accesses are from {}.",
                                      draw::FormatCount(heat.source_accesses[i]),
                                      memory::HeatSourceName(static_cast<memory::HeatSource>(i))));
    }
  }
  if (heat.num_without_counts > 0) {
    sentences.push_back(fmt::format("Of {} kernels no accesses were counted.",
                                    draw::FormatCount(heat.num_without_counts)));
  }
  return sentences;
}

class HeatTool : public MemoryTool {
 public:
  [[nodiscard]] std::string_view name() const override { return "heat"; }

  [[nodiscard]] std::string_view line() const override {
    return "accesses over addresses and time, and by object";
  }

  [[nodiscard]] std::vector<memory::Need> needs() const override {
    return {memory::Need::kTouches};
  }

  void AddOptions(CLI::App& verb) override {
    static const std::map<std::string, memory::WindowUnit> kUnits{
        {"accesses", memory::WindowUnit::kAccesses},
        {"launches", memory::WindowUnit::kLaunches},
        {"ns", memory::WindowUnit::kNanoseconds}};
    verb.add_option("--block", options_.block_bytes, "bytes of a row of the map")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{32}, std::int64_t{1} << 40));
    verb.add_option("--window", options_.window, "length of a column of the map")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 60));
    AddWordOption(verb, "--window-by", options_.unit, kUnits,
                  "what windows count (default: accesses)");
  }

  [[nodiscard]] Result<MemoryPage> Run(const MemoryInput& input) const override {
    ORRERY_TRY(const AccessHeat heat, memory::HeatOf(input.trace(), options_));
    MemoryPage page;
    page.facts = {{"accesses", "accesses", heat.total_accesses},
                  {"blocks", "blocks accessed", static_cast<std::int64_t>(heat.blocks.size())},
                  {"windows", "windows", static_cast<std::int64_t>(heat.num_windows)}};
    page.pictures = {PictureOf(input.trace(), heat, options_)};
    page.tables = {ObjectTable(input.trace(), heat, input.top), BlockTable(input.trace(), heat),
                   CellTable(heat)};
    page.sentences = SentencesOf(heat);
    AddMostReferenced(input.trace(), input.top, page);
    return page;
  }

 private:
  HeatOptions options_;
};

}  // namespace

std::unique_ptr<MemoryTool> MakeHeatTool() {
  return std::make_unique<HeatTool>();
}

}  // namespace orrery::cli
