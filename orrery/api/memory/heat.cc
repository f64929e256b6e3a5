#include "orrery/memory/heat/heat.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/group_by.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/kernel_counts.h"
#include "orrery/memory/names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::AccessHeat;
using memory::HeatBlock;
using memory::HeatCell;
using memory::HeatOptions;
using memory::ObjectHeat;

constexpr std::size_t kMaxColumns = 400;
constexpr std::size_t kMaxRows = 400;
constexpr std::size_t kNumLevels = 8;
constexpr std::size_t kLabelWidth = 24;  // letters left of the map

std::size_t GroupSize(std::size_t count, std::size_t most) {
  return std::max<std::size_t>(1, (count + most - 1) / most);
}

std::string LabelOf(const AccessHeat& heat, memory::ObjectNumber object) {
  const memory::DescribedObject* const described = heat.Find(object);
  return described == nullptr ? "outside objects" : described->label;
}

std::string LabelOf(const AccessHeat& heat, const HeatBlock& block) {
  const std::string label = LabelOf(heat, block.object);
  return block.num_objects > 1 ? fmt::format("{} and {} more", label, block.num_objects - 1)
                               : label;
}

// Sums of neighbours that share a row or column of the picture.
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

Document::Picture PictureOf(const AccessHeat& heat, const HeatOptions& options) {
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
  return {.heading = "Accesses over addresses and time",
          .svg = draw::RenderHeatMap(drawn.map),
          .caption = CaptionOf(drawn, heat, options),
          .legend = draw::HeatLegend(drawn.map)};
}

using ObjectGroup = std::vector<const ObjectHeat*>;

std::int64_t AccessesOf(const ObjectGroup& group) {
  return std::accumulate(
      group.begin(), group.end(), std::int64_t{0},
      [](std::int64_t sum, const ObjectHeat* one) { return sum + one->accesses; });
}

// Launches are those of an object, on average.
std::vector<Value> RowOf(const AccessHeat& heat, const ObjectGroup& group) {
  const memory::DescribedObject* const known = heat.Find(group.front()->object);
  const std::int64_t accesses = AccessesOf(group);
  const auto num_objects = static_cast<double>(group.size());
  const double bytes = known == nullptr ? 0 : num_objects * static_cast<double>(known->bytes);
  double launches = 0;
  for (const ObjectHeat* const one : group) {
    launches += static_cast<double>(one->num_launches) / num_objects;
  }
  return {known == nullptr ? Value() : Value(std::ssize(group)),
          group.size() > 1 ? known->name : LabelOf(heat, group.front()->object),
          std::string(known == nullptr ? "" : memory::MemoryClassName(known->memory_class)),
          known == nullptr ? Value() : Value(known->bytes),
          accesses,
          static_cast<double>(accesses) / static_cast<double>(heat.total_accesses),
          bytes > 0 ? Value(static_cast<double>(accesses) / bytes) : Value(),
          group.size() > 1 ? Value(launches) : Value(group.front()->num_launches)};
}

Document::Table GroupTable(const AccessHeat& heat, const std::vector<ObjectGroup>& groups,
                           std::size_t top) {
  Document::Table table{
      .key = "object_groups",
      .heading = "objects by accesses",
      .columns = {AsCount("objects", "objects"), AsText("object", "object"),
                  AsText("class", "class"), AsBytes("bytes", "bytes each"),
                  AsCount("accesses", "accesses"), AsShare("share", "share"),
                  AsCount("accesses_per_byte", "a byte"), AsCount("launches", "launches each")},
      .caption = "Objects of one name, class and size share a row; a single one has its number.",
      .max_shown = top};
  for (const ObjectGroup& group : groups) {
    table.rows.push_back(RowOf(heat, group));
  }
  return table;
}

// Most accesses first.
Document::Table EqualObjectTable(const AccessHeat& heat, std::size_t top) {
  std::vector<ObjectGroup> groups = GroupBy(heat.objects, [&](const ObjectHeat& one) {
    const memory::DescribedObject* const known = heat.Find(one.object);
    return known == nullptr ? std::tuple<std::string, trace::MemoryClass, std::int64_t>()
                            : std::tuple(known->name, known->memory_class, known->bytes);
  });
  std::ranges::stable_sort(groups, std::greater{}, &AccessesOf);
  return GroupTable(heat, groups, top);
}

// One by one, for programs.
Document::Table ObjectTable(const AccessHeat& heat) {
  Document::Table table = GroupTable(heat, GroupBy(heat.objects, &ObjectHeat::object), 0);
  table.key = "objects";
  table.columns.erase(table.columns.begin());
  for (std::vector<Value>& row : table.rows) {
    row.erase(row.begin());
  }
  return table;
}

Document::Table BlockTable(const AccessHeat& heat) {
  Document::Table table{.key = "blocks",
                        .heading = "blocks in order of address",
                        .columns = {{"address", "address", Unit::kAddress},
                                    AsCount("accesses", "accesses"),
                                    AsText("objects", "objects")},
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
                                    AsCount("window", "window"),
                                    AsCount("accesses", "accesses")},
                        .max_shown = 0};
  for (const HeatCell& cell : heat.cells) {
    table.rows.push_back({static_cast<std::int64_t>(heat.blocks[cell.block].address),
                          static_cast<std::int64_t>(cell.window), cell.accesses});
  }
  return table;
}

// The stack of the kernel with most accesses, the innermost frame first.
Document::Table StackTable(const memory::MostReferenced& most, std::size_t top) {
  Document::Table table{.key = "call_stack",
                        .heading = "where the most referenced kernel is called",
                        .columns = {AsText("frame", "frame", 0)},
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
                       MemoryToolResult& page) {
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
      "An access is one of one lane of a kernel; memcpys and memsets are not counted. All cells "
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

MemoryToolResult PageOf(const AccessHeat& heat, const std::optional<memory::MostReferenced>& most,
                        const HeatOptions& options, std::size_t top) {
  MemoryToolResult page;
  page.facts = {{"accesses", "accesses", heat.total_accesses},
                {"blocks", "blocks accessed", static_cast<std::int64_t>(heat.blocks.size())},
                {"windows", "windows", static_cast<std::int64_t>(heat.num_windows)}};
  page.pictures = {PictureOf(heat, options)};
  page.tables = {ObjectTable(heat), EqualObjectTable(heat, top), BlockTable(heat), CellTable(heat)};
  page.sentences = SentencesOf(heat, options);
  AddMostReferenced(most, top, page);
  return page;
}

MemoryAnalysis Begin(const HeatOptions& options, std::size_t top) {
  const auto counter = std::make_shared<memory::HeatCounter>(options);
  const auto references = std::make_shared<memory::ReferenceCounter>();
  const auto add = [counter, references](const trace::Trace& piece) {
    references->Add(piece);
    return counter->Add(piece);
  };
  return {add, [=] { return PageOf(counter->Finish(), references->Most(), options, top); }};
}

}  // namespace

MemoryTool HeatTool(const MemoryRequest& request) {
  const HeatOptions options{.block_bytes = request.block,
                            .unit = request.window_by == "launches" ? memory::WindowUnit::kLaunches
                                    : request.window_by == "ns" ? memory::WindowUnit::kNanoseconds
                                                                : memory::WindowUnit::kAccesses,
                            .window = request.window};
  return {.name = "heat",
          .line = "accesses over addresses and time, and by object",
          .first_field = "block",
          .last_field = "window_by",
          .needs = {memory::Need::kTouches},
          .begin = [options](const MemoryInput& input) { return Begin(options, input.top); }};
}

}  // namespace orrery::api
