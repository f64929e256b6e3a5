#include "orrery/base/text/table.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Type = Table::Type;

Table Measurements() {
  Table table;
  table.AddColumn("ranks", Type::kInteger);
  table.AddColumn("time_ms", Type::kNumber);
  table.AddColumn("gpu", Type::kText);
  const std::size_t row = table.AddRow();
  table.Set(row, 0, std::int64_t{8});
  table.Set(row, 1, 1.5);
  table.Set(row, 2, std::string("H200"));
  table.AddRow();
  return table;
}

TEST(TableTest, CellsComeBackByNameAndType) {
  const Table table = Measurements();

  EXPECT_EQ(table.num_rows(), 2U);
  EXPECT_EQ(table.num_columns(), 3U);
  EXPECT_EQ(table.Integer(0, "ranks"), 8);
  EXPECT_EQ(table.Number(0, "time_ms"), 1.5);
  EXPECT_EQ(table.Text(0, "gpu"), "H200");
}

TEST(TableTest, AnIntegerIsANumberButANumberIsNoInteger) {
  const Table table = Measurements();

  EXPECT_EQ(table.Number(0, "ranks"), 8.0);
  EXPECT_EQ(table.Integer(0, "time_ms"), std::nullopt);
}

TEST(TableTest, WhatWasNotSetIsMissing) {
  const Table table = Measurements();

  EXPECT_EQ(table.Integer(1, "ranks"), std::nullopt);
  EXPECT_EQ(table.Number(1, "time_ms"), std::nullopt);
  EXPECT_EQ(table.Text(1, "gpu"), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(table.At(1, 0)));
}

TEST(TableTest, AnUnknownColumnGivesNothing) {
  const Table table = Measurements();

  EXPECT_EQ(table.FindColumn("speed"), std::nullopt);
  EXPECT_EQ(table.Number(0, "speed"), std::nullopt);
  EXPECT_EQ(table.Integer(0, "speed"), std::nullopt);
  EXPECT_EQ(table.Text(0, "speed"), std::nullopt);
}

TEST(TableTest, ALaterColumnIsMissingInEarlierRows) {
  Table table = Measurements();

  const std::size_t column = table.AddColumn("note", Type::kText);

  EXPECT_EQ(column, 3U);
  EXPECT_EQ(table.Text(0, "note"), std::nullopt);
  table.Set(1, column, std::string("late"));
  EXPECT_EQ(table.Text(1, "note"), "late");
}

TEST(TableTest, ACellCanBeTakenBack) {
  Table table = Measurements();
  table.Set(0, 0, {});

  EXPECT_EQ(table.Integer(0, "ranks"), std::nullopt);
}

TEST(TableTest, TablesAreEqualByContent) {
  Table table = Measurements();
  EXPECT_EQ(table, Measurements());

  table.Set(1, 0, std::int64_t{16});
  EXPECT_NE(table, Measurements());
}

TEST(TableDeathTest, ACellOfAnotherTypeIsOurMistake) {
  Table table = Measurements();

  EXPECT_DEATH(table.Set(0, 0, 8.0), "the type of its column");
}

TEST(TableTest, ARowIsAddedWithACellForEachColumn) {
  Table table{{"name", Table::Type::kText}, {"count", Table::Type::kInteger}};
  table.AddRow({"a", std::int64_t{3}});
  table.AddRow({"b", Table::CellOf(std::optional<std::int64_t>())});
  EXPECT_EQ(table.num_rows(), 2U);
  EXPECT_EQ(table.Integer(0, "count"), 3);
  EXPECT_EQ(table.Integer(1, "count"), std::nullopt);
}

}  // namespace
}  // namespace orrery
