#include "orrery/cli/analyze/options.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "orrery/cli/analyze/what_if_option.h"
#include "orrery/cli/verb.h"
#include "orrery/trace/clock_alignment.h"

namespace orrery::cli {
namespace {

// "2:5", "2:" and ":5".
Result<analyze::StepRange> ParseSteps(std::string_view text) {
  analyze::StepRange range{.first = 0, .end = INT64_MAX};
  const std::size_t colon = text.find(':');
  const auto parse = [](std::string_view digits, std::int64_t& number) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return digits.empty() ||
           (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size());
  };
  if (colon == std::string_view::npos || !parse(text.substr(0, colon), range.first) ||
      !parse(text.substr(colon + 1), range.end)) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("--steps {}: must be A:B, the first step and the one after the last", text));
  }
  return range;
}

}  // namespace

Status ReadSelection(Selection& selection) {
  if (!selection.steps.empty()) {
    ORRERY_TRY(selection.options.steps, ParseSteps(selection.steps));
  }
  for (const std::string& text : selection.what_if) {
    ORRERY_TRY(selection.options.what_if.emplace_back(), ParseWhatIf(text));
  }
  selection.options.launch_gap_ns = selection.launch_gap_us * 1000;
  return {};
}

std::vector<analyze::Measurement> MeasurementsOf(const ingest::Run& run) {
  std::vector<analyze::Measurement> measurements;
  for (const ingest::MeasurementTable& table : run.tables) {
    measurements.push_back({table.format, table.file, &table.rows});
  }
  return measurements;
}

Result<std::vector<analyze::NamedMetric>> ChosenMetrics(const std::vector<std::string>& names) {
  std::vector<analyze::NamedMetric> chosen;
  for (const std::string& name : names) {
    const auto found = analyze::FindMetric(name);
    if (!found) {
      return Fail(Error::Kind::kNotFound,
                  fmt::format("no metric is called {} (orrery analyze --list names them)", name));
    }
    chosen.push_back(*found);
  }
  if (names.empty()) {
    for (const analyze::Metric& metric : analyze::AllMetrics()) {
      chosen.push_back({.metric = &metric});
    }
  }
  return chosen;
}

void AddSelectionOptions(Verb& verb, Selection& selection) {
  static const std::map<std::string, trace::AlignClocks> kAlign{
      {"auto", trace::AlignClocks::kIfItMatters},
      {"always", trace::AlignClocks::kAlways},
      {"off", trace::AlignClocks::kNever}};
  analyze::AnalyzeOptions& options = selection.options;
  verb.AddOption("--steps", selection.steps,
                  "steps A:B, A included and B not (default: all but the first and the last)");
  verb.AddOption("--rank", options.ranks, "only devices of this rank; may be repeated");
  verb.AddOption("--min-bytes", options.min_bytes, "smallest message whose bandwidth counts")
      .ShowDefault();
  verb.AddChoice("--align", options.align, kAlign,
                "align clocks by the ends of collectives (default: auto, where it matters)");
  verb.AddOption("--launch-gap-us", selection.launch_gap_us,
                  "a device gap below this is the cost of launching")
      .ShowDefault()
      .Range(0, 1'000'000);
}

}  // namespace orrery::cli
