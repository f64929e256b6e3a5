#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search/answer.h"
#include "orrery/api/search/pictures.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/reasons.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {
namespace {

using search::RankedPlan;
using search::Space;

constexpr double kPicoseconds = 1e12;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) / kPicoseconds;
}

// As a shell takes it.
std::string Quoted(const std::string& word) {
  constexpr std::string_view kPlain = "_-./=,:+@%";
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return IsDigit(c) || (LowerCase(c) >= 'a' && LowerCase(c) <= 'z') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

// The command of `orrery simulate` for a plan, in lines that can be pasted together: with the
// changes to the job that the search was given.
std::vector<std::string> SimulateCommand(const SearchAnswer& answer, search::PlanId id) {
  constexpr std::size_t kWidth = 90;
  std::vector<std::string> words{Quoted(answer.space.place())};
  for (const std::string& file : answer.kernel_models) {
    words.push_back("--models " + Quoted(file));
  }
  for (const std::string& setting : answer.space.SettingsOf(id)) {
    words.push_back("--set " + Quoted(setting));
  }
  std::vector<std::string> lines{"orrery simulate"};
  for (const std::string& word : words) {
    if (lines.back().size() + word.size() > kWidth) {
      lines.back() += " \\";
      lines.push_back("   " + word);
    } else {
      lines.back() += " " + word;
    }
  }
  return lines;
}

std::string CommonText(const SearchAnswer& answer, const std::vector<std::size_t>& differing) {
  const std::set<std::size_t> left_out(differing.begin(), differing.end());
  const std::vector<std::string> values =
      answer.space.ValuesOf(answer.result.best.front().bounded.id);
  std::vector<std::string> common;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!left_out.contains(i) && !values[i].empty()) {
      common.push_back(fmt::format("{} {}", ShortKey(answer.space.dimensions()[i].key), values[i]));
    }
  }
  return common.empty() ? "" : fmt::format("All of them: {}.", fmt::join(common, ", "));
}

void AddHead(const SearchAnswer& answer, Document& document) {
  const search::SearchResult& result = answer.result;
  Document::Section& section = document.AddSection();
  if (result.decided_share < 1) {
    const bool has_gap = !result.best.empty() && result.best_open;
    section.Say(
        fmt::format(
            "NOT COMPLETE: {:.1f} % of the space is decided{}.{}", 100 * result.decided_share,
            has_gap ? fmt::format("; an undecided plan may be up to {:.1f} % better than "
                                  "the first one here",
                                  100 * (1 - *result.best_open / result.best.front().objective))
                    : "",
            result.bounded_share < 1
                ? fmt::format(" Of {:.1f} % of the space nothing is known: the time was "
                              "over before it had bounds.",
                              100 * (1 - result.bounded_share))
                : ""),
        Document::Text::Style::kAlarm);
  }
  section.Show(
      "plans", draw::FormatCount(static_cast<std::int64_t>(result.considered)),
      fmt::format("{} do not fit into memory, {} are slower by their bound, {} were simulated",
                  draw::FormatCount(static_cast<std::int64_t>(result.pruned_by_memory)),
                  draw::FormatCount(static_cast<std::int64_t>(result.pruned_by_bound)),
                  draw::FormatCount(static_cast<std::int64_t>(result.simulated.size()))));
  if (result.refused > 0) {
    section.Show(
        "no plans", draw::FormatCount(static_cast<std::int64_t>(result.refused)),
        fmt::format("combinations that cannot be, such as micro-batches that do not divide "
                    "the global batch of {}",
                    draw::FormatCount(answer.space.bases().front().job.training.global_batch)));
  }
  if (result.failed > 0) {
    section.Show("not simulated", draw::FormatCount(static_cast<std::int64_t>(result.failed)),
                 result.first_failure);
  }
}

std::string TiesText(std::size_t ties) {
  return ties == 0 ? ""
                   : fmt::format("; {} other plan{} with it within the uncertainty of predictions",
                                 ties, ties == 1 ? " ties" : "s tie");
}

void AddWinner(const SearchAnswer& answer, Document& document) {
  const RankedPlan& best = answer.result.best.front();
  const auto ties =
      static_cast<std::size_t>(std::count(answer.ties.begin() + 1, answer.ties.end(), true));
  Document::Section& section = document.AddSection();
  section.Show("best step", fmt::format("{:.4g} s", Seconds(best.simulated.step_ps)),
               fmt::format("80 % interval {:.3g} to {:.3g} s{}", Seconds(best.simulated.low_ps),
                           Seconds(best.simulated.high_ps), TiesText(ties)));
  const std::optional<double> tokens = TokensOf(answer, best);
  const double items = tokens.value_or(best.simulated.samples_per_s);
  section.Show(
      "throughput",
      fmt::format("{} {}/s", draw::FormatCount(std::llround(items)), tokens ? "tokens" : "samples"),
      fmt::format("{:.4g} per GPU", items / BaseOf(answer, best).gpus));
  section.Add(PlanTable(answer));
  if (answer.space.TakesSettings()) {
    section.Say("The first one:");
    for (const std::string& line : SimulateCommand(answer, best.bounded.id)) {
      section.Say(line);
    }
  }
}

void AddReasons(const SearchAnswer& answer, Document& document) {
  const search::Reasons& reasons = answer.reasons;
  std::vector<std::string> steps;
  for (const search::Neighbour& neighbour : reasons.neighbours) {
    steps.push_back(neighbour.reason + ".");
  }
  std::vector<std::string> binding;
  for (const search::Sensitivity& better : reasons.sensitivities) {
    binding.push_back(fmt::format("10 % more {}: step {:+.1f} %", search::NameOf(better.resource),
                                  100 * better.change));
  }
  Document::Section& section = document.AddSection();
  section.Add(Document::List{.heading = "What binds the first plan", .items = binding});
  section.Add(Document::List{.heading = "One step away from it", .items = steps});
}

void AddPictures(const SearchAnswer& answer, Document& document) {
  if (!answer.is_drawn) {
    return;
  }
  if (answer.result.best.size() > 1) {
    Document::Section& kept = document.AddSection("The kept plans side by side");
    kept.shown = report::Shown::kInHtml;
    kept.Add(KeptPicture(answer));
  }
  Document::Section& timelines = document.AddSection(
      answer.timelines.size() > 1 ? "The first plan above the second" : "The first plan over time");
  timelines.shown = report::Shown::kInHtml;
  timelines.blocks.insert(timelines.blocks.end(), answer.timelines.begin(), answer.timelines.end());
}

void AddEmitted(const SearchAnswer& answer, Document& document) {
  Document::Section& section = document.AddSection(
      fmt::format("Plan {} as its training tool takes it", answer.emitted_plan));
  for (std::size_t begin = 0; begin < answer.emitted->text.size();) {
    const std::size_t end =
        std::min(answer.emitted->text.find('\n', begin), answer.emitted->text.size());
    section.Say(answer.emitted->text.substr(begin, end - begin));
    begin = end + 1;
  }
  section.Add(Document::List{.key = "not_expressed",
                             .heading = "Not expressed",
                             .items = answer.emitted->not_expressed,
                             .is_warning = true});
}

}  // namespace

std::string ShortKey(const std::string& key) {
  return key.substr(key.find('.') + 1);
}

std::vector<std::size_t> DifferingOf(const Space& space, const std::vector<search::PlanId>& ids) {
  std::vector<std::set<std::string>> values(space.dimensions().size());
  for (const search::PlanId id : ids) {
    const std::vector<std::string> own = space.ValuesOf(id);
    for (std::size_t i = 0; i < own.size(); ++i) {
      values[i].insert(own[i]);
    }
  }
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].size() > 1) {
      differing.push_back(i);
    }
  }
  return differing;
}

const workload::Job& BaseOf(const SearchAnswer& answer, const RankedPlan& ranked) {
  return answer.space.bases()[ranked.bounded.base].job;
}

std::optional<double> TokensOf(const SearchAnswer& answer, const RankedPlan& ranked) {
  return BaseOf(answer, ranked).model.transformer() != nullptr
             ? std::optional(ranked.simulated.tokens_per_s)
             : std::nullopt;
}

Document::Table PlanTable(const SearchAnswer& answer) {
  std::vector<search::PlanId> ids;
  for (const RankedPlan& ranked : answer.result.best) {
    ids.push_back(ranked.bounded.id);
  }
  const std::vector<std::size_t> differing = DifferingOf(answer.space, ids);
  Document::Table table;
  table.key = "plans";
  table.heading = "Best plans";
  table.columns = {AsCount("rank", "#"),
                   Formatted("step s", NumberFormat("{:.4g}")),
                   Formatted("over the best", NumberFormat("{:+.2f} %", 100)),
                   AsText("tie"),
                   Formatted("MFU", NumberFormat("{:.1f} %", 100)),
                   AsBytes("memory_bytes", "memory")};
  table.columns[1].key = "step_s";
  table.columns[2].key = "over_best";
  table.columns[3].key = "tie";
  table.columns[4].key = "mfu";
  for (const std::size_t i : differing) {
    const std::string& key = answer.space.dimensions()[i].key;
    table.columns.push_back(AsText(ShortKey(key), ShortKey(key), 24));
  }
  for (std::size_t i = 0; i < answer.result.best.size(); ++i) {
    const RankedPlan& ranked = answer.result.best[i];
    std::vector<Value> row{i + 1,
                           Seconds(ranked.simulated.step_ps),
                           ranked.objective / answer.result.best.front().objective - 1,
                           answer.ties[i] && i > 0 ? "tie" : "",
                           ranked.simulated.mfu,
                           ranked.simulated.memory_bytes};
    const std::vector<std::string> values = answer.space.ValuesOf(ranked.bounded.id);
    for (const std::size_t dimension : differing) {
      row.emplace_back(values[dimension].empty() ? "–" : values[dimension]);
    }
    table.rows.push_back(std::move(row));
  }
  table.caption = CommonText(answer, differing);
  return table;
}

Document SearchDocument(const SearchAnswer& answer) {
  Document document;
  document.kind = "Orrery search";
  document.title = fmt::format("Plans of {}", answer.space.bases().front().job.name);
  AddHead(answer, document);
  if (!answer.result.best.empty()) {
    AddWinner(answer, document);
    AddFront(answer, document);
    AddPictures(answer, document);
    AddReasons(answer, document);
    document.AddSection()
        .Add(Document::List{"left_out", "Left out of the job", answer.left_out, true})
        .Add(Document::List{"not_modelled", "Not modelled", answer.not_modelled, true});
  }
  if (answer.emitted) {
    AddEmitted(answer, document);
  }
  return document;
}

}  // namespace orrery::api
