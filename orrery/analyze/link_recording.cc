#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/base/table.h"

namespace orrery::analyze {
namespace {

// What NVML gives for the sum over all links.
constexpr std::int64_t kAllLinks = -1;
// In 2096: later times are damage, and differences of earlier ones always fit.
constexpr std::int64_t kLatestUs = 4'000'000'000'000'000;

struct Sample {
  std::int64_t time_ns = 0;
  std::int64_t kib = 0;
};

// One counter of the recording, by polling round; nothing where it has no value.
using Counter = std::vector<std::optional<Sample>>;
using CounterKey = std::pair<LinkDirection, std::int64_t>;  // direction and link

std::optional<std::int64_t> IntegerAt(const Table& rows, std::size_t row,
                                      std::optional<std::size_t> column) {
  const auto* const value = column ? std::get_if<std::int64_t>(&rows.At(row, *column)) : nullptr;
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// The samples of a recording, sorted into polling rounds.
class Rounds {
 public:
  explicit Rounds(const Table& rows) {
    const auto direction = rows.FindColumn("direction");
    const auto raw = rows.FindColumn("raw");
    const auto link = rows.FindColumn("link");
    const auto time = rows.FindColumn("time_us");
    const auto kib = rows.FindColumn("kib");
    for (std::size_t row = 0; direction && row < rows.num_rows(); ++row) {
      if (IntegerAt(rows, row, raw).value_or(0) != 0) {
        continue;
      }
      const auto* const word = std::get_if<std::string>(&rows.At(row, *direction));
      const bool is_sent = word != nullptr && *word == "tx";
      Add({is_sent ? LinkDirection::kSent : LinkDirection::kReceived,
           IntegerAt(rows, row, link).value_or(kAllLinks)},
          IntegerAt(rows, row, time), IntegerAt(rows, row, kib));
    }
    for (auto& [key, counter] : counters_) {
      counter.resize(num_rounds_);
    }
  }

  // The counters of a direction that have values: those of one link; without one the sum that the
  // GPU itself gives, else all links.
  [[nodiscard]] std::vector<const Counter*> Of(LinkDirection direction,
                                               std::optional<std::int64_t> link) const {
    const Counter* const chosen = Find({direction, link.value_or(kAllLinks)});
    if (chosen != nullptr) {
      return {chosen};
    }
    std::vector<const Counter*> all;
    for (const std::int64_t each : link ? std::vector<std::int64_t>() : Links(direction)) {
      all.push_back(Find({direction, each}));
    }
    return all;
  }

  // Links of a direction with values.
  [[nodiscard]] std::vector<std::int64_t> Links(LinkDirection direction) const {
    std::vector<std::int64_t> links;
    for (const auto& [key, counter] : counters_) {
      if (key.first == direction && key.second != kAllLinks && Find(key) != nullptr) {
        links.push_back(key.second);
      }
    }
    return links;
  }

  [[nodiscard]] std::size_t size() const { return num_rounds_; }

 private:
  void Add(CounterKey key, std::optional<std::int64_t> time_us, std::optional<std::int64_t> kib) {
    Counter& counter = counters_[key];
    if (counter.size() == num_rounds_) {
      ++num_rounds_;
    }
    counter.resize(num_rounds_);
    if (time_us && kib && *time_us >= 0 && *time_us <= kLatestUs && *kib >= 0) {
      counter.back() = Sample{.time_ns = *time_us * 1000, .kib = *kib};
    }
  }

  [[nodiscard]] const Counter* Find(const CounterKey& key) const {
    const auto found = counters_.find(key);
    const bool has_values =
        found != counters_.end() &&
        std::ranges::any_of(found->second, [](const auto& sample) { return sample.has_value(); });
    return has_values ? &found->second : nullptr;
  }

  std::map<CounterKey, Counter> counters_;
  std::size_t num_rounds_ = 0;
};

// All counters of a direction in one polling round.
struct RoundSum {
  bool is_whole = true;
  bool has_reset = false;  // since the round before
  std::int64_t time_ns = 0;
  double bytes = 0;  // since the round before
};

RoundSum SumRound(std::span<const Counter* const> counters, std::size_t round) {
  RoundSum sum{.time_ns = kLatestUs * 1000};
  for (const Counter* const counter : counters) {
    const auto& sample = (*counter)[round];
    if (!sample) {
      return {.is_whole = false};
    }
    sum.time_ns = std::min(sum.time_ns, sample->time_ns);
    const auto& before = (*counter)[round == 0 ? 0 : round - 1];
    const std::int64_t kib = before ? sample->kib - before->kib : 0;
    sum.has_reset |= kib < 0;
    sum.bytes += static_cast<double>(kib) * 1024;
  }
  return sum;
}

void AddInterval(const RoundSum& from, const RoundSum& to, std::size_t round, LinkSeries& series) {
  if (!from.is_whole || !to.is_whole) {
    ++series.num_failed;
  } else if (to.has_reset) {
    ++series.num_resets;
  } else if (to.time_ns <= from.time_ns) {
    ++series.num_timeless;
  } else {
    series.intervals.push_back({.time = {from.time_ns, to.time_ns},
                                .bytes = to.bytes,
                                .round = static_cast<std::uint32_t>(round)});
  }
}

LinkSeries SeriesOf(const Rounds& rounds, LinkDirection direction,
                    std::optional<std::int64_t> link) {
  LinkSeries series{.direction = direction, .link = link};
  const std::vector<const Counter*> counters = rounds.Of(direction, link);
  if (counters.empty() || rounds.size() == 0) {
    return series;
  }
  RoundSum before = SumRound(counters, 0);
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    const RoundSum current = SumRound(counters, round);
    AddInterval(before, current, round, series);
    before = current;
  }
  return series;
}

}  // namespace

GpuTraffic TrafficOfRecording(const Measurement& recording, std::optional<std::int64_t> link) {
  const Rounds rounds(*recording.rows);
  GpuTraffic traffic{.source = "NVF1", .file = recording.file};
  if (recording.rows->num_rows() > 0) {
    traffic.gpu = static_cast<std::int32_t>(recording.rows->Integer(0, "gpu").value_or(-1));
  }
  traffic.sent = SeriesOf(rounds, LinkDirection::kSent, link);
  traffic.received = SeriesOf(rounds, LinkDirection::kReceived, link);
  for (const LinkDirection direction : {LinkDirection::kSent, LinkDirection::kReceived}) {
    for (const std::int64_t each : rounds.Links(direction)) {
      traffic.links.push_back(SeriesOf(rounds, direction, each));
    }
  }
  return traffic;
}

}  // namespace orrery::analyze
