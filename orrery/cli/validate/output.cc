#include "orrery/cli/validate/output.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/value.h"
#include "orrery/cli/validate/plot.h"
#include "orrery/simulate/validation_groups.h"

namespace orrery::cli {
namespace {

using report::Document;
using report::NumberFormat;
using report::Unit;
using simulate::ErrorFigures;
using simulate::ErrorGroup;
using simulate::EvaluatedRun;
using simulate::GroupKey;
using simulate::Validation;

constexpr std::size_t kWorstRuns = 10;
constexpr std::size_t kShownReasons = 20;

struct KeyName {
  GroupKey key;
  const char* name;  // a column's header
  const char* list;  // a list in JSON
};

constexpr std::array<KeyName, 5> kKeys{{{GroupKey::kSource, "source", "sources"},
                                        {GroupKey::kGrade, "grade", "grades"},
                                        {GroupKey::kGpu, "GPU", "gpus"},
                                        {GroupKey::kScale, "scale", "scales"},
                                        {GroupKey::kDimension, "parallelism", "dimensions"}}};

bool IsHeadline(const std::string& grade) {
  return grade == "A" || grade == "A-";
}

// Rows of grade A and A-, on which simulators are compared.
Validation HeadlineOf(const Validation& validation) {
  Validation headline;
  std::ranges::copy_if(
      validation.evaluated, std::back_inserter(headline.evaluated),
      [](const EvaluatedRun& evaluated) { return IsHeadline(evaluated.run.grade); });
  std::ranges::copy_if(validation.refused, std::back_inserter(headline.refused),
                       [](const auto& refused) { return IsHeadline(refused.grade); });
  headline.rows = headline.evaluated.size() + headline.refused.size();
  return headline;
}

std::string FiguresText(const ErrorFigures& figures) {
  if (figures.simulated == 0) {
    return fmt::format("{} rows, none simulated", figures.rows);
  }
  return fmt::format(
      "{} rows, {} simulated; mean |error| {:.2f} %, median {:.2f} %, largest {:.1f} %, bias "
      "{:+.1f} %",
      figures.rows, figures.simulated, figures.mape, figures.median, figures.max, figures.bias);
}

Document::Table GroupTable(const Validation& validation, const KeyName& key) {
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = {{"", key.name, Unit::kText, 0},
                                    {"", "rows", Unit::kNumber},
                                    {"", "simulated", Unit::kNumber},
                                    {"", "MAPE", NumberFormat("{:.2f}")},
                                    {"", "median", NumberFormat("{:.2f}")},
                                    {"", "max", NumberFormat("{:.1f}")},
                                    {"", "bias", NumberFormat("{:+.1f}")}},
                        .max_shown = SIZE_MAX};
  for (const ErrorGroup& group : GroupsOf(validation, key.key)) {
    const ErrorFigures& figures = group.figures;
    std::vector<Value> cells{group.name, figures.rows, figures.simulated};
    if (figures.simulated > 0) {
      cells.insert(cells.end(), {figures.mape, figures.median, figures.max, figures.bias});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string PlanText(const workload::Job& job) {
  std::string text = fmt::format("{} x {}", job.gpus, job.gpu.name);
  for (const auto& [name, degree] : {std::pair("tp", job.plan.tp),
                                     {"pp", job.plan.pp},
                                     {"cp", job.plan.cp},
                                     {"dp", job.plan.dp},
                                     {"ep", job.plan.ep}}) {
    text += degree > 1 ? fmt::format(" {}{}", name, degree) : "";
  }
  return text;
}

Document::Table WorstTable(const Validation& validation) {
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = {{"", "worst rows", Unit::kText, 0},
                                    {"", "model", Unit::kText, 24},
                                    {"", "plan", Unit::kText, 0},
                                    {"", "measured s", NumberFormat("{:.4g}")},
                                    {"", "predicted s", NumberFormat("{:.4g}")},
                                    {"", "error %", NumberFormat("{:+.1f}", 100)}}};
  for (const EvaluatedRun* evaluated : WorstRuns(validation, kWorstRuns)) {
    table.rows.push_back({evaluated->run.id, evaluated->run.job.model.name,
                          PlanText(evaluated->run.job), evaluated->run.measured_s,
                          evaluated->predicted_s, evaluated->Error()});
  }
  return table;
}

Document::Table RefusedTable(const Validation& validation) {
  Document::Table table{
      .key = "",
      .heading = "",
      .columns = {{"", "refused", Unit::kNumber}, {"", "reason", Unit::kText, 100}, {"", "e.g."}},
      .max_shown = kShownReasons};
  for (const simulate::RefusalGroup& group : RefusalsOf(validation)) {
    table.rows.push_back({group.rows, group.reason, group.first_id});
  }
  return table;
}

void SetErrors(Value& object, const ErrorFigures& figures) {
  object.Set("rows", figures.rows);
  object.Set("simulated", figures.simulated);
  object.Set("mape", figures.mape);
  object.Set("median", figures.median);
}

Value GroupsValue(const Validation& validation, const KeyName& key, const char* name) {
  Value list = Value::List();
  for (const ErrorGroup& group : GroupsOf(validation, key.key)) {
    Value entry = Value::Object();
    entry.Set(name, group.name);
    SetErrors(entry, group.figures);
    entry.Set("max", group.figures.max);
    entry.Set("bias", group.figures.bias);
    list.Add(std::move(entry));
  }
  return list;
}

Value RefusedValue(const Validation& validation) {
  Value list = Value::List();
  for (const simulate::RefusedRun& refused : validation.refused) {
    Value entry = Value::Object();
    entry.Set("id", refused.id);
    entry.Set("reason", refused.reason);
    list.Add(std::move(entry));
  }
  return list;
}

Value TextsValue(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) {
    list.Add(text);
  }
  return list;
}

Value PredictionsValue(const Validation& validation) {
  Value list = Value::List();
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    Value entry = Value::Object();
    entry.Set("id", evaluated.run.id);
    entry.Set("measured_s", evaluated.run.measured_s);
    entry.Set("predicted_s", evaluated.predicted_s);
    if (!evaluated.run.derived_from.empty()) {
      entry.Set("derived_from", evaluated.run.derived_from);
    }
    entry.Set("assumed", TextsValue(evaluated.run.assumptions));
    list.Add(std::move(entry));
  }
  return list;
}

// The runs took place, so that each of these is a mistake of the model of memory.
std::string MemoryText(const Validation& validation) {
  const auto count = std::ranges::count(validation.evaluated, false, &EvaluatedRun::fits);
  return fmt::format("Memory    {} of {} simulated rows would not fit", count,
                     validation.evaluated.size());
}

Value UnfittingValue(const Validation& validation) {
  Value list = Value::List();
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    if (!evaluated.fits) {
      list.Add(evaluated.run.id);
    }
  }
  return list;
}

Table ValidationTable(const Validation& validation) {
  Table table;
  const std::size_t id = table.AddColumn("id", Table::Type::kText);
  const std::size_t source = table.AddColumn("source", Table::Type::kText);
  const std::size_t grade = table.AddColumn("grade", Table::Type::kText);
  const std::size_t gpu = table.AddColumn("gpu", Table::Type::kText);
  const std::size_t gpus = table.AddColumn("gpus", Table::Type::kInteger);
  const std::size_t measured = table.AddColumn("measured_s", Table::Type::kNumber);
  const std::size_t predicted = table.AddColumn("predicted_s", Table::Type::kNumber);
  const std::size_t error = table.AddColumn("error_percent", Table::Type::kNumber);
  const std::size_t fits = table.AddColumn("fits", Table::Type::kInteger);
  const std::size_t derived = table.AddColumn("derived_from", Table::Type::kText);
  const std::size_t assumed = table.AddColumn("assumed", Table::Type::kText);
  const std::size_t refusal = table.AddColumn("refused", Table::Type::kText);
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    const std::size_t row = table.AddRow();
    table.Set(row, id, evaluated.run.id);
    table.Set(row, source, evaluated.run.source);
    table.Set(row, grade, evaluated.run.grade);
    table.Set(row, gpu, evaluated.run.job.gpu.name);
    table.Set(row, gpus, std::int64_t{evaluated.run.job.gpus});
    table.Set(row, measured, evaluated.run.measured_s);
    table.Set(row, predicted, evaluated.predicted_s);
    table.Set(row, error, evaluated.Error() * 100);
    table.Set(row, fits, std::int64_t{evaluated.fits});
    if (!evaluated.run.derived_from.empty()) {
      table.Set(row, derived, evaluated.run.derived_from);
    }
    table.Set(row, assumed, fmt::format("{}", fmt::join(evaluated.run.assumptions, "; ")));
  }
  for (const simulate::RefusedRun& refused : validation.refused) {
    const std::size_t row = table.AddRow();
    table.Set(row, id, refused.id);
    table.Set(row, source, refused.source);
    table.Set(row, grade, refused.grade);
    table.Set(row, refusal, refused.reason);
  }
  return table;
}

Value DataOf(const Validation& validation, const ErrorFigures& figures) {
  Value data = Value::Object();
  SetErrors(data, figures);
  data.Set("sources", GroupsValue(validation, kKeys[0], "source"))
      .Set("refused", RefusedValue(validation))
      .Set("predictions", PredictionsValue(validation))
      .Set("max", figures.max)
      .Set("bias", figures.bias);
  Value headline = Value::Object();
  SetErrors(headline, FiguresOf(HeadlineOf(validation)));
  data.Set("headline", std::move(headline));
  for (const KeyName& key : std::span(kKeys).subspan(1)) {
    data.Set(key.list, GroupsValue(validation, key, "name"));
  }
  return data.Set("out_of_memory", UnfittingValue(validation));
}

}  // namespace

Document ValidationDocument(const Validation& validation) {
  const ErrorFigures figures = FiguresOf(validation);
  Document document{.title = "", .kind = "Orrery validation"};
  Document::Section& section = document.AddSection();
  section.Say("All       " + FiguresText(figures));
  const Validation headline = HeadlineOf(validation);
  if (headline.rows > 0 && headline.rows < validation.rows) {
    section.Say("A and A-  " + FiguresText(FiguresOf(headline)));
  }
  section.Say(MemoryText(validation));
  for (Document::Picture& picture : ValidationPictures(validation)) {
    section.Add(std::move(picture));
  }
  for (const KeyName& key : kKeys) {
    section.Add(GroupTable(validation, key));
  }
  section.Add(WorstTable(validation));
  if (!validation.refused.empty()) {
    section.Add(RefusedTable(validation));
  }
  document.data = DataOf(validation, figures);
  document.sheets.emplace_back("rows", ValidationTable(validation));
  return document;
}

}  // namespace orrery::cli
