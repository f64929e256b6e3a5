#include "orrery/cli/validate/output.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/value.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"
#include "orrery/simulate/validation_groups.h"

namespace orrery::cli {
namespace {

using draw::TextTable;
using simulate::ErrorFigures;
using simulate::ErrorGroup;
using simulate::GroupKey;
using simulate::EvaluatedRun;
using simulate::Validation;

constexpr std::size_t kWorstRuns = 10;
constexpr std::size_t kShownReasons = 20;
constexpr std::size_t kReasonWidth = 100;
constexpr auto kRight = TextTable::Align::kRight;

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
  std::ranges::copy_if(validation.evaluated, std::back_inserter(headline.evaluated),
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

std::vector<std::string> Cells(const ErrorGroup& group) {
  const ErrorFigures& figures = group.figures;
  std::vector<std::string> cells = {group.name, std::to_string(figures.rows),
                                    std::to_string(figures.simulated)};
  if (figures.simulated > 0) {
    for (const double figure : {figures.mape, figures.median}) {
      cells.push_back(fmt::format("{:.2f}", figure));
    }
    cells.push_back(fmt::format("{:.1f}", figures.max));
    cells.push_back(fmt::format("{:+.1f}", figures.bias));
  }
  return cells;
}

std::string GroupText(const Validation& validation, const KeyName& key) {
  TextTable table({{key.name},
                   {"rows", kRight},
                   {"simulated", kRight},
                   {"MAPE", kRight},
                   {"median", kRight},
                   {"max", kRight},
                   {"bias", kRight}});
  for (const ErrorGroup& group : GroupsOf(validation, key.key)) {
    table.AddRow(Cells(group));
  }
  return "\n" + table.Render();
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

std::string WorstText(const Validation& validation) {
  TextTable table({{"worst rows"},
                   {"model", TextTable::Align::kLeft, 24},
                   {"plan"},
                   {"measured s", kRight},
                   {"predicted s", kRight},
                   {"error %", kRight}});
  for (const EvaluatedRun* evaluated : WorstRuns(validation, kWorstRuns)) {
    table.AddRow({evaluated->run.id, evaluated->run.job.model.name, PlanText(evaluated->run.job),
                  fmt::format("{:.4g}", evaluated->run.measured_s),
                  fmt::format("{:.4g}", evaluated->predicted_s),
                  fmt::format("{:+.1f}", evaluated->Error() * 100)});
  }
  return "\n" + table.Render();
}

std::string RefusedText(const Validation& validation) {
  if (validation.refused.empty()) {
    return {};
  }
  const std::vector<simulate::RefusalGroup> groups = RefusalsOf(validation);
  TextTable table(
      {{"refused", kRight}, {"reason", TextTable::Align::kLeft, kReasonWidth}, {"e.g."}});
  const std::size_t shown = std::min(groups.size(), kShownReasons);
  std::size_t rest = validation.refused.size();
  for (std::size_t i = 0; i < shown; ++i) {
    table.AddRow({std::to_string(groups[i].rows), groups[i].reason, groups[i].first_id});
    rest -= groups[i].rows;
  }
  std::string text = "\n" + table.Render();
  if (rest > 0) {
    text += fmt::format("… and {} more rows for {} other reasons\n", rest, groups.size() - shown);
  }
  return text;
}

void SetFigures(Value& object, const ErrorFigures& figures) {
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
    SetFigures(entry, group.figures);
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
  return fmt::format("Memory    {} of {} simulated rows would not fit\n", count,
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

}  // namespace

std::string ValidationText(const Validation& validation) {
  std::string text = "All       " + FiguresText(FiguresOf(validation)) + "\n";
  const Validation headline = HeadlineOf(validation);
  if (headline.rows > 0 && headline.rows < validation.rows) {
    text += "A and A-  " + FiguresText(FiguresOf(headline)) + "\n";
  }
  text += MemoryText(validation);
  for (const KeyName& key : kKeys) {
    text += GroupText(validation, key);
  }
  return text + WorstText(validation) + RefusedText(validation);
}

std::string ValidationJson(const Validation& validation) {
  Value document = Value::Object();
  const ErrorFigures figures = FiguresOf(validation);
  SetFigures(document, figures);
  document.Set("sources", GroupsValue(validation, kKeys[0], "source"));
  document.Set("refused", RefusedValue(validation));
  document.Set("predictions", PredictionsValue(validation));
  document.Set("max", figures.max);
  document.Set("bias", figures.bias);
  Value headline = Value::Object();
  SetFigures(headline, FiguresOf(HeadlineOf(validation)));
  document.Set("headline", std::move(headline));
  for (const KeyName& key : std::span(kKeys).subspan(1)) {
    document.Set(key.list, GroupsValue(validation, key, "name"));
  }
  document.Set("out_of_memory", UnfittingValue(validation));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
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

}  // namespace orrery::cli
