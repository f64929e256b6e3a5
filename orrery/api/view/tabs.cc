#include "orrery/api/view/tabs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/api/errors.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/report/document.h"
#include "orrery/report/metric_rows.h"
#include "orrery/report/run_report.h"

namespace orrery::api::view {
namespace {

using report::Document;

constexpr std::array<std::string_view, 5> kTabs = {"overview", "kernels", "collectives", "memory",
                                                   "metrics"};

// The key to sort by; nothing where the text decides.
std::optional<double> KeyOf(const Value& cell) {
  if (const auto* const integer = std::get_if<std::int64_t>(&cell.variant())) {
    return static_cast<double>(*integer);
  }
  const auto* const number = std::get_if<double>(&cell.variant());
  return number == nullptr ? std::nullopt : std::optional(*number);
}

TableData DataOf(const Document::Table& table) {
  TableData data{.heading = table.heading, .caption = table.caption};
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Document::Column& column = table.columns[i];
    if (report::IsIn(report::Shown::kInHtml, column.shown)) {
      shown.push_back(i);
      data.columns.push_back(
          {.name = column.header,
           .align = column.format.unit == report::Unit::kText ? "left" : "right"});
    }
  }
  for (const std::vector<Value>& row : table.rows) {
    std::vector<std::string>& cells = data.rows.emplace_back();
    std::vector<std::optional<double>>& keys = data.keys.emplace_back();
    for (const std::size_t i : shown) {
      const Value cell = i < row.size() ? row[i] : Value();
      cells.push_back(report::CellText(cell, table.columns[i].format));
      keys.push_back(KeyOf(cell));
    }
  }
  return data;
}

/// Sorts the blocks of a section of a document by kind.
struct BlockAdder {
  void operator()(const Document::Fact& fact) const {
    section.facts.push_back({fact.label, report::CellText(fact.value, fact.format), fact.note});
  }

  void operator()(const Document::Text& text) const { section.sentences.push_back(text.text); }

  void operator()(const Document::List& list) const {
    section.sentences.insert(section.sentences.end(), list.items.begin(), list.items.end());
  }

  void operator()(const Document::Finding& finding) const {
    section.findings.push_back({finding.text, finding.more, finding.share});
  }

  void operator()(const Document::Table& table) const { section.tables.push_back(DataOf(table)); }

  void operator()(const Document::Picture& picture) const {
    Chart& chart = section.charts.emplace_back(
        Chart{.heading = picture.heading, .svg = picture.svg, .caption = picture.caption});
    for (const draw::Series& series : picture.legend) {
      chart.legend.push_back({series.name, series.style});
    }
  }

  void operator()(const Document::Field& /*field*/) const {}

  Section& section;
};

void AddBlocks(const Document::Section& from, Section& section) {
  for (const Document::Block& block : from.blocks) {
    std::visit(BlockAdder{section}, block);
  }
}

bool IsEmpty(const Section& section) {
  return section.facts.empty() && section.findings.empty() && section.sentences.empty() &&
         section.tables.empty() && section.charts.empty();
}

// The summary of a simulation knows more than its traces: waits, memory, what was not modelled.
Document DocumentOf(const ViewedRun& run, std::string_view tab) {
  if (run.simulated() != nullptr && (tab == "overview" || tab == "memory")) {
    return run.simulated()->summary;
  }
  return report::RunDocument(report::CollectReport(
      run.view(), run.name(),
      tab == "metrics" ? report::EvaluateAll(run.view()) : std::vector<report::MetricRow>()));
}

void AddMemoryTools(const ViewedRun& run, std::vector<Section>& sections) {
  for (const Document& document : run.MemoryDocuments()) {
    Section& whole = sections.emplace_back(Section{.heading = document.title});
    for (const Document::Section& section : document.sections) {
      AddBlocks(section, whole);
    }
  }
}

// Adds the sections that the page shows beside those of the report.
void AddOwnSections(const ViewedRun& run, std::string_view tab, std::vector<Section>& sections) {
  if (tab == "memory") {
    AddRecordedMemory(run, sections);
    AddMemoryTools(run, sections);
  } else if (tab == "kernels") {
    AddPredictedKernels(run, sections);
  }
}

TabPage PlansPage(const Document& plans) {
  TabPage page{.title = plans.title};
  for (const Document::Section& section : plans.sections) {
    AddBlocks(section, page.sections.emplace_back(Section{.heading = section.heading}));
  }
  return page;
}

// All of the analysis, of which a tab shows a part.
TabPage PageOf(const ViewedRun& run, std::string_view name) {
  const Document document = DocumentOf(run, name);
  TabPage page{.title = document.title};
  AddOwnSections(run, name, page.sections);
  for (const Document::Section& from : document.sections) {
    if (!report::IsIn(report::Shown::kInHtml, from.shown) || from.tab != name) {
      continue;
    }
    Section section{.heading = from.heading};
    AddBlocks(from, section);
    if (!IsEmpty(section)) {
      page.sections.push_back(std::move(section));
    }
  }
  return page;
}

}  // namespace

Result<TabPage> MakeTab(const View& view, const TabRequest& request) {
  if (request.name == "search" && view.state().plans) {
    return PlansPage(*view.state().plans);
  }
  ORRERY_TRY(const std::shared_ptr<const ViewedRun> run, view.state().RunAt(request.run));
  if (request.name == "differences") {  // the page makes it from the question differences
    return TabPage();
  }
  if (std::ranges::find(kTabs, request.name) == kTabs.end()) {
    return NotFound("there is no such tab");
  }
  TabPage page = PageOf(*run, request.name);
  ReturnFreedMemoryNow();
  return page;
}

}  // namespace orrery::api::view
