#include "orrery/trace/trace.h"

#include <cstddef>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/problems.h"

namespace orrery::trace {
namespace {

TEST(TraceTest, ARowComesBackAsItWasAppended) {
  Trace trace;
  const StringId name = trace.strings.Intern("aten::mm");

  const RowId row = trace.host_ops.Append({.begin_ns = 5, .duration_ns = 7, .name = name});

  EXPECT_EQ(row, 0U);
  EXPECT_EQ(trace.host_ops.At(row).duration_ns, 7);
  EXPECT_EQ(trace.host_ops.parent[row], kNoRow);
}

// Every member vector must be in Columns(), or storage would lose it: a table is nothing but its
// columns, so their sizes must add up.
TEST(TraceTest, EveryTableListsAllItsColumns) {
  Trace trace;
  ForEachTable(trace, []<typename Table>(const char* name, Table& table) {
    std::size_t bytes = 0;
    ForEachColumn(
        table, [&]<typename T>(const char*, std::vector<T>&) { bytes += sizeof(std::vector<T>); });
    EXPECT_EQ(bytes, sizeof(Table)) << name;
  });
}

// The first operator covers [10, 30), the kernel [25, 45): the span is [10, 45).
TEST(TraceTest, SpanCoversHostAndDevice) {
  Trace trace;
  trace.host_ops.Append({.begin_ns = 10, .duration_ns = 20});
  trace.activities.Append({.begin_ns = 25, .duration_ns = 20});

  const Span span = RecordedSpan(trace);

  EXPECT_EQ(span.begin_ns, 10);
  EXPECT_EQ(span.duration_ns(), 35);
}

TEST(TraceTest, SpanOfAnEmptyTraceIsEmpty) {
  EXPECT_EQ(RecordedSpan(Trace{}).duration_ns(), 0);
}

TEST(ProblemLogTest, EqualProblemsAddUpAndKeepTheFirstPlace) {
  ProblemLog log;
  log.Note("odd", 2, "byte 1");
  log.Note("odd", 3, "byte 9");

  ASSERT_EQ(log.all().size(), 1U);
  EXPECT_EQ(log.all()[0].count, 5);
  EXPECT_EQ(log.all()[0].first, "byte 1");
  EXPECT_FALSE(log.has_loss());
}

}  // namespace
}  // namespace orrery::trace
