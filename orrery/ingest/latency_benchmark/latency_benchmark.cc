#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_records.h"
#include "orrery/ingest/json_value.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::latency_benchmark {
namespace {

constexpr std::string_view kAverage = "avg_latency";
constexpr std::string_view kIterations = "latencies";
constexpr std::string_view kPercentiles = "percentiles";

constexpr std::array kKeys{kAverage, kIterations, kPercentiles};
constexpr std::array kMarkers{kAverage, kIterations};

class LatencyTable {
 public:
  explicit LatencyTable(trace::ProblemLog& problems) : problems_(problems) {}

  void AddAll(const JsonRecord& record) {
    JsonText json;
    Add("average", std::nullopt, json.Parse(ValueOf(record, kAverage)));
    AddPercentiles(json.Parse(ValueOf(record, kPercentiles)));
    std::int64_t iteration = 0;
    ForEachElement(json.Parse(ValueOf(record, kIterations)),
                   [&](const JsonElement& latency) { Add("iteration", iteration++, latency); });
  }

  [[nodiscard]] Table Take() { return std::move(rows_); }

 private:
  static std::string_view ValueOf(const JsonRecord& record, std::string_view key) {
    const auto field = record.find(key);
    return field == record.end() ? std::string_view() : field->second;
  }

  void AddPercentiles(const std::optional<JsonElement>& percentiles) {
    simdjson::dom::object fields;
    if (!percentiles || percentiles->get(fields)) {
      return;
    }
    for (const auto& field : fields) {
      Add(fmt::format("p{}", field.key), std::nullopt, field.value);
    }
  }

  void Add(const std::string& statistic, std::optional<std::int64_t> iteration,
           const std::optional<JsonElement>& latency) {
    const auto seconds = Number(latency);
    if (!seconds) {
      problems_.Loss("latency that is missing or not a number", 1, statistic);
      return;
    }
    rows_.AddRow({statistic, Table::CellOf(iteration), *seconds});
  }

  trace::ProblemLog& problems_;
  Table rows_{{"statistic", Table::Type::kText},
              {"iteration", Table::Type::kInteger},
              {"latency_s", Table::Type::kNumber}};
};

bool Matches(const InputFile& file) {
  return HeadHasKeys(file.head(), kMarkers);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable result{.format = "latency benchmark", .file = file.path()};
  ORRERY_TRY(const auto records, ReadJsonRecords(file, kKeys, result.problems));
  LatencyTable latencies(result.problems);
  for (const JsonRecord& record : records) {
    latencies.AddAll(record);
  }
  result.rows = latencies.Take();
  return ContentOf(std::move(result), "a latency benchmark without a complete value");
}

}  // namespace

// Results of vLLM's latency benchmark. Gives one table with the columns statistic and latency_s:
// a row "average", a row for each percentile ("p50") and a row "iteration" for each measurement,
// numbered in the column iteration.
constinit const Format kFormat{.name = "latency benchmark", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::latency_benchmark
