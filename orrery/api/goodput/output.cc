#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/api/goodput/pictures.h"
#include "orrery/base/document/value.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"
#include "orrery/simulate/goodput/goodput_study.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::api {
namespace {

using simulate::GoodputSummary;
using simulate::GoodputVariant;
using simulate::LostTime;

constexpr double kHour = 3'600;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

std::string Percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

// "12.3 billion": a month has too many tokens to count digits.
std::string LargeCount(double value) {
  constexpr std::pair<double, const char*> kNames[] = {
      {1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (const auto& [unit, name] : kNames) {
    if (value >= unit) {
      return fmt::format("{:.4g}{}", value / unit, name);
    }
  }
  return draw::FormatCount(std::llround(value));
}

std::string CheckpointNote(const GoodputAnswer& answer, const GoodputFigures& figures) {
  const simulate::CheckpointTimes& times = answer.study.options.checkpoint;
  std::string note = fmt::format("{}, stall {}", draw::FormatBytes(answer.setting.checkpoint),
                                 SecondsText(Seconds(times.stall_ps)));
  if (times.write_ps > 0) {
    note += fmt::format(", written in {}", SecondsText(Seconds(times.write_ps)));
  }
  if (answer.has_checkpoint_traffic) {
    note += fmt::format("; {} of the stall is lost by steps beside it",
                        SecondsText(Seconds(answer.step.checkpoint_loss_ps)));
  }
  if (figures.mtbf_s && times.stall_ps > 0) {
    note +=
        fmt::format("; best {}, Young {}, Daly {}", SecondsText(answer.study.best_s.value_or(0)),
                    SecondsText(simulate::YoungInterval(Seconds(times.stall_ps), *figures.mtbf_s)),
                    SecondsText(simulate::DalyInterval(Seconds(times.stall_ps), *figures.mtbf_s)));
  }
  return note;
}

std::string StepNote(const GoodputStep& step) {
  if (!step.is_simulated) {
    return "as given";
  }
  return step.interval ? fmt::format("simulated; 80 % interval {:.3g} to {:.3g} s",
                                     step.interval->low_s, step.interval->high_s)
                       : "simulated";
}

void ShowYield(const GoodputAnswer& answer, const GoodputFigures& figures,
               Document::Section& section) {
  const std::string of_window = fmt::format("in {}", SecondsText(figures.window_s));
  const double yield = figures.tokens.value_or(figures.samples);
  section.Show(
      figures.tokens ? "tokens" : "samples", LargeCount(yield),
      fmt::format("{}; 80 % interval {} to {}", of_window, LargeCount(yield * figures.factors.low),
                  LargeCount(yield * figures.factors.high)));
  if (figures.dollars) {
    const double per_dollar = figures.YieldOf(answer, answer.study.chosen).value_or(0);
    section.Show("cost", fmt::format("${}", draw::FormatCount(std::llround(*figures.dollars))),
                 fmt::format("{}, spares included; {} {} per dollar", of_window,
                             LargeCount(per_dollar), figures.tokens ? "tokens" : "samples"));
  } else {
    section.Show("cost", "–", "--price H100=2.5 gives dollars of a GPU hour; none are shipped");
  }
}

void AddHead(const GoodputAnswer& answer, const GoodputFigures& figures, Document& document) {
  const simulate::GoodputStudy& study = answer.study;
  const GoodputSummary& summary = study.chosen.summary;
  Document::Section& section = document.AddSection();
  if (!answer.step.fits) {
    section.Say(
        "OUT OF MEMORY: the job does not fit into its GPUs (orrery simulate says what takes "
        "most); times are those of GPUs with enough memory.",
        Document::Text::Style::kAlarm);
  }
  if (!answer.left_out.empty()) {
    section.Say(fmt::format("left out of the job: {}", fmt::join(answer.left_out, "; ")),
                Document::Text::Style::kAlarm);
  }
  section.Show("effective training time", Percent(summary.ettr_mean),
               study.months.size() > 1
                   ? fmt::format("80 % of {} windows: {} to {}",
                                 draw::FormatCount(static_cast<std::int64_t>(study.months.size())),
                                 Percent(summary.ettr_p10), Percent(summary.ettr_p90))
                   : "of one window");
  ShowYield(answer, figures, section);
  section.Show("step", fmt::format("{:.4g} s", figures.step_s), StepNote(answer.step));
  section.Show("failures", fmt::format("{:.4g}", summary.num_failures()),
               figures.mtbf_s ? fmt::format("one in {}; rates: {}", SecondsText(*figures.mtbf_s),
                                            answer.setting.rates)
                              : "rates: " + answer.setting.rates);
  section.Show("checkpoints",
               figures.interval_s ? "every " + SecondsText(*figures.interval_s) : "none",
               CheckpointNote(answer, figures));
  section.Show("spares",
               fmt::format("{} of {} nodes", study.options.spares,
                           answer.setting.request.job.nodes + study.options.spares),
               fmt::format("repair takes {}", SecondsText(Seconds(study.options.repair_ps))));
}

// The largest changes, in a sentence each.
void AddAdvice(const GoodputAnswer& answer, const GoodputFigures& figures, Document& document) {
  const simulate::GoodputStudy& study = answer.study;
  const GoodputSummary& summary = study.chosen.summary;
  std::size_t largest = 0;
  for (std::size_t i = 0; i < summary.lost_s.size(); ++i) {
    largest = summary.lost_s[i] > summary.lost_s[largest] ? i : largest;
  }
  std::vector<std::string> sentences;
  if (summary.lost_s[largest] > 0) {
    sentences.push_back(
        fmt::format("Most is lost to {}: {} of {}.", LostTimeName(static_cast<LostTime>(largest)),
                    SecondsText(summary.lost_s[largest]), SecondsText(figures.window_s)));
  }
  if (study.best_s && figures.interval_s && study.chosen.expected_ettr) {
    const double best = simulate::ExpectedEttr(study.model, *study.best_s);
    const double gain = best - *study.chosen.expected_ettr;
    if (gain > 0.001) {
      sentences.push_back(fmt::format("A checkpoint every {} instead of {} gains {:.2g} points.",
                                      SecondsText(*study.best_s), SecondsText(*figures.interval_s),
                                      100 * gain));
    }
  }
  const GoodputVariant* paying = &study.chosen;
  const std::int64_t nodes = answer.setting.request.job.nodes;
  for (const GoodputVariant& variant : study.spares) {
    paying = variant.PaidShare(nodes) > paying->PaidShare(nodes) + 0.001 ? &variant : paying;
  }
  if (paying != &study.chosen) {
    sentences.push_back(
        fmt::format("{} spares instead of {} pay: {} of the GPU time that is paid "
                    "for is productive, not {}.",
                    paying->spares, study.chosen.spares, Percent(paying->PaidShare(nodes)),
                    Percent(study.chosen.PaidShare(nodes))));
  }
  document.sections.back().Say(fmt::format("{}", fmt::join(sentences, " ")),
                               Document::Text::Style::kVerdict);
}

void AddLostTime(const GoodputAnswer& answer, const GoodputFigures& figures, Document& document) {
  const GoodputSummary& summary = answer.study.chosen.summary;
  Document::Section& section = document.AddSection("Where the time goes");
  if (answer.study.months.size() > 1) {
    section.Add(EttrPicture(answer));
  }
  section.Add(LostTimePicture(answer));
  Document::Table table{.key = "lost_time",
                        .columns = {AsText("part", "part"),
                                    {"hours", "hours", NumberFormat("{:.2f}")},
                                    AsShare("share", "share")},
                        .total = {"window", figures.window_s / kHour, 1.0},
                        .max_shown = SIZE_MAX};
  table.rows.push_back({"productive", summary.productive_s / kHour, summary.ettr_mean});
  for (std::size_t i = 0; i < summary.lost_s.size(); ++i) {
    if (summary.lost_s[i] > 0) {
      table.rows.push_back({LostTimeName(static_cast<LostTime>(i)), summary.lost_s[i] / kHour,
                            summary.lost_s[i] / figures.window_s});
    }
  }
  section.Add(std::move(table));
}

void AddFailures(const GoodputAnswer& answer, Document& document) {
  const GoodputSummary& summary = answer.study.chosen.summary;
  Document::Table table{.key = "failures_by_part",
                        .columns = {AsText("part", "part that failed"),
                                    {"failures", "failures", NumberFormat("{:.1f}")}}};
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    if (summary.failures[i] > 0) {
      table.rows.push_back({simulate::kFailedParts[i].first, summary.failures[i]});
    }
  }
  if (!table.rows.empty()) {
    document.AddSection("Failures").Add(std::move(table));
  }
}

void AddIntervals(const GoodputAnswer& answer, const GoodputFigures& figures, Document& document) {
  if (answer.study.intervals.empty()) {
    return;
  }
  Document::Section& section = document.AddSection("Checkpoint interval: the cost of a wrong one");
  section.Add(IntervalPicture(answer));
  Document::Table table{.key = "intervals",
                        .columns = {AsText("interval", "interval"), AsShare("ettr_mean", "ETTR"),
                                    AsShare("ettr_expected", "by the formula"),
                                    AsShare("difference", "against the chosen")},
                        .caption =
                            "The formula is exact but for waiting, slow nodes and fewer replicas, "
                            "which it leaves out "
                            "(docs/design/0016-goodput.md)."};
  if (figures.dollars) {
    table.columns.push_back(AsCount("lost_dollars", "dollars lost"));
  }
  const double chosen = [&] {
    for (const GoodputVariant& variant : answer.study.intervals) {
      if (variant.interval_steps == answer.study.chosen.interval_steps) {
        return variant.summary.ettr_mean;
      }
    }
    return answer.study.chosen.summary.ettr_mean;
  }();
  for (const GoodputVariant& variant : answer.study.intervals) {
    const double difference = variant.summary.ettr_mean - chosen;
    table.rows.push_back({SecondsText(figures.IntervalOf(variant)), variant.summary.ettr_mean,
                          variant.expected_ettr, difference});
    if (figures.dollars) {
      table.rows.back().push_back(
          static_cast<std::int64_t>(std::llround(-*figures.dollars * difference / chosen)));
    }
  }
  section.Add(std::move(table));
}

void AddSpares(const GoodputAnswer& answer, const GoodputFigures& figures, Document& document) {
  Document::Section& section = document.AddSection("Spares that pay");
  section.Add(SparesPicture(answer));
  Document::Table table{.key = "spares",
                        .columns = {AsCount("spares", "spare nodes"), AsShare("ettr_mean", "ETTR"),
                                    AsShare("waiting", "waiting for a node"),
                                    AsShare("paid_share", "productive of GPU time paid for")},
                        .caption = "What a dollar buys follows the GPU time that is paid for."};
  if (figures.dollars) {
    table.columns.push_back(
        AsCount("yield_per_dollar", figures.tokens ? "tokens per dollar" : "samples per dollar"));
  }
  const double window_s = Seconds(answer.study.options.window_ps);
  for (const GoodputVariant& variant : answer.study.spares) {
    const double waiting_s =
        variant.summary.lost_s[static_cast<std::size_t>(LostTime::kWaitingForNode)];
    table.rows.push_back({variant.spares, variant.summary.ettr_mean, waiting_s / window_s,
                          variant.PaidShare(answer.setting.request.job.nodes)});
    if (figures.dollars) {
      table.rows.back().push_back(
          static_cast<std::int64_t>(std::llround(figures.YieldOf(answer, variant).value_or(0))));
    }
  }
  section.Add(std::move(table));
}

}  // namespace

Document GoodputDocument(const GoodputAnswer& answer) {
  const GoodputFigures figures(answer);
  Document document{.title = workload::JobLine(*answer.step.job),
                    .kind = "Orrery goodput: " + answer.step.job->name};
  AddHead(answer, figures, document);
  AddAdvice(answer, figures, document);
  AddLostTime(answer, figures, document);
  AddFailures(answer, document);
  AddIntervals(answer, figures, document);
  AddSpares(answer, figures, document);
  document.AddSection().Add(Document::List{"", "Assumed", answer.setting.assumed});
  document.AddSection().Add(Document::List{"", "Not modelled", GoodputNotModelled(answer), true});
  return document;
}

}  // namespace orrery::api
