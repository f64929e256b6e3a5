#include "orrery/memory/heat.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory/tool.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/chart/heat_map.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/memory/most_referenced.h"
#include "orrery/memory/object_label.h"

namespace orrery::cli {
namespace {

using memory::AccessHeat;
using memory::HeatBlock;
using memory::HeatCell;
using memory::HeatOptions;
using memory::ObjectHeat;
using report::Document;
using report::Unit;

constexpr std::size_t kMaxColumns = 400;
constexpr std::size_t kMaxRows = 400;
constexpr std::size_t kNumLevels = 8;
constexpr std::size_t kLabelWidth = 24;  // letters left of the map

std::size_t GroupSize(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, (count + most - 1) / most);
}

std::string LabelOf(const AccessHeat& heat, memory::ObjectNumber object) {
  const memory::DescribedObject* const described = heat.Find(object);
  return described == nullptr ? "outside of objects" : described->label;
}

std::string LabelOf(const AccessHeat& heat, const HeatBlock& block) {
  const std::string label = LabelOf(heat, block.object);
  return block.num_objects > 1 ? fmt::format("{} and {} more", label, block.num_objects - 1)
                               : label;
}

// What neighbours that share a row or column of the picture have in sum.
struct Drawn {
  std::size_t blocks_a_row = 1;
  std::size_t windows_a_column = 1;
  draw::HeatMap map = {};
};

Drawn DrawnOf(const AccessHeat& heat) {
  Drawn drawn{.blocks_a_row = GroupSize(heat.blocks.size(), kMaxRows),
              .windows_a_column = GroupSize(heat.num_windows, kMaxColumns)};
  for (std::size_t block = 0; block < heat.blocks.size(); block += drawn.blocks_a_row) {
    drawn.map.row_labels.push_back(
        draw::Truncated(LabelOf(heat, heat.blocks[block].object), kLabelWidth));
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

std::string CaptionOf(const Drawn& drawn, const AccessHeat& heat, const HeatOptions& options) {
  return fmt::format(
      "A row: {} of {}, labelled with the object most accessed there; a column: {} "
      "of {} {}; empty blocks are left out",
      drawn.blocks_a_row == 1 ? "a block" : fmt::format("{} blocks", drawn.blocks_a_row),
      draw::FormatBinaryBytes({options.block_bytes}),
      drawn.windows_a_column == 1 ? "a window" : fmt::format("{} windows", drawn.windows_a_column),
      draw::FormatCount(heat.window), memory::WindowUnitName(options.unit));
}

report::Document::Picture PictureOf(const AccessHeat& heat, const HeatOptions& options) {
  Drawn drawn = DrawnOf(heat);
  double largest = 1;
  for (const double value : drawn.map.values) {
    largest = std::isnan(value) ? largest : std::max(largest, value);
  }
  drawn.map.levels = draw::LogLevels(largest, kNumLevels, "heat-", draw::Quantity::kNumber);
  drawn.map.column_title = drawn.windows_a_column == 1
                               ? "window"
                               : fmt::format("column of {} windows", drawn.windows_a_column);
  drawn.map.description = "Accesses over addresses and time";
  report::Document::Picture picture{.heading = "Accesses over addresses and time",
                                    .svg = draw::RenderHeatMap(drawn.map),
                                    .caption = CaptionOf(drawn, heat, options)};
  for (const draw::HeatLevel& level : drawn.map.levels) {
    picture.legend.push_back(level.series);
  }
  return picture;
}

Document::Table ObjectTable(const AccessHeat& heat, std::size_t top) {
  Document::Table table{.key = "objects",
                        .heading = "objects by accesses",
                        .columns = {{"object", "object", Unit::kText},
                                    {"class", "class", Unit::kText},
                                    {"bytes", "bytes", Unit::kBytes},
                                    {"accesses", "accesses", Unit::kCount},
                                    {"share", "share", Unit::kShare},
                                    {"accesses_per_byte", "a byte", Unit::kCount},
                                    {"launches", "launches", Unit::kCount}},
                        .max_shown = top};
  for (const ObjectHeat& one : heat.objects) {
    const memory::DescribedObject* const known = heat.Find(one.object);
    const std::int64_t bytes = known == nullptr ? 0 : known->bytes;
    const auto accesses = static_cast<double>(one.accesses);
    table.rows.push_back(
        {LabelOf(heat, one.object),
         std::string(known == nullptr ? "" : memory::MemoryClassName(known->memory_class)),
         known == nullptr ? Value() : Value(bytes), one.accesses,
         accesses / static_cast<double>(heat.total_accesses),
         bytes > 0 ? Value(accesses / static_cast<double>(bytes)) : Value(), one.num_launches});
  }
  return table;
}

Document::Table BlockTable(const AccessHeat& heat) {
  Document::Table table{.key = "blocks",
                        .heading = "blocks in order of address",
                        .columns = {{"address", "address", Unit::kAddress},
                                    {"accesses", "accesses", Unit::kCount},
                                    {"objects", "objects", Unit::kText}},
                        .max_shown = 0};
  for (const HeatBlock& block : heat.blocks) {
    table.rows.push_back(
        {static_cast<std::int64_t>(block.address), block.accesses, LabelOf(heat, block)});
  }
  return table;
}

Document::Table CellTable(const AccessHeat& heat) {
  Document::Table table{.key = "cells",
                        .heading = "cells of the map",
                        .columns = {{"address", "address", Unit::kAddress},
                                    {"window", "window", Unit::kCount},
                                    {"accesses", "accesses", Unit::kCount}},
                        .max_shown = 0};
  for (const HeatCell& cell : heat.cells) {
    table.rows.push_back({static_cast<std::int64_t>(heat.blocks[cell.block].address),
                          static_cast<std::int64_t>(cell.window), cell.accesses});
  }
  return table;
}

// Where the kernel with most accesses is called, the innermost frame first.
Document::Table StackTable(const memory::MostReferenced& most, std::size_t top) {
  Document::Table table{.key = "call_stack",
                        .heading = "where the most referenced kernel is called",
                        .columns = {{"frame", "frame", Unit::kText, 0}},
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

void AddMostReferenced(const std::optional<memory::MostReferenced>& most, std::size_t top,
                       MemoryResult& page) {
  if (!most) {
    return;
  }
  page.sentences.push_back(MostReferencedSentence(*most));
  if (!most->call_stack.empty()) {
    page.tables.push_back(StackTable(*most, top));
  }
}

std::vector<std::string> SentencesOf(const AccessHeat& heat, const HeatOptions& options) {
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
  if (!options.window && heat.window > HeatOptions::kFirstWindow) {
    sentences.push_back(fmt::format(
        "Windows of {} would be too many for a map: they are of {} {}; --window chooses.",
        draw::FormatCount(HeatOptions::kFirstWindow), draw::FormatCount(heat.window),
        memory::WindowUnitName(options.unit)));
  }
  if (heat.num_objects > static_cast<std::int64_t>(heat.objects.size())) {
    sentences.push_back(fmt::format("Of {} objects the {} that are accessed most are listed.",
                                    draw::FormatCount(heat.num_objects),
                                    draw::FormatCount(AccessHeat::kMostObjects)));
  }
  if (heat.num_without_counts > 0) {
    sentences.push_back(fmt::format("Of {} kernels no accesses were counted.",
                                    draw::FormatCount(heat.num_without_counts)));
  }
  return sentences;
}

class HeatAnalysis : public MemoryAnalysis {
 public:
  HeatAnalysis(const HeatOptions& options, std::size_t top)
      : options_(options), top_(top), counter_(options) {}

  [[nodiscard]] Status Add(const trace::Trace& piece) override {
    references_.Add(piece);
    return counter_.Add(piece);
  }

  [[nodiscard]] Result<MemoryResult> Finish() override {
    const AccessHeat heat = counter_.Finish();
    MemoryResult page;
    page.facts = {{"accesses", "accesses", heat.total_accesses},
                  {"blocks", "blocks accessed", static_cast<std::int64_t>(heat.blocks.size())},
                  {"windows", "windows", static_cast<std::int64_t>(heat.num_windows)}};
    page.pictures = {PictureOf(heat, options_)};
    page.tables = {ObjectTable(heat, top_), BlockTable(heat), CellTable(heat)};
    page.sentences = SentencesOf(heat, options_);
    AddMostReferenced(references_.Most(), top_, page);
    return page;
  }

 private:
  HeatOptions options_;
  std::size_t top_;
  memory::HeatCounter counter_;
  memory::ReferenceCounter references_;
};

class HeatTool : public MemoryTool {
 public:
  [[nodiscard]] std::string_view name() const override { return "heat"; }

  [[nodiscard]] std::string_view line() const override {
    return "accesses over addresses and time, and by object";
  }

  [[nodiscard]] std::vector<memory::Need> needs() const override {
    return {memory::Need::kTouches};
  }

  void AddOptions(Verb& verb) override {
    static const std::map<std::string, memory::WindowUnit> kUnits{
        {"accesses", memory::WindowUnit::kAccesses},
        {"launches", memory::WindowUnit::kLaunches},
        {"ns", memory::WindowUnit::kNanoseconds}};
    verb.AddOption("--block", options_.block_bytes, "bytes of a row of the map")
        .ShowDefault()
        .Range(std::int64_t{32}, std::int64_t{1} << 40);
    verb.AddOption("--window", options_.window,
                   "length of a column of the map (default: a million, and twice as long until the "
                   "map is small)")
        .Range(std::int64_t{1}, std::int64_t{1} << 60);
    verb.AddChoice("--window-by", options_.unit, kUnits, "what windows count (default: accesses)");
  }

  [[nodiscard]] std::unique_ptr<MemoryAnalysis> Begin(const MemoryInput& input) const override {
    return std::make_unique<HeatAnalysis>(options_, input.top);
  }

 private:
  HeatOptions options_;
};

}  // namespace

std::unique_ptr<MemoryTool> MakeHeatTool() {
  return std::make_unique<HeatTool>();
}

}  // namespace orrery::cli
