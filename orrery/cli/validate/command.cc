#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/statistics.h"
#include "orrery/base/table.h"
#include "orrery/base/text.h"
#include "orrery/base/value.h"
#include "orrery/base/work_dealer.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/validate/left_out.h"
#include "orrery/cli/validate/ranking.h"
#include "orrery/cli/verb.h"
#include "orrery/distribute/deal.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/baselines.h"
#include "orrery/simulate/framework_fit.h"
#include "orrery/simulate/interval_calibration.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/validation.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::cli {
namespace {

using simulate::ErrorFigures;
using simulate::ErrorGroup;
using simulate::EvaluatedRun;
using simulate::GroupKey;
using simulate::Validation;

constexpr std::string_view kOthers = "other sources";
// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 4;
constexpr double kLongestErrorPercent = 60;
constexpr double kNanosecondsOfSecond = 1e9;
constexpr std::size_t kNameWidth = 22;  // of a row of the lower chart

// Colours of sources, largest source first; all smaller ones share the last.
constexpr std::array<std::string_view, 7> kStyles = {"compute", "transfer",    "memory", "host",
                                                     "launch",  "device-wait", "other"};

// Names of sources by rows, as many as have a colour of their own.
std::vector<std::string> LargestSources(const Validation& validation) {
  std::vector<ErrorGroup> groups = GroupsOf(validation, simulate::GroupKey::kSource);
  std::erase_if(groups, [](const ErrorGroup& group) { return group.figures.simulated == 0; });
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const ErrorGroup& group) { return group.figures.simulated; });
  const bool has_others = groups.size() > kStyles.size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < groups.size() && i < kStyles.size() - (has_others ? 1 : 0); ++i) {
    names.push_back(groups[i].name);
  }
  if (has_others) {
    names.emplace_back(kOthers);
  }
  return names;
}

std::size_t SeriesOf(const EvaluatedRun& evaluated, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, evaluated.run.source);
  return found == names.end() ? names.size() - 1 : static_cast<std::size_t>(found - names.begin());
}

draw::ScatterChart RatioChart(const Validation& validation, const std::vector<std::string>& names) {
  draw::ScatterChart chart{.lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured step",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured time of each step"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    chart.series.push_back({names[i], std::string(kStyles[i])});
  }
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    chart.points.push_back(
        {.x = evaluated.run.measured_s * kNanosecondsOfSecond,
         .y = std::clamp(1 + evaluated.Error(), 1 / kLargestRatio, kLargestRatio),
         .series = SeriesOf(evaluated, names)});
  }
  return chart;
}

draw::SpreadChart ErrorChart(const Validation& validation, const std::vector<std::string>& names) {
  draw::SpreadChart chart{.quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each source are spread"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<double> errors;
    for (const EvaluatedRun& evaluated : validation.evaluated) {
      if (SeriesOf(evaluated, names) == i) {
        errors.push_back(100 * std::abs(evaluated.Error()));
      }
    }
    chart.rows.push_back(
        {.series = {draw::Truncated(names[i], kNameWidth), std::string(kStyles[i])},
         .smallest = Quantile(errors, 0.05),
         .lower_quartile = Quantile(errors, 0.25),
         .median = std::min(kLongestErrorPercent, Quantile(errors, 0.5)),
         .upper_quartile = std::min(kLongestErrorPercent, Quantile(errors, 0.75)),
         .largest = std::min(kLongestErrorPercent, Quantile(errors, 0.95)),
         .note = fmt::format("mean {:.1f} %, {} rows", Mean(errors), errors.size())});
  }
  return chart;
}

std::vector<Document::Picture> ValidationPictures(const Validation& validation) {
  if (validation.evaluated.empty()) {
    return {};
  }
  const std::vector<std::string> names = LargestSources(validation);
  const simulate::ErrorFigures figures = FiguresOf(validation);
  const draw::ScatterChart ratios = RatioChart(validation, names);
  return {{.heading = "Predicted against measured training steps",
           .svg = draw::RenderScatter(ratios),
           .caption = fmt::format("{} of {} rows simulated: mean |error| {:.2f} %, median {:.2f} %",
                                  figures.simulated, figures.rows, figures.mape, figures.median),
           .legend = draw::ScatterLegend(ratios)},
          {.heading = "Errors by source",
           .svg = draw::RenderSpreadChart(ErrorChart(validation, names)),
           .caption = std::string(kSpreadCaption)}};
}

constexpr std::size_t kWorstRuns = 10;
constexpr std::size_t kShownReasons = 20;

struct KeyName {
  GroupKey key;
  const char* name;  // a column's header
  const char* list;  // a list in JSON
};

constexpr std::array<KeyName, 8> kKeys{{{GroupKey::kSource, "source", "sources"},
                                        {GroupKey::kStack, "stack", "stacks"},
                                        {GroupKey::kTeam, "team", "teams"},
                                        {GroupKey::kRelease, "team and release", "releases"},
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
                       [](const auto& refused) { return IsHeadline(refused.label.grade); });
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
  Document::Table table{.columns = {{"", key.name, Unit::kText, 0},
                                    AsNumber("rows"),
                                    AsNumber("simulated"),
                                    Formatted("MAPE", NumberFormat("{:.2f}")),
                                    Formatted("median", NumberFormat("{:.2f}")),
                                    Formatted("max", NumberFormat("{:.1f}")),
                                    Formatted("bias", NumberFormat("{:+.1f}")),
                                    Formatted("in 80 %", NumberFormat("{:.0f}"))},
                        .max_shown = SIZE_MAX};
  for (const ErrorGroup& group : GroupsOf(validation, key.key)) {
    const ErrorFigures& figures = group.figures;
    std::vector<Value> cells{group.name, figures.rows, figures.simulated};
    if (figures.simulated > 0) {
      cells.insert(cells.end(),
                   {figures.mape, figures.median, figures.max, figures.bias, figures.coverage});
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
  Document::Table table{.columns = {AsText("", "worst rows", 0), AsText("", "model", 24),
                                    AsText("", "plan", 0),
                                    Formatted("measured s", NumberFormat("{:.4g}")),
                                    Formatted("predicted s", NumberFormat("{:.4g}")),
                                    Formatted("error %", NumberFormat("{:+.1f}", 100))}};
  for (const EvaluatedRun* evaluated : WorstRuns(validation, kWorstRuns)) {
    table.rows.push_back({evaluated->run.id, evaluated->run.job.model.name,
                          PlanText(evaluated->run.job), evaluated->run.measured_s,
                          evaluated->predicted_s, evaluated->Error()});
  }
  return table;
}

Document::Table RefusedTable(const Validation& validation) {
  Document::Table table{.columns = {AsNumber("refused"), AsText("", "reason", 100), AsText("e.g.")},
                        .max_shown = kShownReasons};
  for (const simulate::RefusalGroup& group : RefusalsOf(validation)) {
    table.rows.push_back({group.rows, group.reason, group.first_id});
  }
  return table;
}

Value WithErrors(Value object, const ErrorFigures& figures) {
  return object.Set("rows", figures.rows)
      .Set("simulated", figures.simulated)
      .Set("mape", figures.mape)
      .Set("median", figures.median);
}

Value GroupsValue(const Validation& validation, const KeyName& key, const char* name) {
  return Value::ListOf(GroupsOf(validation, key.key), [&](const ErrorGroup& group) {
    return WithErrors(Value::Object().Set(name, group.name), group.figures)
        .Set("max", group.figures.max)
        .Set("bias", group.figures.bias)
        .Set("coverage_80", group.figures.coverage);
  });
}

Value RefusedData(const simulate::RefusedRun& refused) {
  return Value::Object().Set("id", refused.label.id).Set("reason", refused.reason);
}

Value PredictionData(const EvaluatedRun& evaluated) {
  Value entry = Value::Object();
  entry.Set("id", evaluated.run.id)
      .Set("measured_s", evaluated.run.measured_s)
      .Set("predicted_s", evaluated.predicted_s)
      .Set("low_s", evaluated.interval.low_s)
      .Set("high_s", evaluated.interval.high_s);
  if (!evaluated.run.derived_from.empty()) {
    entry.Set("derived_from", evaluated.run.derived_from);
  }
  return entry.Set("assumed", Value::ListOf(evaluated.run.assumptions));
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
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kInteger = Table::Type::kInteger;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"id", kText},
               {"source", kText},
               {"team", kText},
               {"stack", kText},
               {"release", kText},
               {"grade", kText},
               {"gpu", kText},
               {"gpus", kInteger},
               {"measured_s", kNumber},
               {"predicted_s", kNumber},
               {"low_s", kNumber},
               {"high_s", kNumber},
               {"error_percent", kNumber},
               {"fits", kInteger},
               {"model_flops", kNumber},
               {"peak_flops", kNumber},
               {"roofline_s", kNumber},
               {"analytic_s", kNumber},
               {"gemms", kNumber},
               {"attention", kNumber},
               {"memory", kNumber},
               {"communication", kNumber},
               {"host", kNumber},
               {"unmeasured", kNumber},
               {"bubble", kNumber},
               {"utilisation", kNumber},
               {"experts", kInteger},
               {"fitted", kInteger},
               {"derived_from", kText},
               {"assumed", kText},
               {"refused", kText}});
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    const auto& run = evaluated.run;
    const simulate::Baselines baselines = simulate::BaselinesOf(run.job);
    table.AddRow({run.id,
                  run.source,
                  run.team,
                  run.stack,
                  run.release,
                  run.grade,
                  run.job.gpu.name,
                  std::int64_t{run.job.gpus},
                  run.measured_s,
                  evaluated.predicted_s,
                  evaluated.interval.low_s,
                  evaluated.interval.high_s,
                  evaluated.Error() * 100,
                  std::int64_t{evaluated.fits},
                  baselines.model_flops,
                  baselines.peak_flops,
                  baselines.roofline_s,
                  baselines.analytic_s,
                  evaluated.traits.shares[simulate::kGemms],
                  evaluated.traits.shares[simulate::kAttention],
                  evaluated.traits.shares[simulate::kMemory],
                  evaluated.traits.shares[simulate::kCommunication],
                  evaluated.traits.shares[simulate::kHost],
                  evaluated.traits.unmeasured,
                  evaluated.traits.bubble,
                  evaluated.traits.utilisation,
                  std::int64_t{evaluated.traits.has_experts},
                  std::int64_t{evaluated.traits.is_fitted},
                  run.derived_from.empty() ? Table::Cell() : Table::Cell(run.derived_from),
                  fmt::format("{}", fmt::join(run.assumptions, "; ")),
                  Table::Cell()});
  }
  for (const simulate::RefusedRun& refused : validation.refused) {
    const workload::RunLabel& label = refused.label;
    std::vector<Table::Cell> cells{label.id,    label.source,  label.team,
                                   label.stack, label.release, label.grade};
    cells.resize(table.num_columns());
    cells.back() = refused.reason;
    table.AddRow(std::move(cells));
  }
  return table;
}

Value DataOf(const Validation& validation, const ErrorFigures& figures) {
  Value data = WithErrors(Value::Object(), figures);
  data.Set("sources", GroupsValue(validation, kKeys[0], "source"))
      .Set("refused", Value::ListOf(validation.refused, RefusedData))
      .Set("predictions", Value::ListOf(validation.evaluated, PredictionData))
      .Set("max", figures.max)
      .Set("bias", figures.bias)
      .Set("coverage_80", figures.coverage)
      .Set("headline", WithErrors(Value::Object(), FiguresOf(HeadlineOf(validation))));
  for (const KeyName& key : std::span(kKeys).subspan(1)) {
    data.Set(key.list, GroupsValue(validation, key, key.key == GroupKey::kTeam ? "team" : "name"));
  }
  return data.Set("out_of_memory", UnfittingValue(validation));
}

/// What the rows' predictions have seen of them.
struct FitNote {
  const char* word;
  const char* sentence;
};

constexpr FitNote kLeftOutNote{
    "left out",
    "left out: each row is judged by frameworks and intervals fitted without its stack and its "
    "team, and by collectives that neither measured"};
constexpr FitNote kInSampleNote{
    "in sample",
    "in sample: frameworks were fitted to published runs, which may be rows of this table; "
    "--leave-team-out judges rows by fits that have not seen them"};

Document ValidationDocument(const Validation& validation, const FitNote& fit) {
  const ErrorFigures figures = FiguresOf(validation);
  Document document{.kind = fmt::format("Orrery validation, {}", fit.word)};
  Document::Section& section = document.AddSection();
  section.Say(fmt::format("Fit       {}", fit.sentence));
  section.Say("All       " + FiguresText(figures));
  const Validation headline = HeadlineOf(validation);
  if (headline.rows > 0 && headline.rows < validation.rows) {
    section.Say("A and A-  " + FiguresText(FiguresOf(headline)));
  }
  section.Say(MemoryText(validation));
  if (figures.simulated > 0) {
    section.Say(fmt::format("Interval  {:.0f} % of the measured steps are in the 80 % interval",
                            figures.coverage));
  }
  std::ranges::move(ValidationPictures(validation), std::back_inserter(section.blocks));
  for (const KeyName& key : kKeys) {
    section.Add(GroupTable(validation, key));
  }
  section.Add(WorstTable(validation));
  if (!validation.refused.empty()) {
    section.Add(RefusedTable(validation));
  }
  document.data = DataOf(validation, figures);
  document.data.Set("fit", fit.word);
  document.sheets.emplace_back("rows", ValidationTable(validation));
  return document;
}

struct ValidateArguments {
  std::string path;
  std::string source;
  std::vector<std::string> teams;
  std::vector<std::string> stacks;
  std::vector<std::string> grades;
  std::vector<std::string> models;
  std::string frameworks;
  std::vector<std::string> without;  // mechanisms
  bool leaves_team_out = false;
  bool ranks_plans = false;
  simulate::SimulationOptions engine;
  int threads = 0;
  OutputOptions output;
};

bool IsListed(const std::string& name, const std::vector<std::string>& listed) {
  return listed.empty() || std::ranges::any_of(listed, [&](const std::string& one) {
           return SameIgnoringCase(name, one);
         });
}

bool IsRequested(const workload::RunLabel& label, const ValidateArguments& arguments) {
  const bool has_source =
      LowerCase(label.source).find(LowerCase(arguments.source)) != std::string::npos;
  const bool has_grade = arguments.grades.empty() ||
                         std::ranges::find(arguments.grades, label.grade) != arguments.grades.end();
  return has_source && has_grade && IsListed(label.team, arguments.teams) &&
         IsListed(label.stack, arguments.stacks);
}

Result<workload::Mechanisms> MechanismsWithout(const std::vector<std::string>& names) {
  workload::Mechanisms mechanisms;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find(workload::kMechanismNames, name, &workload::MechanismName::name);
    if (found == workload::kMechanismNames.end()) {
      std::vector<std::string_view> known;
      std::ranges::transform(workload::kMechanismNames, std::back_inserter(known),
                             &workload::MechanismName::name);
      return InvalidInput("--without {}: no such mechanism; there are {}", name,
                          fmt::join(known, ", "));
    }
    mechanisms.*found->member = false;
  }
  return mechanisms;
}

Result<int> Validate(const ValidateArguments& arguments, WorkDealer& dealer) {
  if (arguments.ranks_plans && !arguments.output.svg_file.empty()) {
    return InvalidInput("--rank has no picture: leave out --svg, or write a page with --html");
  }
  ORRERY_TRY(const std::unique_ptr<workload::RunTable> table,
             workload::OpenRunTable(arguments.path));
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             LoadKernelModels(arguments.models));
  simulate::ValidateOptions options;
  options.filter = [&](const workload::RunLabel& label) { return IsRequested(label, arguments); };
  ORRERY_TRY(const workload::Mechanisms mechanisms, MechanismsWithout(arguments.without));
  options.engine = arguments.engine;
  ORRERY_TRY(const std::shared_ptr<const overlap::Model> overlap_model,
             LoadOverlapModel(options.engine));
  ORRERY_TRY(const std::optional<OtherFits> other_fits, ReadOtherFits(arguments.frameworks));
  LeftOutJudges judges;
  if (arguments.leaves_team_out) {
    judges = JudgesWithout(*table, *models, options, mechanisms, dealer);
    options.intervals = [&](const workload::RunLabel& label) -> const simulate::StepIntervals& {
      return judges.For(label).intervals;
    };
    options.collectives = [&](const workload::RunLabel& label) {
      return &judges.For(label).models.collectives;
    };
  } else if (other_fits) {
    options.intervals = [&](const workload::RunLabel&) -> const simulate::StepIntervals& {
      return other_fits->intervals;
    };
  }
  options.change = [&](const workload::RunLabel& label, workload::Job& job) {
    job.mechanisms = mechanisms;
    if (arguments.leaves_team_out) {
      simulate::CopyScalarsNamed(judges.For(label).models.frameworks, job.framework);
    } else if (other_fits) {
      simulate::CopyScalarsNamed(other_fits->frameworks, job.framework);
    }
  };
  // Begins after the fit, which shows its own.
  ProgressLine progress(TerminalProgress(dealer), "simulating");
  options.progress = [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "rows");
  };
  ORRERY_TRY(const simulate::Validation validation,
             simulate::Validate(*table, *models, options, dealer));
  progress.Clear();
  if (!dealer.is_root()) {
    return kExitOk;
  }
  if (validation.rows == 0) {
    return InvalidInput(
        "{}: no row has the requested source and grade; leave out --source "
        "or --grade to list them",
        arguments.path);
  }
  if (arguments.ranks_plans) {
    return Deliver(RankingDocument(validation), arguments.output);
  }
  OutputOptions output = arguments.output;
  if (validation.evaluated.empty()) {
    output.svg_file.clear();  // there is nothing to draw
  }
  return Deliver(
      ValidationDocument(validation, arguments.leaves_team_out ? kLeftOutNote : kInSampleNote),
      output);
}

}  // namespace

void AddValidateCommand(Verb& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  Verb verb = app.AddVerb("validate", "Simulated against measured steps of published runs");
  verb.AddOption("TRUTH", arguments->path,
                 "a table of measured runs (.csv, .csv.gz); docs/formats/published-runs.md")
      .Required();
  verb.AddOption("--source TEXT", arguments->source, "only rows whose source contains this");
  verb.AddOption("--team LIST", arguments->teams,
                 "only rows that these teams measured: NVIDIA,KAIST")
      .Delimiter(',');
  verb.AddOption("--stack LIST", arguments->stacks,
                 "only rows that ran these stacks: nanotron,Composer")
      .Delimiter(',');
  verb.AddOption("--grade LIST", arguments->grades, "only rows of these grades: A,A-")
      .Delimiter(',');
  verb.AddOption("--model FILE", arguments->models,
                 "kernel models of `orrery fit`, instead of the shipped ones");
  verb.AddOption("--frameworks FILE", arguments->frameworks,
                 "scalars of `orrery fit frameworks`, instead of the shipped ones");
  verb.AddFlag(
      "--leave-team-out", arguments->leaves_team_out,
      "judge each row by frameworks and intervals that were fitted without its stack and its "
      "team (data/workload/stacks.yaml)");
  verb.AddFlag("--rank", arguments->ranks_plans,
               "judge the order of plans instead of times: groups of six rows or more that differ "
               "only in their plan, and what choosing our first costs over the measured best");
  verb.AddOption("--without NAME", arguments->without,
                 "leave a mechanism of the simulator out, to see what it does: power")
      .Delimiter(',');
  verb.AddOption(
      "--csv FILE", arguments->output.csv_file,
      "write every row with its error or refusal; with --rank every plan of every group");
  verb.AddOption("--svg FILE", arguments->output.svg_file,
                 "draw predicted against measured steps by source");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.AddChoice(
      "--network", arguments->engine.network.model,
      {{"alone", simulate::NetworkModel::kAlone}, {"shared", simulate::NetworkModel::kShared}},
      "how transfers of different groups share the network (default: shared over several "
      "nodes)");
  verb.AddOption("--threads", arguments->threads,
                 "at most this many, of each process (one for each core)")
      .NonNegative();
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] {
    return distribute::WithDealer(arguments->threads,
                                  [&](WorkDealer& dealer) { return Validate(*arguments, dealer); });
  });
}

}  // namespace orrery::cli
