#include "orrery/report/memory_page.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::report {
namespace {

using testing::HasSubstr;

MemoryPage SmallPage() {
  MemoryPage page{.tool = "heat", .title = "a<b.orrs", .coverage = {"coverage: 1 launch"}};
  page.facts = {{"peak_bytes", "peak", std::int64_t{2048}, MemoryUnit::kBytes}};
  page.tables = {{.key = "rows",
                  .heading = "Rows",
                  .columns = {{"name", "name"}, {"share", "share", MemoryUnit::kShare}},
                  .rows = {{std::string("x<y"), 0.5}, {std::string("z"), {}}},
                  .max_shown = 1}};
  return page;
}

TEST(MemoryPage, CellsHaveTheirUnits) {
  EXPECT_EQ(MemoryCellText(std::int64_t{1536}, MemoryUnit::kBytes), "1.50 KiB");
  EXPECT_EQ(MemoryCellText(std::int64_t{255}, MemoryUnit::kAddress), "0xff");
  EXPECT_EQ(MemoryCellText(2.5, MemoryUnit::kRatio), "2.50×");
  EXPECT_EQ(MemoryCellText({}, MemoryUnit::kBytes), "–");
}

TEST(MemoryPage, TextSaysWhatIsNotShown) {
  const std::string text = RenderMemoryText(SmallPage());
  EXPECT_THAT(text, HasSubstr("a<b.orrs: heat\ncoverage: 1 launch\n"));
  EXPECT_THAT(text, HasSubstr("2.00 KiB"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
  EXPECT_THAT(text, HasSubstr("1 more row in --json and --csv"));
}

TEST(MemoryPage, FactsThatAreNotKnownAreLeftOut) {
  MemoryPage page = SmallPage();
  page.facts.push_back({"ratio", "over execution", {}, MemoryUnit::kRatio});
  EXPECT_THAT(RenderMemoryText(page), testing::Not(HasSubstr("over execution")));
  EXPECT_THAT(RenderMemoryHtml(page), testing::Not(HasSubstr("over execution")));
}

TEST(MemoryPage, WhereTimesAreFromStandsBelowTheCoverage) {
  MemoryPage page = SmallPage();
  page.times = {"1 of 1 launches have times from b.orrs."};
  EXPECT_THAT(RenderMemoryText(page), HasSubstr("coverage: 1 launch\n1 of 1 launches have times"));
  EXPECT_THAT(RenderMemoryHtml(page), HasSubstr("1 of 1 launches have times"));
}

TEST(MemoryPage, TablesThatAreNotShownAreNamed) {
  MemoryPage page = SmallPage();
  page.tables[0].max_shown = 0;
  EXPECT_THAT(RenderMemoryText(page),
              HasSubstr("Also in --json and --csv --table NAME: rows (2 rows)."));
  EXPECT_THAT(RenderMemoryHtml(page), testing::Not(HasSubstr("x&lt;y")));
}

TEST(MemoryPage, NumbersForPeopleHaveFewDigitsAndSeparators) {
  EXPECT_EQ(MemoryCellText(0.449868, MemoryUnit::kCount), "0.45");
  EXPECT_EQ(MemoryCellText(32.1352, MemoryUnit::kCount), "32.1");
  EXPECT_EQ(MemoryCellText(1234567.4, MemoryUnit::kCount), "1,234,567");
  MemoryPage page = SmallPage();
  page.tables[0].rows.resize(1001, page.tables[0].rows[0]);
  EXPECT_THAT(RenderMemoryText(page), HasSubstr("1,000 more rows in --json and --csv"));
}

TEST(MemoryPage, WhatIsNotKnownIsNoTileAndNoColumn) {
  MemoryPage page = SmallPage();
  page.facts.push_back({"time_ns", "kernel time", {}, MemoryUnit::kNanoseconds});
  page.tables[0].rows = {{std::string("x"), {}}, {std::string("z"), {}}};

  const std::string html = RenderMemoryHtml(page);

  EXPECT_THAT(html, testing::Not(HasSubstr("kernel time")));
  EXPECT_THAT(html, testing::Not(HasSubstr("<th class=\"number\">share</th>")));
  EXPECT_THAT(html, HasSubstr("<th>name</th>"));
}

TEST(MemoryPage, LongTextsAreCutAndShownInFullByThePointer) {
  MemoryPage page = SmallPage();
  const std::string name(200, 'k');
  page.tables[0].rows[0][0] = name;

  const std::string html = RenderMemoryHtml(page);

  EXPECT_THAT(html, HasSubstr("<td class=\"names\"><span data-tip=\"" + name + "\">" +
                              std::string(109, 'k') + "…"));
}

TEST(MemoryPage, LongPagesLinkToTheirParts) {
  MemoryPage page = SmallPage();
  EXPECT_THAT(RenderMemoryHtml(page), testing::Not(HasSubstr("<nav>")));
  for (const char* const heading :
       {"Figure 7, a: kernels", "Figure 7, b: kernels", "Figure 9: a"}) {
    page.pictures.resize(page.pictures.size() + 4, {.heading = heading, .svg = ""});
  }

  const std::string html = RenderMemoryHtml(page);

  EXPECT_THAT(html, HasSubstr("<nav><a href=\"#picture0\">Figure 7</a>\n"
                              "<a href=\"#picture8\">Figure 9</a>\n<a href=\"#rows\">Rows</a>"));
}

TEST(MemoryPage, PageEscapesNamesAndFetchesNothing) {
  const std::string html = RenderMemoryHtml(SmallPage());
  EXPECT_THAT(html, HasSubstr("x&lt;y"));
  EXPECT_THAT(html, HasSubstr("a&lt;b.orrs"));
  EXPECT_THAT(html, testing::Not(HasSubstr("<script src")));
}

}  // namespace
}  // namespace orrery::report
