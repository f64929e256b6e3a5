#include "orrery/overlap/nsight_compute.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

constexpr std::size_t kThousands = 3;

/// The mark of one number; nothing if ambiguous.
std::optional<DecimalMark> MarkOf(std::string_view text) {
  const std::size_t point = text.rfind('.');
  const std::size_t comma = text.rfind(',');
  const bool has_point = point != std::string_view::npos;
  const bool has_comma = comma != std::string_view::npos;
  if (text.find_first_not_of("0123456789.,-") != std::string_view::npos ||
      (!has_point && !has_comma)) {
    return std::nullopt;
  }
  if (has_point && has_comma) {
    return point > comma ? DecimalMark::kPoint : DecimalMark::kComma;
  }
  const std::size_t at = has_point ? point : comma;
  const DecimalMark mark = has_point ? DecimalMark::kPoint : DecimalMark::kComma;
  const DecimalMark other = has_point ? DecimalMark::kComma : DecimalMark::kPoint;
  if (text.find(text[at]) != at) {
    return other;
  }
  // "0.585" has no thousands.
  const bool may_be_thousands =
      text.size() - at - 1 == kThousands && at > 0 && at <= kThousands && text[0] != '0';
  return may_be_thousands ? std::nullopt : std::optional(mark);
}

/// Removes thousands separators of locales, in UTF-8.
std::string WithoutBlanks(std::string_view text) {
  std::string rest(text);
  for (const std::string_view blank : {" ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x99"}) {
    for (std::size_t at = rest.find(blank); at != std::string::npos; at = rest.find(blank)) {
      rest.erase(at, blank.size());
    }
  }
  return rest;
}

using Records = std::vector<std::vector<std::string>>;

enum class Unit : std::uint8_t { kPercent, kMicroseconds, kBytes, kGigahertz, kCount };

struct Metric {
  std::string_view column;  // in tables of counters; empty for what is no counter
  Unit unit = Unit::kCount;
  std::vector<std::string_view> names;  // of the details page and of the raw page
  std::function<void(CountedKernel&, double)> set;
};

void SetWhole(int& target, double value) {
  target = value >= 0 && value < 1e9 ? static_cast<int>(std::lround(value)) : 0;
}

auto SetCounter(double Counters::* counter) {
  return [counter](CountedKernel& kernel, double value) { kernel.counters.*counter = value; };
}

const std::vector<Metric>& AllMetrics() {
  static const std::vector<Metric> kMetrics = {
      {"duration_us",
       Unit::kMicroseconds,
       {"Duration", "gpu__time_duration.sum", "gpu__time_duration.avg"},
       [](CountedKernel& kernel, double value) { kernel.duration_us = value; }},
      {"compute_pct",
       Unit::kPercent,
       {"Compute (SM) Throughput", "SM [%]", "SOL SM",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
       SetCounter(&Counters::compute)},
      {"memory_pct",
       Unit::kPercent,
       {"Memory Throughput", "Memory [%]", "SOL Memory",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
       SetCounter(&Counters::memory)},
      {"dram_pct",
       Unit::kPercent,
       {"DRAM Throughput", "SOL DRAM", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed"},
       SetCounter(&Counters::dram)},
      {"l1_hit_pct",
       Unit::kPercent,
       {"L1/TEX Hit Rate", "L1 Hit Rate", "l1tex__t_sector_hit_rate.pct"},
       SetCounter(&Counters::l1_hit)},
      {"l2_hit_pct",
       Unit::kPercent,
       {"L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
       SetCounter(&Counters::l2_hit)},
      {"achieved_occupancy_pct",
       Unit::kPercent,
       {"Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
       SetCounter(&Counters::achieved_occupancy)},
      {"theoretical_occupancy_pct",
       Unit::kPercent,
       {"Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
       SetCounter(&Counters::theoretical_occupancy)},
      {"",
       Unit::kGigahertz,
       {"SM Frequency", "smsp__cycles_elapsed.avg.per_second",
        "gpc__cycles_elapsed.avg.per_second"},
       [](CountedKernel& kernel, double value) { kernel.sm_clock_ghz = value; }},
      {"",
       Unit::kCount,
       {"Registers Per Thread", "launch__registers_per_thread"},
       [](CountedKernel& kernel, double value) { SetWhole(kernel.shape.registers, value); }},
      {"",
       Unit::kBytes,
       {"Dynamic Shared Memory Per Block", "Static Shared Memory Per Block",
        "launch__shared_mem_per_block_dynamic", "launch__shared_mem_per_block_static"},
       [](CountedKernel& kernel, double value) {
         int bytes = 0;
         SetWhole(bytes, value);
         kernel.shape.shared_bytes += bytes;
       }},
      {"",
       Unit::kCount,
       {"Grid Size", "launch__grid_size"},
       [](CountedKernel& kernel, double value) {
         kernel.shape.blocks = value < 1e15 ? std::llround(std::max(value, 0.0)) : 0;
       }},
      {"",
       Unit::kCount,
       {"Block Size", "launch__block_size"},
       [](CountedKernel& kernel, double value) { SetWhole(kernel.shape.threads, value); }},
  };
  return kMetrics;
}

/// The factor of a unit; nothing for a unit of another quantity.
std::optional<double> FactorOf(std::string_view unit, Unit target) {
  static const std::map<std::string_view, double, std::less<>> kTimes = {
      {"ns", 1e-3}, {"nsecond", 1e-3}, {"us", 1},  {"usecond", 1},
      {"ms", 1e3},  {"msecond", 1e3},  {"s", 1e6}, {"second", 1e6}};
  static const std::map<std::string_view, double, std::less<>> kSizes = {
      {"byte", 1},    {"Kbyte", 1e3},   {"Mbyte", 1e6},
      {"Gbyte", 1e9}, {"Kibyte", 1024}, {"Mibyte", 1024.0 * 1024}};
  static const std::map<std::string_view, double, std::less<>> kClocks = {
      {"hz", 1e-9}, {"khz", 1e-6}, {"mhz", 1e-3}, {"ghz", 1}};
  const auto find = [](const auto& units, std::string_view name) -> std::optional<double> {
    const auto found = units.find(name);
    return found == units.end() ? std::nullopt : std::optional(found->second);
  };
  if (target == Unit::kPercent) {
    return unit == "%" ? std::optional(1.0) : std::nullopt;
  }
  if (target == Unit::kCount) {
    return 1.0;
  }
  if (target == Unit::kGigahertz) {
    // "cycle/nsecond" is what older versions call GHz.
    if (unit.starts_with("cycle/")) {
      const auto times = find(kTimes, unit.substr(6));
      return times ? std::optional(1e-3 / *times) : std::nullopt;
    }
    return find(kClocks, LowerCase(unit));
  }
  const std::string_view whole = unit.substr(0, unit.find('/'));
  return find(target == Unit::kMicroseconds ? kTimes : kSizes, whole);
}

const std::map<std::string_view, const Metric*, std::less<>>& MetricByName() {
  static const std::map<std::string_view, const Metric*, std::less<>> kByName = [] {
    std::map<std::string_view, const Metric*, std::less<>> by_name;
    for (const Metric& metric : AllMetrics()) {
      for (const std::string_view name : metric.names) {
        by_name.emplace(name, &metric);
      }
    }
    return by_name;
  }();
  return kByName;
}

/// "(384, 1, 1)" and "384x1x1" to three numbers; nothing for other text.
std::optional<std::array<std::int64_t, 3>> ThreeNumbers(std::string_view text) {
  std::array<std::int64_t, 3> numbers = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::int64_t& number : numbers) {
    at = std::find_if(at, end, IsDigit);
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number > std::numeric_limits<std::int32_t>::max()) {
      return std::nullopt;
    }
    at = stop;
  }
  return numbers;
}

/// The product, 0 if implausibly large.
std::int64_t Product(const std::array<std::int64_t, 3>& numbers) {
  double product = 1;
  for (const std::int64_t number : numbers) {
    product *= static_cast<double>(number);
  }
  return product < 1e15 ? static_cast<std::int64_t>(product) : 0;
}

class Head {
 public:
  explicit Head(const std::vector<std::string>& header) {
    for (std::size_t column = 0; column < header.size(); ++column) {
      column_of_.emplace(header[column], column);
    }
  }

  std::string_view Field(const std::vector<std::string>& record, std::string_view column) const {
    const auto found = column_of_.find(column);
    return found != column_of_.end() && found->second < record.size()
               ? std::string_view(record[found->second])
               : std::string_view();
  }

  bool Has(std::string_view column) const { return column_of_.contains(column); }

  CountedKernel Begin(const std::vector<std::string>& record) const {
    CountedKernel kernel;
    kernel.name = Field(record, "Kernel Name");
    kernel.id = ParsePrefix<std::int64_t>(Field(record, "ID")).value_or(kernel.id);
    if (const auto grid = ThreeNumbers(Field(record, "Grid Size"))) {
      kernel.grid = *grid;
      kernel.shape.blocks = Product(*grid);
    }
    if (const auto block = ThreeNumbers(Field(record, "Block Size"))) {
      kernel.block = *block;
      kernel.shape.threads = static_cast<int>(std::min<std::int64_t>(Product(*block), 1 << 20));
    }
    return kernel;
  }

 private:
  std::map<std::string, std::size_t, std::less<>> column_of_;
};

class Seen {
 public:
  void Set(const Metric& metric, CountedKernel& kernel, std::string_view text,
           std::string_view unit, DecimalMark mark) {
    const auto number = ParseLocalised(text, mark);
    const auto factor = FactorOf(unit, metric.unit);
    if (number && factor) {
      metric.set(kernel, *number * *factor);
      seen_.insert(metric.column);
    }
  }

  std::vector<std::string> Missing() const {
    std::vector<std::string> missing;
    for (const Metric& metric : AllMetrics()) {
      if (!metric.column.empty() && !seen_.contains(metric.column)) {
        missing.emplace_back(metric.column);
      }
    }
    return missing;
  }

 private:
  std::set<std::string_view> seen_;
};

Result<CountedKernels> ReadDetails(const Head& head,
                                   std::span<const std::vector<std::string>> rows) {
  std::vector<std::string_view> values;
  for (const std::vector<std::string>& row : rows) {
    values.push_back(head.Field(row, "Metric Value"));
  }
  const DecimalMark mark = DecimalMarkOf(values);
  CountedKernels result;
  Seen seen;
  std::string_view current;
  for (const std::vector<std::string>& row : rows) {
    const std::string_view id = head.Field(row, "ID");
    if (result.kernels.empty() || id != current) {
      result.kernels.push_back(head.Begin(row));
      current = id;
    }
    const auto metric = MetricByName().find(head.Field(row, "Metric Name"));
    if (metric != MetricByName().end()) {
      seen.Set(*metric->second, result.kernels.back(), head.Field(row, "Metric Value"),
               head.Field(row, "Metric Unit"), mark);
    }
  }
  result.missing = seen.Missing();
  return result;
}

Result<CountedKernels> ReadRaw(const std::vector<std::string>& header, const Head& head,
                               std::span<const std::vector<std::string>> rows) {
  const std::vector<std::string>& units = rows.front();
  std::vector<std::pair<std::size_t, const Metric*>> columns;
  std::vector<std::string_view> values;
  for (std::size_t column = 0; column < header.size(); ++column) {
    const auto metric = MetricByName().find(header[column]);
    // "Grid Size" is a column of the head on this page.
    if (metric != MetricByName().end() && header[column].find("__") != std::string::npos) {
      columns.emplace_back(column, metric->second);
    }
  }
  for (const std::vector<std::string>& row : rows.subspan(1)) {
    values.insert(values.end(), row.begin(), row.end());
  }
  const DecimalMark mark = DecimalMarkOf(values);
  CountedKernels result;
  Seen seen;
  for (const std::vector<std::string>& row : rows.subspan(1)) {
    CountedKernel& kernel = result.kernels.emplace_back(head.Begin(row));
    for (const auto& [column, metric] : columns) {
      if (column < row.size()) {
        seen.Set(*metric, kernel, row[column], column < units.size() ? units[column] : "", mark);
      }
    }
  }
  result.missing = seen.Missing();
  return result;
}

/// The table without other lines of ncu and the profiled program.
std::string TableText(std::string_view text) {
  std::string table;
  bool has_begun = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    has_begun = has_begun || Contains(line, "\"Kernel Name\"") || Contains(line, ",Kernel Name,");
    if (has_begun && !line.starts_with("==")) {
      table += line;
    }
  }
  return table;
}

tl::unexpected<Error> NoTable(std::string_view text) {
  if (Contains(text, "ERR_NVGPUCTRPERM")) {
    return Fail(Error::Kind::kUnsupported,
                "ncu was not allowed to read counters (ERR_NVGPUCTRPERM); run it as root or load "
                "the driver with NVreg_RestrictProfilingToAdminUsers=0");
  }
  return Invalid(
      "no table of kernels; print it with `ncu --csv --page details` or `--page "
      "raw`");
}

}  // namespace

DecimalMark DecimalMarkOf(std::span<const std::string_view> numbers) {
  std::size_t points = 0;
  std::size_t commas = 0;
  for (const std::string_view number : numbers) {
    const auto mark = MarkOf(number);
    points += mark == DecimalMark::kPoint ? 1 : 0;
    commas += mark == DecimalMark::kComma ? 1 : 0;
  }
  return commas > points ? DecimalMark::kComma : DecimalMark::kPoint;
}

std::optional<double> ParseLocalised(std::string_view text, DecimalMark mark) {
  std::string digits = WithoutBlanks(text);
  std::erase(digits, mark == DecimalMark::kPoint ? ',' : '.');
  std::ranges::replace(digits, ',', '.');
  const auto value = ParseWhole<double>(digits);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<CountedKernels> ParseNsightCompute(std::string_view text) {
  const std::string table = TableText(text);
  if (table.empty()) {
    return NoTable(text);
  }
  ORRERY_TRY(Records records, ParseCsvRecords(table));
  std::erase_if(records, [](const std::vector<std::string>& record) {
    return record.size() == 1 && record.front().empty();
  });
  if (records.size() < 2) {
    return NoTable(text);
  }
  const std::vector<std::string> header = records.front();
  const Head head(header);
  const std::span rows = std::span(std::as_const(records)).subspan(1);
  auto kernels = head.Has("Metric Name") ? ReadDetails(head, rows) : ReadRaw(header, head, rows);
  if (kernels && kernels->kernels.empty()) {
    return NoTable(text);
  }
  return kernels;
}

Result<CountedKernels> ReadNsightCompute(const std::string& path) {
  ORRERY_TRY(auto file, OpenFile(path));
  const auto source = Unpack(std::move(file));
  const auto text = ReadAll(*source);
  if (!text) {
    return FailWithin(path, text);
  }
  auto kernels = ParseNsightCompute(*text);
  return kernels ? std::move(kernels) : FailWithin(path, kernels);
}

}  // namespace orrery::overlap
