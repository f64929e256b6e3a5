#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/draw/chart/ticks.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/page.h"
#include "orrery/report/simulation_sections.h"

namespace orrery::report {
namespace {

using draw::EscapeMarkup;
using simulate::StepSummary;

constexpr std::string_view kNavigation =
    "<nav><a href=\"#pipeline\">Timeline</a><a href=\"#breakdown\">Where the time goes</a>"
    "<a href=\"#memory\">Memory</a><a href=\"#dimensions\">Communication</a>"
    "<a href=\"#settings\">Settings</a><a href=\"#left-out\">Not modelled</a></nav>\n";

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

// "1.29 M": three digits and a word for thousands.
std::string Scaled(double number) {
  if (number >= 1e6) {
    return fmt::format("{:.3g} M", number / 1e6);
  }
  return number >= 1e4 ? fmt::format("{:.3g} k", number / 1e3) : fmt::format("{:.4g}", number);
}

Tile MemoryTile(const StepSummary& summary) {
  const simulate::StageSummary* const fullest = summary.Fullest();
  Tile tile{.label = "Memory at the peak", .value = "–", .note = "the program does not say"};
  if (fullest != nullptr) {
    tile.value = Size(fullest->memory.needed_bytes);
    tile.note = fmt::format("stage {}", fullest->stage);
    if (summary.memory_size_bytes) {
      tile.note += fmt::format(", of {}", Size(*summary.memory_size_bytes));
    }
  }
  return tile;
}

std::vector<Tile> TilesOf(const SimulationPage& page) {
  const StepSummary& summary = *page.summary;
  std::vector<Tile> tiles = {{.label = "Step time",
                              .value = draw::FormatDuration({summary.step_ps / 1000}),
                              .note = fmt::format("{} ranks", draw::FormatCount(summary.ranks))}};
  if (summary.figures) {
    const simulate::JobFigures& figures = *summary.figures;
    tiles.push_back(
        figures.tokens_per_s
            ? Tile{.label = "Tokens a second",
                   .value = Scaled(*figures.tokens_per_s),
                   .note = fmt::format("{} a GPU", Scaled(*figures.tokens_per_s / summary.ranks))}
            : Tile{.label = "Samples a second", .value = Scaled(figures.samples_per_s)});
    tiles.push_back({.label = "Model FLOPs utilisation",
                     .value = fmt::format("{:.1f} %", 100 * figures.model.share),
                     .note = fmt::format("hardware {:.1f} %", 100 * figures.hardware.share)});
  }
  tiles.push_back(MemoryTile(summary));
  const std::int64_t bubble_ps = summary.breakdown.TotalPs(simulate::TimeKind::kBubble);
  tiles.push_back({.label = "Pipeline bubble",
                   .value = fmt::format("{:.1f} %", summary.step_ps == 0
                                                        ? 0.0
                                                        : 100 * static_cast<double>(bubble_ps) /
                                                              static_cast<double>(summary.step_ps)),
                   .note = fmt::format("on rank {}, the slowest", summary.slowest_rank)});
  return tiles;
}

std::string Alarm(const StepSummary& summary) {
  if (!summary.IsOutOfMemory()) {
    return "";
  }
  return fmt::format(
      "<div class=\"alarm\"><b>Out of memory.</b> Stage {} needs {}, a GPU has {} for it. The "
      "times are "
      "those of GPUs with enough memory.</div>\n",
      summary.Fullest()->stage, Size(summary.Fullest()->memory.needed_bytes),
      Size(*summary.memory_size_bytes));
}

std::string SettingsOf(const SimulationPage& page) {
  std::string out = "<div class=\"settings\">";
  std::string section;
  for (const workload::JobFact& fact : page.settings) {
    if (fact.section != section) {
      out += fmt::format("{}<div><h3>{}</h3><dl>", section.empty() ? "" : "</dl></div>",
                         EscapeMarkup(fact.section));
      section = fact.section;
    }
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", EscapeMarkup(fact.name), EscapeMarkup(fact.value));
  }
  return out + (section.empty() ? "" : "</dl></div>") + "</div>\n";
}

}  // namespace

std::string SimulationHeader(const SimulationPage& page) {
  return fmt::format(
      "<header><div class=\"top\"><span class=\"brand\">Orrery simulated step</span>"
      "<button id=\"theme\" type=\"button\">light / dark</button></div>\n<h1>{}</h1>\n"
      "<p class=\"caption\">{}</p>\n{}{}<p class=\"verdict\">{}</p></header>\n{}",
      EscapeMarkup(page.title), EscapeMarkup(page.line), Alarm(*page.summary),
      RenderTiles(TilesOf(page)), EscapeMarkup(page.bottleneck), kNavigation);
}

std::string SettingsSection(const SimulationPage& page) {
  std::string body = SettingsOf(page);
  if (page.summary->figures) {
    const simulate::JobFigures& figures = *page.summary->figures;
    body += "<h3>How utilisation is counted</h3>\n" +
            RenderList({"Model (MFU): " + figures.model.definition + ".",
                        "Hardware (HFU): " + figures.hardware.definition + "."});
  }
  return Section("settings", "What was simulated", body);
}

std::string NotModelledSection(const SimulationPage& page) {
  return Section("left-out", "What is not modelled", RenderList(page.not_modelled));
}

}  // namespace orrery::report
