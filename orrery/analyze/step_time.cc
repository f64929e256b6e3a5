#include "orrery/analyze/step_time.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze {
namespace {

void Extend(Interval& whole, std::int64_t begin_ns, std::int64_t end_ns) {
  whole.begin_ns = std::min(whole.begin_ns, begin_ns);
  whole.end_ns = std::max(whole.end_ns, end_ns);
}

std::vector<RankSteps> StepsOfRanks(const RunView& run) {
  std::vector<RankSteps> ranks;
  for (const std::uint32_t place : ChosenRanks(run)) {
    const trace::Trace& trace = run.set->ranks[place];
    RankSteps steps{.rank = trace::RankOf(*run.set, place)};
    for (const RowId step : SelectedSteps(trace, run.options)) {
      steps.seconds.push_back(static_cast<double>(trace.steps.duration_ns[step]) / 1e9);
    }
    if (!steps.seconds.empty()) {
      ranks.push_back(std::move(steps));
    }
  }
  return ranks;
}

// Reads digits at the front of `text` and removes them.
std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return number;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) {
    return false;
  }
  text.remove_prefix(word.size());
  return true;
}

// "(12)", "(sq12sk12sqsq144sqsk144)": the first number, and the rest is skipped.
std::int64_t TakeParenthesis(std::string_view& text) {
  if (!text.starts_with('(')) {
    return 0;
  }
  const std::size_t end = text.find(')');
  std::string_view inside = text.substr(1, end - 1);
  text.remove_prefix(std::min(end == std::string_view::npos ? text.size() : end + 1, text.size()));
  while (!inside.empty() && (inside.front() < '0' || inside.front() > '9')) {
    inside.remove_prefix(1);
  }
  return TakeNumber(inside).value_or(0);
}

struct Sums {
  std::int64_t tokens = 0;
  std::int64_t ns = 0;
};

Sums EngineSums(const RunView& run) {
  Sums sums;
  for (const trace::Trace& trace : run.set->ranks) {
    for (const RowId step : SelectedSteps(trace, run.options)) {
      if (const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]))) {
        sums.tokens += engine->context_tokens + engine->generated_tokens;
        sums.ns += trace.steps.duration_ns[step];
      }
    }
  }
  return sums;
}

TokenRate FromCard(const RunView& run) {
  const StepTime step_time = MeasureStepTime(run);
  if (!step_time.seconds) {
    return {.reason = kNoStepsReason};
  }
  for (const std::string_view field : {"batch_size", "seq_len"}) {
    if (!CardNumber(*run.set, field)) {
      return {.reason = WhyNoCardValue(*run.set, field)};
    }
  }
  return {.tokens_per_second = *CardNumber(*run.set, "batch_size") *
                               *CardNumber(*run.set, "seq_len") / *step_time.seconds,
          .source = "batch_size * seq_len of the card / step time"};
}

}  // namespace

Interval RecordedTime(const RunView& run, bool& is_device_time) {
  Interval whole{std::numeric_limits<std::int64_t>::max(),
                 std::numeric_limits<std::int64_t>::min()};
  for (const DeviceView& device : run.devices) {
    const trace::Activities& activities = run.TraceOf(device).activities;
    for (const RowId row : device.activities) {
      Extend(whole, activities.begin_ns[row],
             activities.begin_ns[row] + activities.duration_ns[row]);
    }
  }
  is_device_time = whole.begin_ns < whole.end_ns;
  if (!is_device_time) {
    for (const trace::Trace& trace : run.set->ranks) {
      const trace::Span span = trace::RecordedSpan(trace);
      Extend(whole, span.begin_ns, span.end_ns);
    }
  }
  return whole.begin_ns < whole.end_ns ? whole : Interval{};
}

StepTime MeasureStepTime(const RunView& run) {
  StepTime time{.ranks = StepsOfRanks(run)};
  std::vector<double> means;
  for (const RankSteps& rank : time.ranks) {
    means.push_back(Mean(rank.seconds));
  }
  if (!means.empty()) {
    time.seconds = Mean(means);
    return time;
  }
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  const auto iterations = CardInteger(*run.set, "iteration");
  if (iterations && whole.length_ns() > 0) {
    time.seconds = static_cast<double>(whole.length_ns()) / 1e9 / static_cast<double>(*iterations);
    time.is_estimated = true;
  }
  return time;
}

std::optional<EngineStep> ParseEngineStep(std::string_view name) {
  if (!TakeWord(name, "execute_")) {
    return std::nullopt;
  }
  EngineStep step;
  const auto all_tokens = TakeNumber(name);
  if (all_tokens && !TakeWord(name, "_")) {
    return std::nullopt;
  }
  if (!TakeWord(name, "context_")) {
    return std::nullopt;
  }
  step.num_prompts = TakeNumber(name).value_or(0);
  step.context_tokens = TakeParenthesis(name);
  if (TakeWord(name, "_generation_")) {
    step.generated_tokens = TakeNumber(name).value_or(0);
  }
  if (all_tokens) {
    step.context_tokens = *all_tokens - step.generated_tokens;
  }
  return step;
}

const Table* FindTable(const RunView& run, std::string_view format) {
  const auto found = std::ranges::find(run.measurements, format, &Measurement::format);
  return found == run.measurements.end() ? nullptr : found->rows;
}

TokenRate MeasureTokenRate(const RunView& run) {
  const Table* const serving = FindTable(run, "serving benchmark");
  if (serving != nullptr && serving->num_rows() > 0) {
    const auto tokens = serving->Number(0, "total_output_tokens");
    const auto seconds = serving->Number(0, "duration_s");
    if (tokens && seconds && *seconds > 0) {
      return {.tokens_per_second = *tokens / *seconds,
              .source = "output tokens / duration of the serving result"};
    }
  }
  const Sums engine = EngineSums(run);
  if (engine.tokens > 0 && engine.ns > 0) {
    return {.tokens_per_second =
                static_cast<double>(engine.tokens) * 1e9 / static_cast<double>(engine.ns),
            .source = "tokens that the engine steps name / their durations"};
  }
  return FromCard(run);
}

}  // namespace orrery::analyze
