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
using simulate::TimeKind;

constexpr double kTera = 1e12;

bool HasSettings(const SimulationPage& page) {
  const auto& figures = page.summary->figures;
  return !page.settings.empty() || !page.remarks.empty() || (figures && figures->model);
}

// Sections that have nothing to say are left out.
std::string NavigationOf(const SimulationPage& page) {
  std::string out =
      "<nav><a href=\"#pipeline\">Timeline</a><a href=\"#breakdown\">Where the time goes</a>"
      "<a href=\"#memory\">Memory</a><a href=\"#dimensions\">Communication</a>";
  out += HasSettings(page) ? "<a href=\"#settings\">Settings</a>" : "";
  out += page.not_modelled.empty() ? "" : "<a href=\"#left-out\">Not modelled</a>";
  return out + "</nav>\n";
}

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
    tile.note = fullest->name;
    if (summary.memory_size_bytes) {
      tile.note += fmt::format(", of {}", Size(*summary.memory_size_bytes));
    }
  }
  return tile;
}

Tile ThroughputTile(const simulate::JobFigures& figures, std::uint32_t ranks) {
  if (!figures.tokens_per_s) {
    return {.label = "Samples a second", .value = Scaled(figures.samples_per_s)};
  }
  return {.label = "Tokens a second",
          .value = Scaled(*figures.tokens_per_s),
          .note = fmt::format("{} a GPU", Scaled(*figures.tokens_per_s / ranks))};
}

Tile UtilisationTile(const simulate::JobFigures& figures) {
  Tile tile{.label = "Model FLOPs utilisation",
            .value = fmt::format("{:.1f} %", 100 * figures.model->share),
            .note = fmt::format("{:.0f} TFLOP/s a GPU", figures.model->flops_per_s_of_gpu / kTera)};
  if (figures.hardware) {
    tile.note += fmt::format(", hardware {:.1f} %", 100 * figures.hardware->share);
  }
  return tile;
}

// What ranks lose to each other: to the pipeline where there is one.
Tile LossTile(const StepSummary& summary) {
  const simulate::Breakdown& breakdown = summary.breakdown;
  const std::int64_t lost_ps = summary.has_pipeline ? breakdown.TotalPs(TimeKind::kBubble)
                                                    : breakdown.TotalPs(TimeKind::kTransfer) +
                                                          breakdown.TotalPs(TimeKind::kWait);
  const double share = summary.step_ps == 0
                           ? 0
                           : static_cast<double>(lost_ps) / static_cast<double>(summary.step_ps);
  return {.label = summary.has_pipeline ? "Pipeline bubble" : "Exposed communication",
          .value = fmt::format("{:.1f} %", 100 * share),
          .note = fmt::format("on rank {}, the slowest", summary.slowest_rank)};
}

std::vector<Tile> TilesOf(const StepSummary& summary) {
  std::vector<Tile> tiles = {{.label = "Step time",
                              .value = draw::FormatDuration({summary.step_ps / 1000}),
                              .note = fmt::format("{} rank{}", draw::FormatCount(summary.ranks),
                                                  summary.ranks == 1 ? "" : "s")}};
  if (summary.figures) {
    tiles.push_back(ThroughputTile(*summary.figures, summary.ranks));
  }
  if (summary.figures && summary.figures->model) {
    tiles.push_back(UtilisationTile(*summary.figures));
  }
  tiles.push_back(MemoryTile(summary));
  if (summary.has_pipeline || !summary.dimensions.empty()) {
    tiles.push_back(LossTile(summary));
  }
  return tiles;
}

std::string Alarm(const StepSummary& summary) {
  if (!summary.IsOutOfMemory()) {
    return "";
  }
  return fmt::format(
      "<div class=\"alarm\"><b>Out of memory:</b> {} needs {}, a GPU has {} for it. The times are "
      "those of GPUs with enough memory.</div>\n",
      EscapeMarkup(summary.Fullest()->name), Size(summary.Fullest()->memory.needed_bytes),
      Size(*summary.memory_size_bytes));
}

std::string SettingsOf(const SimulationPage& page) {
  if (page.settings.empty()) {
    return "";
  }
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

std::string DefinitionsOf(const simulate::JobFigures& figures) {
  if (!figures.model) {
    return "";
  }
  std::vector<std::string> definitions = {"Model (MFU): " + figures.model->definition + "."};
  if (figures.hardware) {
    definitions.push_back("Hardware (HFU): " + figures.hardware->definition + ".");
  }
  return "<h3>How utilisation is counted</h3>\n" + RenderList(definitions);
}

}  // namespace

std::string SimulationHeader(const SimulationPage& page) {
  return fmt::format(
      "<header><div class=\"top\"><span class=\"brand\">Orrery simulated step</span>"
      "<button id=\"theme\" type=\"button\">light / dark</button></div>\n<h1>{}</h1>\n"
      "<p class=\"caption\">{}</p>\n{}{}<p class=\"verdict\">{}</p></header>\n{}",
      EscapeMarkup(page.title), EscapeMarkup(page.line), Alarm(*page.summary),
      RenderTiles(TilesOf(*page.summary)), EscapeMarkup(page.bottleneck), NavigationOf(page));
}

std::string SettingsSection(const SimulationPage& page) {
  if (!HasSettings(page)) {
    return "";
  }
  std::string body = SettingsOf(page);
  body += page.remarks.empty() ? "" : RenderList(page.remarks);
  body += page.summary->figures ? DefinitionsOf(*page.summary->figures) : "";
  return Section("settings", "What was simulated", body);
}

std::string NotModelledSection(const SimulationPage& page) {
  return page.not_modelled.empty()
             ? ""
             : Section("left-out", "What is not modelled", RenderList(page.not_modelled));
}

}  // namespace orrery::report
