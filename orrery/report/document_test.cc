#include "orrery/report/document.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Document::Table SmallTable() {
  return {.key = "rows",
          .heading = "all rows",
          .columns = {{"name", "name"}, {"share", "share", Unit::kShare}},
          .rows = {{"x<y", 0.5}, {"z", Value()}},
          .max_shown = 1};
}

Document SmallDocument() {
  Document document{.title = "a<b.orrs", .kind = "Orrery memory"};
  document.AddSection().Say("1 launch").Set("launches", 1);
  document.AddSection("", "facts")
      .Add(Document::Fact{"peak_bytes", "peak", std::int64_t{2048}, Unit::kBytes, "rank 0"});
  document.AddSection("", "tables").Add(SmallTable());
  return document;
}

TEST(Document, ValuesAreShownInTheirUnits) {
  EXPECT_EQ(CellText(1536, Unit::kBytes), "1.50 KiB");
  EXPECT_EQ(CellText(1536, Unit::kDecimalBytes), "1.54 kB");
  EXPECT_EQ(CellText(255, Unit::kAddress), "0xff");
  EXPECT_EQ(CellText(2.5, Unit::kRatio), "2.50×");
  EXPECT_EQ(CellText(1234567, Unit::kText), "1234567");
  EXPECT_EQ(CellText(0.449868, Unit::kCount), "0.45");
  EXPECT_EQ(CellText(1234567.4, Unit::kCount), "1,234,567");
  EXPECT_EQ(CellText(Value(), Unit::kBytes), "–");
  EXPECT_EQ(CellText(std::nan(""), Unit::kCount), "–");
  EXPECT_EQ(CellText(-std::numeric_limits<double>::infinity(), NumberFormat("{:+.1f} %")), "–");
  EXPECT_EQ(CellText(0.0125, NumberFormat("{:.3f} ms", 1e3)), "12.500 ms");
}

TEST(Document, TextHasTitleLinesFactsAndTables) {
  EXPECT_EQ(RenderText(SmallDocument()),
            "a<b.orrs\n"
            "1 launch\n"
            "\n"
            "  peak  2.00 KiB (rank 0)\n"
            "\n"
            "all rows\n"
            "  name   share\n"
            "  ----  ------\n"
            "  x<y   50.0 %\n"
            "  1 more row in --json and --csv\n");
}

TEST(Document, SectionsHaveHeadingsAndFactsAreAligned) {
  Document document;
  document.AddSection("gemm on H200").Show("time", "3 us").Show("roofline", "2 us", "by memory");
  document.AddSection("gemv on H200").Show("time", "1 us");
  EXPECT_EQ(RenderText(document),
            "gemm on H200\n"
            "  time      3 us\n"
            "  roofline  2 us (by memory)\n"
            "\n"
            "gemv on H200\n"
            "  time  1 us\n");
}

TEST(Document, ListsWithAHeadingAreItemizedAndWrapped) {
  Document document;
  document.AddSection().Add(
      Document::List{.key = "notes",
                     .heading = "Not modelled",
                     .items = {std::string(60, 'a') + " " + std::string(60, 'b')}});
  EXPECT_EQ(RenderText(document),
            "Not modelled\n  - " + std::string(60, 'a') + "\n    " + std::string(60, 'b') + "\n");
}

// A terminal shows headings in bold, alarms and what is worse in red, what is left out in yellow.
// An escape in a name is shown, not obeyed.
TEST(Document, ColoursAreForTerminalsOnly) {
  Document document{.title = "run\x1b[2J"};
  document.AddSection().Say("OUT OF MEMORY", Document::Text::Style::kAlarm);
  document.AddSection().Add(
      Document::Table{.columns = {AsText("verdict")}, .rows = {{"worse"}, {"better"}, {"–"}}});
  document.AddSection().Add(Document::List{"", "Not modelled", {"faults"}, true});
  EXPECT_EQ(RenderText(document, {.has_color = true}),
            "\x1b[1mrun\\u001b[2J\x1b[0m\n"
            "\x1b[1;31mOUT OF MEMORY\x1b[0m\n"
            "\n"
            "verdict\n"
            "-------\n"
            "\x1b[1;31mworse\x1b[0m\n"
            "\x1b[32mbetter\x1b[0m\n"
            "–\n"
            "\n"
            "\x1b[1;33mNot modelled\x1b[0m\n"
            "  - faults\n");
  EXPECT_THAT(RenderText(document), Not(HasSubstr("\x1b")));
}

TEST(Document, TextFitsThePage) {
  Document document{.title = "llama on H100: tp 8"};
  document.AddSection().Show("memory", "1 GiB", "of 8 GiB").Say("bottleneck: compute, most of it");
  EXPECT_EQ(RenderText(document, {.width = 18}),
            "llama on H100: tp\n"
            "  8\n"
            "  memory  1 GiB\n"
            "          (of\n"
            "          8 GiB)\n"
            "\n"
            "bottleneck:\n"
            "  compute, most of\n"
            "  it\n");
}

TEST(Document, FindingsHaveABarOfTheirShare) {
  Document document;
  document.AddSection().Add(Document::Finding{.text = "Ranks wait.", .more = "", .share = 0.38});
  EXPECT_EQ(RenderText(document), " 38 % ████░░░░░░  Ranks wait.\n");
}

TEST(Document, FieldsFactsTablesAndSectionsAreOfTheJsonTree) {
  EXPECT_EQ(RenderJson(SmallDocument()),
            "{\n"
            "  \"launches\": 1,\n"
            "  \"facts\": {\n"
            "    \"peak_bytes\": 2048\n"
            "  },\n"
            "  \"tables\": {\n"
            "    \"rows\": [\n"
            "      {\n"
            "        \"name\": \"x<y\",\n"
            "        \"share\": 0.5\n"
            "      },\n"
            "      {\n"
            "        \"name\": \"z\",\n"
            "        \"share\": null\n"
            "      }\n"
            "    ]\n"
            "  }\n"
            "}\n");
}

TEST(Document, JsonCanHaveAnotherShape) {
  Document document = SmallDocument();
  document.data = Value::List().Add(1).Add(true);
  EXPECT_EQ(RenderJson(document), "[\n  1,\n  true\n]\n");
}

TEST(Document, CsvHasAllRowsOfATableByName) {
  Document document = SmallDocument();
  EXPECT_EQ(RenderCsv(document).value(), "name,share\nx<y,0.5\nz,\n");
  EXPECT_EQ(RenderCsv(document, "rows").value(), RenderCsv(document).value());
  EXPECT_EQ(RenderCsv(document, "row").error().message(), "--table row: there are the tables rows");
}

TEST(Document, CsvColumnsOfIntegersWithOneNumberAreOfNumbers) {
  Document document;
  document.AddSection().Add(
      Document::Table{.key = "t", .columns = {{"n", "n", Unit::kCount}}, .rows = {{2}, {0.5}}});
  EXPECT_EQ(RenderCsv(document).value(), "n\n2.0\n0.5\n");
}

TEST(Document, TextSaysWhichTablesAreNotShown) {
  Document document = SmallDocument();
  std::get<Document::Table>(document.sections.back().blocks.front()).max_shown = 0;
  EXPECT_THAT(RenderText(document),
              HasSubstr("\nAlso in --json and --csv --table NAME: rows (2 rows).\n"));
  EXPECT_THAT(RenderHtml(document), Not(HasSubstr("x&lt;y")));
}

TEST(Document, UnknownFactsAndColumnsAreLeftOutOfPages) {
  Document document = SmallDocument();
  document.AddSection().Add(Document::Fact{"ratio", "over execution", Value(), Unit::kRatio});
  Document::Table empty = SmallTable();
  empty.rows = {{"x", Value()}};
  document.sections[2].blocks = {empty};
  EXPECT_THAT(RenderText(document), Not(HasSubstr("over execution")));
  EXPECT_THAT(RenderHtml(document), Not(HasSubstr("ver execution")));
  EXPECT_THAT(RenderHtml(document), Not(HasSubstr(">share</th>")));
}

TEST(Document, SectionsCanBeForTextOrPagesOnly) {
  Document document;
  document.AddSection().Say("for people at a terminal").Set("key", 1);
  document.sections.back().shown = Shown::kInText;
  EXPECT_THAT(RenderText(document), HasSubstr("terminal"));
  EXPECT_THAT(RenderHtml(document), Not(HasSubstr("terminal")));
  EXPECT_EQ(RenderJson(document), "{\n  \"key\": 1\n}\n");
}

TEST(Document, PagesEscapeNamesAndFetchNothing) {
  const std::string html = RenderHtml(SmallDocument());
  EXPECT_THAT(html, HasSubstr("<h1>a&lt;b.orrs</h1>"));
  EXPECT_THAT(html, HasSubstr("x&lt;y"));
  EXPECT_THAT(html, HasSubstr("<span>Peak</span><b>2.00 KiB</b><span>rank 0</span>"));
  EXPECT_THAT(html, HasSubstr("<section id=\"all-rows\">\n<h2>All rows</h2>"));
  EXPECT_THAT(html, Not(HasSubstr("<script src")));
}

TEST(Document, LongTextsOfPagesAreTruncatedAndShownInFullByThePointer) {
  Document document = SmallDocument();
  const std::string name(200, 'k');
  std::get<Document::Table>(document.sections.back().blocks.front()).rows[0][0] = name;
  EXPECT_THAT(RenderHtml(document), HasSubstr("<td class=\"names\"><span data-tip=\"" + name +
                                              "\">" + std::string(109, 'k') + "…"));
}

TEST(Document, LongPagesLinkToTheirSubjects) {
  Document document = SmallDocument();
  EXPECT_THAT(RenderHtml(document), Not(HasSubstr("<nav>")));
  Document::Section& pictures = document.AddSection();
  for (const char* const heading :
       {"Figure 7, a: kernels", "Figure 7, b: kernels", "Figure 9", "Figure 10", "Figure 11"}) {
    pictures.Add(Document::Picture{.heading = heading, .svg = ""});
  }
  EXPECT_THAT(RenderHtml(document),
              HasSubstr("<nav><a href=\"#all-rows\">All rows</a>\n"
                        "<a href=\"#figure-7\">Figure 7</a>\n<a href=\"#figure-9\">Figure 9</a>"));
}

TEST(Document, SvgHasAllPicturesBelowEachOther) {
  Document document{.title = "pictures"};
  EXPECT_EQ(RenderSvg(document).error().message(), "--svg: there is nothing to draw");
  const std::string svg = "<svg viewBox=\"0 0 1080 100\"><path/></svg>";
  document.AddSection()
      .Add(Document::Picture{.heading = "first", .svg = svg})
      .Add(Document::Picture{.heading = "second", .svg = svg});
  // Margin 24, a head of 68 without a legend, a picture of 100.
  const std::string rendered = RenderSvg(document).value();
  EXPECT_THAT(rendered, HasSubstr("translate(24 24)"));
  EXPECT_THAT(rendered, HasSubstr("translate(24 92)"));
  EXPECT_THAT(rendered, HasSubstr("translate(24 192)"));
}

// A fill that refers to a pattern which the file does not define is drawn as nothing.
TEST(Document, SvgAloneDefinesThePatternThatWaitingIsFilledWith) {
  Document document{.title = "waiting"};
  document.AddSection().Add(
      Document::Picture{.svg = "<svg viewBox=\"0 0 9 9\"><path class=\"waiting\"/></svg>"});
  const std::string rendered = RenderSvg(document).value();
  EXPECT_THAT(rendered, HasSubstr(".waiting{fill:var(--hatch,url(#hatch))}"));
  const std::size_t pattern = rendered.find("<defs><pattern id=\"hatch\"");
  ASSERT_NE(pattern, std::string::npos);
  EXPECT_EQ(rendered.find("id=\"hatch\"", pattern + 20), std::string::npos);
}

TEST(HtmlTest, TheFooterSaysByWhatThePageWasMadeWithoutMarkup) {
  const std::string html = RenderHtml(
      SmallDocument(),
      {.version = "orrery 1.2", .date = "2026-01-01", .command = "orrery info '<script>&'"});

  EXPECT_THAT(html, HasSubstr("<p id=\"made-by\">orrery 1.2 · 2026-01-01 · <code>orrery info "
                              "&#39;&lt;script&gt;&amp;&#39;</code></p>"));
}

TEST(HtmlTest, NeighboursWithOneLineAreFoldedTogether) {
  Document document;
  document.AddSection("Pictures")
      .Add(Document::Picture{.heading = "one", .svg = "<svg/>", .fold = "All of them"})
      .Add(Document::Picture{.heading = "two", .svg = "<svg/>", .fold = "All of them"})
      .Say("Behind them.");
  const std::string html = RenderHtml(document);

  const std::size_t fold = html.find("<details><summary>All of them</summary>");
  ASSERT_NE(fold, std::string::npos);
  EXPECT_EQ(html.find("<details>", fold + 1), std::string::npos);
  EXPECT_LT(html.find("<h3>Two</h3>"), html.find("</details>"));
  EXPECT_LT(html.find("</details>"), html.find("Behind them."));
}

TEST(JsonTest, SectionsInARowWithOneKeyAreOneObject) {
  Document document;
  document.AddSection("First", "tables").Set("one", 1);
  document.AddSection("Second", "tables").Set("two", 2);
  document.AddSection("").Set("three", 3);

  EXPECT_EQ(RenderJson(document),
            "{\n  \"tables\": {\n    \"one\": 1,\n    \"two\": 2\n  },\n  \"three\": 3\n}\n");
}

}  // namespace
}  // namespace orrery::report
