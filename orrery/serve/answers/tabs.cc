#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/report/document.h"
#include "orrery/report/metric_rows.h"
#include "orrery/report/run_report.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/viewed_run.h"

namespace orrery::serve {
namespace {

using report::Document;

constexpr std::array<std::string_view, 5> kTabs = {"overview", "kernels", "collectives", "memory",
                                                   "metrics"};

std::string_view AlignOf(const report::NumberFormat& format) {
  return format.unit == report::Unit::kText ? "left" : "right";
}

// The key to sort by; null where the text decides.
Value KeyOf(const Value& cell) {
  const auto* const number = std::get_if<double>(&cell.variant());
  const auto* const integer = std::get_if<std::int64_t>(&cell.variant());
  return number != nullptr || integer != nullptr ? cell : Value();
}

Value TableValue(const Document::Table& table) {
  Value columns = Value::List();
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (report::IsIn(report::Shown::kInHtml, table.columns[i].shown)) {
      shown.push_back(i);
      columns.Add(Value::Object()
                      .Set("name", table.columns[i].header)
                      .Set("align", AlignOf(table.columns[i].format))
                      .Set("unit", ""));
    }
  }
  Value rows = Value::List();
  Value keys = Value::List();
  for (const std::vector<Value>& row : table.rows) {
    Value cells = Value::List();
    Value own = Value::List();
    for (const std::size_t i : shown) {
      const Value cell = i < row.size() ? row[i] : Value();
      cells.Add(report::CellText(cell, table.columns[i].format));
      own.Add(KeyOf(cell));
    }
    rows.Add(std::move(cells));
    keys.Add(std::move(own));
  }
  return Value::Object()
      .Set("heading", table.heading)
      .Set("caption", table.caption)
      .Set("columns", std::move(columns))
      .Set("rows", std::move(rows))
      .Set("keys", std::move(keys));
}

/// One section of a document as fields by the kind of block.
class SectionValue {
 public:
  explicit SectionValue(const Document::Section& section) : heading_(section.heading) {
    for (const Document::Block& block : section.blocks) {
      std::visit([&](const auto& own) { Add(own); }, block);
    }
  }

  [[nodiscard]] bool empty() const {
    return facts_.items().empty() && sentences_.items().empty() && findings_.items().empty() &&
           tables_.items().empty() && charts_.items().empty();
  }

  [[nodiscard]] Value Take() && {
    return Value::Object()
        .Set("heading", heading_)
        .Set("facts", std::move(facts_))
        .Set("findings", std::move(findings_))
        .Set("sentences", std::move(sentences_))
        .Set("tables", std::move(tables_))
        .Set("charts", std::move(charts_));
  }

 private:
  void Add(const Document::Fact& fact) {
    facts_.Add(Value::Object()
                   .Set("label", fact.label)
                   .Set("value", report::CellText(fact.value, fact.format))
                   .Set("note", fact.note));
  }

  void Add(const Document::Text& text) { sentences_.Add(text.text); }

  void Add(const Document::List& list) {
    for (const std::string& item : list.items) {
      sentences_.Add(item);
    }
  }

  void Add(const Document::Finding& finding) {
    findings_.Add(Value::Object()
                      .Set("text", finding.text)
                      .Set("more", finding.more)
                      .Set("share", finding.share));
  }

  void Add(const Document::Table& table) { tables_.Add(TableValue(table)); }

  void Add(const Document::Picture& picture) {
    charts_.Add(
        Value::Object()
            .Set("heading", picture.heading)
            .Set("svg", picture.svg)
            .Set("caption", picture.caption)
            .Set("legend", Value::ListOf(picture.legend, [](const draw::Series& series) {
                   return Value::Object().Set("name", series.name).Set("style", series.style);
                 })));
  }

  void Add(const Document::Field& /*field*/) {}

  std::string heading_;
  Value facts_ = Value::List();
  Value sentences_ = Value::List();
  Value findings_ = Value::List();
  Value tables_ = Value::List();
  Value charts_ = Value::List();
};

// The summary of a simulation knows more than its traces: waits, memory, what was not modelled.
Document DocumentOf(const ViewedRun& run, std::string_view tab) {
  if (run.simulated() != nullptr && (tab == "overview" || tab == "memory")) {
    return run.simulated()->summary;
  }
  return report::RunDocument(report::CollectReport(
      run.view(), run.name(),
      tab == "metrics" ? report::EvaluateAll(run.view()) : std::vector<report::MetricRow>()));
}

void AddMemoryTools(const ViewedRun& run, Value& sections) {
  for (const Document& document : run.MemoryDocuments()) {
    Document::Section whole;
    whole.heading = document.title;
    for (const Document::Section& section : document.sections) {
      whole.blocks.insert(whole.blocks.end(), section.blocks.begin(), section.blocks.end());
    }
    sections.Add(SectionValue(whole).Take());
  }
}

// Adds the sections that the page shows beside those of the report.
void AddOwnSections(const ViewedRun& run, std::string_view tab, Value& sections) {
  if (tab == "memory") {
    AddRecordedMemory(run, sections);
    AddMemoryTools(run, sections);
  } else if (tab == "kernels") {
    AddPredictedKernels(run, sections);
  }
}

// All of the analysis, of which a tab shows a part.
Value TabValue(const ViewedRun& run, std::string_view name) {
  const Document document = DocumentOf(run, name);
  Value sections = Value::List();
  AddOwnSections(run, name, sections);
  for (const Document::Section& section : document.sections) {
    SectionValue value(section);
    if (report::IsIn(report::Shown::kInHtml, section.shown) && section.tab == name &&
        !value.empty()) {
      sections.Add(std::move(value).Take());
    }
  }
  return Value::Object().Set("title", document.title).Set("sections", std::move(sections));
}

}  // namespace

Response TabResponse(const Document& document) {
  Value sections = Value::List();
  for (const Document::Section& section : document.sections) {
    sections.Add(SectionValue(section).Take());
  }
  return JsonResponse(
      Value::Object().Set("title", document.title).Set("sections", std::move(sections)));
}

Result<Response> AnswerTab(const ViewedRun& run, const Query& query) {
  ORRERY_TRY(const std::string name, query.Text("name"));
  if (name == "differences") {  // the page makes it from api/differences
    return TabResponse({});
  }
  if (std::ranges::find(kTabs, name) == kTabs.end()) {
    return Fail(Error::Kind::kNotFound, "there is no such tab");
  }
  const Value tab = TabValue(run, name);
  ReturnFreedMemoryNow();
  return JsonResponse(tab);
}

}  // namespace orrery::serve
