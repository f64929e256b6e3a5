#include "orrery/ingest/latency_benchmark/latency_benchmark.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_records.h"
#include "orrery/ingest/json_value.h"

namespace orrery::ingest::latency_benchmark {
namespace {

constexpr std::string_view kAverage = "avg_latency";
constexpr std::string_view kIterations = "latencies";
constexpr std::string_view kPercentiles = "percentiles";

constexpr std::array kWanted{kAverage, kIterations, kPercentiles};
constexpr std::array kMarkers{kAverage, kIterations};

enum Column : std::size_t { kStatistic, kIteration, kLatency };

class LatencyTable {
 public:
  explicit LatencyTable(trace::ProblemLog& problems) : problems_(problems) {
    rows_.AddColumn("statistic", Table::Type::kText);
    rows_.AddColumn("iteration", Table::Type::kInteger);
    rows_.AddColumn("latency_s", Table::Type::kNumber);
  }

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
    const std::size_t row = rows_.AddRow();
    rows_.Set(row, kStatistic, statistic);
    rows_.Set(row, kIteration, iteration ? Table::Cell(*iteration) : Table::Cell());
    rows_.Set(row, kLatency, *seconds);
  }

  trace::ProblemLog& problems_;
  Table rows_;
};

bool Matches(const InputFile& file) {
  return HeadHasKeys(file.head(), kMarkers);
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable result{
      .format = "latency benchmark", .file = file.path(), .rows = {}, .problems = {}};
  const auto records = ReadJsonRecords(file, kWanted, result.problems);
  if (!records) {
    return FailWithin(file.path(), records);
  }
  LatencyTable latencies(result.problems);
  for (const JsonRecord& record : *records) {
    latencies.AddAll(record);
  }
  result.rows = latencies.Take();
  if (result.rows.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput,
                file.path() + ": a latency benchmark without a complete value");
  }
  FileContent content;
  content.tables.push_back(std::move(result));
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "latency benchmark", .matches = &Matches, .read = &Read};
  return kFormat;
}

}  // namespace orrery::ingest::latency_benchmark
