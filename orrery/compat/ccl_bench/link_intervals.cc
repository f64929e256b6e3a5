#include "orrery/compat/ccl_bench/link_intervals.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "orrery/compat/ccl_bench/measured_tables.h"

namespace orrery::compat::ccl_bench {

using analyze::LinkDirection;

namespace {

struct Sample {
  std::int64_t time_us = 0;
  std::int64_t kib = 0;
};

using SamplesOfLink = std::map<std::pair<std::string, std::int64_t>, std::vector<Sample>>;

bool IsSelected(const AnalyzeOptions& options, std::string_view direction, std::int64_t link) {
  const bool wrong_way = (options.direction == LinkDirection::kSent && direction != "tx") ||
                         (options.direction == LinkDirection::kReceived && direction != "rx");
  return !wrong_way && (!options.link || *options.link == link);
}

SamplesOfLink SelectedSamples(const CompatRun& run, const Table& table) {
  SamplesOfLink samples;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const std::string direction(table.Text(row, "direction").value_or(""));
    const std::int64_t link = table.Integer(row, "link").value_or(-1);
    const auto time_us = table.Integer(row, "time_us");
    const bool is_raw = table.Integer(row, "raw").value_or(0) != 0;
    if (time_us && !is_raw && IsSelected(run.options, direction, link)) {
      samples[{direction, link}].push_back(
          {.time_us = *time_us, .kib = table.Integer(row, "kib").value_or(0)});
    }
  }
  return samples;
}

}  // namespace

std::vector<LinkInterval> LinkIntervals(const CompatRun& run) {
  std::vector<LinkInterval> intervals;
  const Table* table = FindTable(run, "NVF1");
  if (table == nullptr) {
    return intervals;
  }
  for (auto& [key, samples] : SelectedSamples(run, *table)) {
    std::ranges::stable_sort(samples, {}, &Sample::time_us);
    for (std::size_t i = 1; i < samples.size(); ++i) {
      const std::int64_t duration_us = samples[i].time_us - samples[i - 1].time_us;
      if (duration_us > 0) {
        const std::int64_t kib = std::max<std::int64_t>(samples[i].kib - samples[i - 1].kib, 0);
        intervals.push_back({.direction = key.first,
                             .link = key.second,
                             .begin_us = samples[i - 1].time_us,
                             .duration_us = duration_us,
                             .bytes = kib * 1024});
      }
    }
  }
  return intervals;
}

}  // namespace orrery::compat::ccl_bench
