#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/card/flatten_yaml.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::step_score {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 16;
constexpr std::string_view kCountName = "gpu_count";

// Keys as FlattenYaml folds them.
constexpr auto kSettings = std::to_array<std::pair<std::string_view, const char*>>(
    {{"g0", "g0"}, {"t0", "t0_s"}, {"w", "w"}});

// The text need not be valid YAML.
bool HasKey(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && Trimmed(line.substr(0, colon), " \t\r\n\"'") == key) {
      return true;
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

std::optional<std::int64_t> CountOf(std::string_view text) {
  const auto count = ParseWhole<std::int64_t>(Trimmed(text, " \t\r\n\"'"));
  return count && *count > 0 ? count : std::nullopt;
}

bool IsCount(const InputFile& file) {
  const std::string_view path = file.path();
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return name.starts_with(kCountName) && file.head().size() < 64 && CountOf(file.head());
}

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  return IsCount(file) ||
         (!Contains(head, std::string_view("\0", 1)) && HasKey(head, "G0") && HasKey(head, "T0") &&
          !HasKey(head, "workload") && !HasKey(head, "metric_source"));
}

std::optional<double> SettingIn(const card::ScalarsByPath& values, std::string_view key) {
  for (const auto& [path, text] : values) {
    const std::string_view last = std::string_view(path).substr(path.find_last_of('.') + 1);
    if (last == key) {
      const auto number = ParseWhole<double>(text);
      return number && std::isfinite(*number) ? number : std::nullopt;
    }
  }
  return std::nullopt;
}

Result<Table> ReadConfig(std::string_view text, trace::ProblemLog& problems) {
  ORRERY_TRY(const card::ScalarsByPath values, card::FlattenYaml(text, problems));
  Table table;
  table.AddRow();
  std::size_t num_known = 0;
  for (const auto& [key, name] : kSettings) {
    const std::size_t column = table.AddColumn(name, Table::Type::kNumber);
    if (const auto number = SettingIn(values, key)) {
      table.Set(0, column, *number);
      ++num_known;
    } else {
      problems.Loss("setting that is missing or not a number", 1, name);
    }
  }
  if (num_known == 0) {
    return Fail(Error::Kind::kInvalidInput, "none of G0, T0 and w is a number");
  }
  return table;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable table{.format = "step score", .file = file.path()};
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, table.problems));
  if (IsCount(file)) {
    table.rows = Table{{"gpus", Table::Type::kInteger}};
    table.rows.AddRow({Table::CellOf(CountOf(text))});
  } else {
    ORRERY_TRY(table.rows, ReadConfig(text, table.problems));
  }
  return ContentOf(std::move(table), "no setting");
}

}  // namespace

// Parameters of the step score. `gpu_step_score_config.yaml`, recognized by its keys G0 and
// T0, gives a table of one row: g0, t0_s and w. `gpu_count.txt` gives one with the column gpus; it
// holds only a number, so it is recognized by its name.
constinit const Format kFormat{.name = "step score", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::step_score
