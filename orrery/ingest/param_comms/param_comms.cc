#include "orrery/ingest/param_comms/param_comms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/ingest/param_comms/result_columns.h"
#include "orrery/ingest/param_comms/text_log.h"

namespace orrery::ingest::param_comms {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

// The line with the names of the columns, or the one with the options of the run; PARAM's own
// source has pieces of both, but neither whole.
bool IsTypicalLine(std::string_view line) {
  const auto result = SplitResultLine(line);
  return (result && ResultColumns::FromHeader(*result)) ||
         (line.find("nw-stack: pytorch") != std::string_view::npos &&
          line.find("args.dtype: torch") != std::string_view::npos);
}

bool Matches(const InputFile& file) {
  std::string_view head = file.head();
  if (head.find('\0') != std::string_view::npos) {
    return false;
  }
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (IsTypicalLine(head.substr(0, end))) {
      return true;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

struct NamedSpread {
  const char* name;
  std::optional<double> RankSpread::* value;
};

constexpr std::array kSpreads{
    NamedSpread{"rank_p75_us", &RankSpread::p75_us},
    NamedSpread{"rank_p95_us", &RankSpread::p95_us},
    NamedSpread{"rank_min_us", &RankSpread::min_us},
    NamedSpread{"rank_max_us", &RankSpread::max_us},
};

void AddSpreads(const std::vector<RankSpread>& spreads, Table& table) {
  for (const NamedSpread& spread : kSpreads) {
    const std::size_t column = table.AddColumn(spread.name, Table::Type::kNumber);
    for (std::size_t row = 0; row < spreads.size(); ++row) {
      const std::optional<double>& value = spreads[row].*spread.value;
      table.Set(row, column, value ? Table::Cell(*value) : Table::Cell());
    }
  }
}

Table ToTable(const Log& log) {
  Table table = nccl_tests::ToTable(log.runs);
  AddSpreads(log.spreads, table);
  const std::size_t column = table.AddColumn("source", Table::Type::kText);
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    table.Set(row, column, std::string("param"));
  }
  return table;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  ORRERY_TRY(const auto source, file.OpenContent());
  const auto text = ReadAll(*source, kMaxBytes);
  if (!text) {
    return FailWithin(file.path(), text);
  }
  MeasurementTable table{.format = "PARAM comms", .file = file.path(), .rows = {}, .problems = {}};
  if (const std::string damage = source->damage(); !damage.empty()) {
    table.problems.Loss(damage);
  }
  table.rows = ToTable(ParseTextLog(*text, table.problems));
  if (table.rows.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput,
                file.path() + ": a log of PARAM's comms.py without a complete row of a collective");
  }
  FileContent content;
  content.tables.push_back(std::move(table));
  return content;
}

}  // namespace

const Format& GetFormat() {
  static constexpr Format kFormat{.name = "PARAM comms", .matches = &Matches, .read = &Read};
  return kFormat;
}

}  // namespace orrery::ingest::param_comms
