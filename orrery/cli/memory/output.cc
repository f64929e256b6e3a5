#include "orrery/cli/memory/output.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/csv.h"
#include "orrery/base/table.h"
#include "orrery/cli/plot_page.h"
#include "orrery/draw/chart/markup.h"
#include "orrery/draw/json_writer.h"

namespace orrery::cli {
namespace {

using report::MemoryPage;
using report::MemoryTable;
using report::MemoryUnit;

void WriteCell(draw::JsonWriter& json, const Table::Cell& cell) {
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    json.Integer(*integer);
  } else if (const auto* const number = std::get_if<double>(&cell)) {
    json.Number(*number);
  } else if (const auto* const text = std::get_if<std::string>(&cell)) {
    json.String(*text);
  } else {
    json.Null();
  }
}

void WriteTexts(draw::JsonWriter& json, std::string_view key,
                const std::vector<std::string>& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) {
    json.String(text);
  }
  json.EndArray();
}

void WriteTable(draw::JsonWriter& json, const MemoryTable& table) {
  json.Key(table.key).BeginArray();
  for (const std::vector<Table::Cell>& row : table.rows) {
    json.BeginObject();
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      json.Key(table.columns[column].key);
      WriteCell(json, column < row.size() ? row[column] : Table::Cell());
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteCoverageParts(draw::JsonWriter& json, const MemoryPage& page) {
  json.Key("coverage_parts").BeginArray();
  for (const report::MemoryCoverage& part : page.coverage_parts) {
    json.BeginObject().Key("run").String(part.run).Key("coverage").String(part.coverage);
    json.Key("launches").Integer(part.launches).Key("launch_share").Number(part.launch_share);
    json.Key("launches_with_times").Integer(part.launches_with_times);
    json.Key("time_ns").Integer(part.time_ns).Key("time_share").Number(part.time_share);
    json.EndObject();
  }
  json.EndArray();
}

bool HasNumbers(const MemoryTable& table, std::size_t column) {
  for (const std::vector<Table::Cell>& row : table.rows) {
    if (column < row.size() && std::holds_alternative<double>(row[column])) {
      return true;
    }
  }
  return false;
}

// A column of integers in which one cell is a number is one of numbers.
Table::Cell Fitted(const Table::Cell& cell, Table::Type type) {
  const auto* const integer = std::get_if<std::int64_t>(&cell);
  return type == Table::Type::kNumber && integer != nullptr
             ? Table::Cell(static_cast<double>(*integer))
             : cell;
}

Table ColumnsOf(const MemoryTable& table) {
  Table result;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const bool is_text = table.columns[column].unit == MemoryUnit::kText;
    result.AddColumn(table.columns[column].key, is_text ? Table::Type::kText
                                                : HasNumbers(table, column)
                                                    ? Table::Type::kNumber
                                                    : Table::Type::kInteger);
  }
  return result;
}

std::string TableCsv(const MemoryTable& table) {
  Table csv = ColumnsOf(table);
  for (const std::vector<Table::Cell>& cells : table.rows) {
    const std::size_t row = csv.AddRow();
    for (std::size_t column = 0; column < cells.size(); ++column) {
      csv.Set(row, column, Fitted(cells[column], csv.column_type(column)));
    }
  }
  return FormatCsv(csv);
}

}  // namespace

std::string MemoryJson(const MemoryPage& page) {
  draw::JsonWriter json;
  json.BeginObject().Key("tool").String(page.tool).Key("title").String(page.title);
  WriteTexts(json, "coverage", page.coverage);
  WriteCoverageParts(json, page);
  if (!page.times.empty()) {
    WriteTexts(json, "times", page.times);
  }
  json.Key("facts").BeginObject();
  for (const report::MemoryFact& fact : page.facts) {
    json.Key(fact.key);
    WriteCell(json, fact.value);
  }
  json.EndObject().Key("tables").BeginObject();
  for (const MemoryTable& table : page.tables) {
    WriteTable(json, table);
  }
  json.EndObject();
  WriteTexts(json, "notes", page.sentences);
  json.EndObject();
  return json.Finish();
}

Result<std::string> MemoryCsv(const MemoryPage& page, std::string_view table) {
  std::string known;
  for (const MemoryTable& candidate : page.tables) {
    if (table.empty() || candidate.key == table) {
      return TableCsv(candidate);
    }
    known += (known.empty() ? "" : ", ") + candidate.key;
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("--table {}: {} has {}", table, page.tool,
                          known.empty() ? "no table" : fmt::format("the tables {}", known)));
}

Result<std::string> MemorySvg(const MemoryPage& page) {
  if (page.pictures.empty()) {
    return Fail(Error::Kind::kUnsupported, fmt::format("--svg: {} draws nothing", page.tool));
  }
  std::vector<PlotPart> parts;
  for (const report::MemoryPicture& picture : page.pictures) {
    std::vector<PlotLook> looks;
    for (const draw::Series& series : picture.legend) {
      looks.push_back({.name = series.name, .style = series.style});
    }
    parts.push_back(PlotHead(picture.heading, picture.caption, looks));
    if (!picture.svg.empty()) {
      parts.push_back(PlotPartOf(picture.svg));
    }
  }
  return PlotDocument(draw::EscapeMarkup(page.title), parts);
}

}  // namespace orrery::cli
