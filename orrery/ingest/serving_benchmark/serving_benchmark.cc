#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/json/json_records.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::serving_benchmark {
namespace {

struct Scalar {
  std::string_view key;
  std::string_view column;
  Table::Type type = Table::Type::kNumber;
};

constexpr std::array kScalars{
    Scalar{"duration", "duration_s"},
    Scalar{"completed", "completed", Table::Type::kInteger},
    Scalar{"total_input_tokens", "total_input_tokens", Table::Type::kInteger},
    Scalar{"total_output_tokens", "total_output_tokens", Table::Type::kInteger},
    Scalar{"request_throughput", "request_throughput"},
    Scalar{"output_throughput", "output_throughput"},
    Scalar{"mean_ttft_ms", "mean_ttft_ms"},
    Scalar{"median_ttft_ms", "median_ttft_ms"},
    Scalar{"mean_tpot_ms", "mean_tpot_ms"},
    Scalar{"median_tpot_ms", "median_tpot_ms"},
};

constexpr std::string_view kFirstTokens = "ttfts";
constexpr std::string_view kBetweenTokens = "itls";
constexpr std::string_view kOutputLengths = "output_lens";

constexpr std::array<std::string_view, 2> kMarkers{"duration", "total_output_tokens"};

Table RecordTable(const std::vector<JsonRecord>& records, trace::ProblemLog& problems) {
  Table table;
  for (const Scalar& scalar : kScalars) {
    table.AddColumn(std::string(scalar.column), scalar.type);
  }
  for (const JsonRecord& record : records) {
    const std::size_t row = table.AddRow();
    for (std::size_t column = 0; column < kScalars.size(); ++column) {
      const auto& [key, name, type] = kScalars[column];
      const Table::Cell cell = type == Table::Type::kInteger ? Table::CellOf(IntegerIn(record, key))
                                                             : Table::CellOf(NumberIn(record, key));
      const bool is_missing = std::holds_alternative<std::monostate>(cell);
      if (is_missing && FindOr(record, key, std::string("null")) != "null") {
        problems.Loss("value that is not a number", 1, key);
      }
      table.Set(row, column, cell);
    }
  }
  return table;
}

using Numbers = std::vector<std::optional<double>>;

std::optional<double> Mean(const JsonElement& list) {
  double sum = 0;
  std::int64_t count = 0;
  ForEachElement(list, [&](const JsonElement& item) {
    if (const auto number = Number(item)) {
      sum += *number;
      ++count;
    }
  });
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

template <typename NumberOf>
Numbers ListIn(const JsonRecord& record, std::string_view key, NumberOf number_of) {
  Numbers numbers;
  JsonText json;
  ForEachElement(json.Parse(FindOr(record, key)),
                 [&](const JsonElement& item) { numbers.push_back(number_of(item)); });
  return numbers;
}

Table RequestTable(const std::vector<JsonRecord>& records) {
  Table table{{"record", Table::Type::kInteger},
              {"request", Table::Type::kInteger},
              {"ttft_s", Table::Type::kNumber},
              {"mean_itl_s", Table::Type::kNumber},
              {"output_tokens", Table::Type::kNumber}};
  const auto plain = [](const JsonElement& item) { return Number(item); };
  const auto cell_at = [](const Numbers& numbers, std::size_t index) {
    return index < numbers.size() ? Table::CellOf(numbers[index]) : Table::Cell();
  };
  for (std::size_t record = 0; record < records.size(); ++record) {
    const Numbers first = ListIn(records[record], kFirstTokens, plain);
    const Numbers between = ListIn(records[record], kBetweenTokens, Mean);
    const Numbers lengths = ListIn(records[record], kOutputLengths, plain);
    const std::size_t num_requests = std::max({first.size(), between.size(), lengths.size()});
    for (std::size_t request = 0; request < num_requests; ++request) {
      table.AddRow({static_cast<std::int64_t>(record), static_cast<std::int64_t>(request),
                    cell_at(first, request), cell_at(between, request), cell_at(lengths, request)});
    }
  }
  return table;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable results{.format = "serving benchmark", .file = file.path()};
  std::vector<std::string_view> keys{kFirstTokens, kBetweenTokens, kOutputLengths};
  std::ranges::transform(kScalars, std::back_inserter(keys), &Scalar::key);
  ORRERY_TRY(const auto records, ReadJsonRecords(file, keys, results.problems));
  results.rows = RecordTable(records, results.problems);
  ORRERY_TRY(FileContent content,
             ContentOf(std::move(results), "a serving benchmark without a complete value"));
  if (Table requests = RequestTable(records); requests.num_rows() > 0) {
    content.tables.push_back(
        {.format = "serving benchmark requests", .file = file.path(), .rows = std::move(requests)});
  }
  return content;
}

}  // namespace

// Results of serving benchmarks: SGLang's `bench_results.jsonl`, one object per line, and vLLM's
// JSON. Gives one table with a row for each record: duration_s, completed, total_input_tokens,
// total_output_tokens, request_throughput and output_throughput (per second), mean and median of
// ttft_ms and tpot_ms. Where a record lists its requests, a second table has a row for each:
// record, request, ttft_s, mean_itl_s and output_tokens.
constinit const Format kFormat{
    .name = "serving benchmark",
    .matches = [](const InputFile& file) { return HeadHasKeys(file.head(), kMarkers); },
    .read = Read};

}  // namespace orrery::ingest::serving_benchmark
