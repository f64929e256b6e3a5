#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_records.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::latency_benchmark {
namespace {

constexpr std::string_view kAverage = "avg_latency";
constexpr std::string_view kIterations = "latencies";
constexpr std::string_view kPercentiles = "percentiles";

constexpr std::array kKeys{kAverage, kIterations, kPercentiles};
constexpr std::array kMarkers{kAverage, kIterations};

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable result{.format = "latency benchmark", .file = file.path()};
  ORRERY_TRY(const auto records, ReadJsonRecords(file, kKeys, result.problems));
  result.rows = Table{{"statistic", Table::Type::kText},
                      {"iteration", Table::Type::kInteger},
                      {"latency_s", Table::Type::kNumber}};
  const auto add = [&](const std::string& statistic, Table::Cell iteration,
                       const std::optional<JsonElement>& latency) {
    if (const auto seconds = Number(latency)) {
      result.rows.AddRow({statistic, std::move(iteration), *seconds});
    } else {
      result.problems.Loss("latency that is missing or not a number", 1, statistic);
    }
  };
  JsonText json;
  for (const JsonRecord& record : records) {
    add("average", {}, json.Parse(FindOr(record, kAverage)));
    const auto percentiles = json.Parse(FindOr(record, kPercentiles));
    simdjson::dom::object fields;
    if (percentiles && !percentiles->get(fields)) {
      for (const auto& field : fields) {
        add(fmt::format("p{}", field.key), {}, field.value);
      }
    }
    std::int64_t iteration = 0;
    ForEachElement(json.Parse(FindOr(record, kIterations)),
                   [&](const JsonElement& latency) { add("iteration", iteration++, latency); });
  }
  return ContentOf(std::move(result), "a latency benchmark without a complete value");
}

}  // namespace

// Results of vLLM's latency benchmark. Gives one table with the columns statistic and latency_s:
// a row "average", a row for each percentile ("p50") and a row "iteration" for each measurement,
// numbered in the column iteration.
constinit const Format kFormat{
    .name = "latency benchmark",
    .matches = [](const InputFile& file) { return HeadHasKeys(file.head(), kMarkers); },
    .read = Read};

}  // namespace orrery::ingest::latency_benchmark
