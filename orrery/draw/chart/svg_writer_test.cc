#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/draw/chart/canvas.h"

namespace orrery::draw {
namespace {

std::string Coordinate(double value) {
  std::string out;
  AppendCoordinate(value, out);
  return out;
}

TEST(MarkupTest, WhatMeansSomethingIsEscaped) {
  EXPECT_EQ(EscapeMarkup("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(EscapeMarkup("12.3 µs"), "12.3 µs");
}

TEST(MarkupTest, BytesThatNoPageMayHoldAreReplaced) {
  EXPECT_EQ(EscapeMarkup("a\x01z"), "a\\u0001z");
  EXPECT_EQ(EscapeMarkup("a\xffz"), "a\\xffz");
  EXPECT_EQ(EscapeMarkup("\u202e<b>"), "\\u202e&lt;b&gt;");
  EXPECT_EQ(EscapeMarkup("two\nlines"), "two\nlines");
}

TEST(SvgWriterTest, CoordinatesAreAsShortAsATenthAllows) {
  EXPECT_EQ(Coordinate(12), "12");
  EXPECT_EQ(Coordinate(12.04), "12");
  EXPECT_EQ(Coordinate(12.06), "12.1");
  EXPECT_EQ(Coordinate(-0.3), "-0.3");
  EXPECT_EQ(Coordinate(-0.04), "0");
}

TEST(SvgWriterTest, ElementsCarryStyleAndEscapedText) {
  SvgWriter svg(100, 50, "A & B");
  svg.Rect({.x = 1, .y = 2, .width = 3.5, .height = 4}, {.style = "compute", .tip = "x < y"});
  svg.Text({5, 6}, "<script>", {.style = "label", .anchor = Anchor::kEnd});

  EXPECT_EQ(svg.Finish(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 50\" role=\"img\" "
            "aria-label=\"A &amp; B\">\n"
            "<rect x=\"1\" y=\"2\" width=\"3.5\" height=\"4\" class=\"compute\" "
            "data-tip=\"x &lt; y\"/>\n"
            "<text x=\"5\" y=\"6\" class=\"label\" text-anchor=\"end\">&lt;script&gt;</text>\n"
            "</svg>\n");
}

std::string StyleOf(const std::vector<Series>& series, const std::string& name) {
  for (const Series& one : series) {
    if (one.name == name) {
      return one.style;
    }
  }
  return "";
}

// One rank holds most for activations, the other for parameters: the colours are those of names.
TEST(CategorySeriesTest, ACategoryHasOneColourWhateverTheOrder) {
  const auto first = CategorySeries({"activation", "parameter", "made up"});
  const auto second = CategorySeries({"parameter", "made up", "activation"});

  for (const std::string name : {"activation", "parameter", "made up"}) {
    EXPECT_EQ(StyleOf(first, name), StyleOf(second, name)) << name;
  }
  EXPECT_EQ(StyleOf(first, "activation"), StyleOf(CategorySeries({"activations"}), "activations"));
}

// Eleven colours and grey: of thirteen names without a colour of their own two are grey.
TEST(CategorySeriesTest, CategoriesOfOneChartDifferWhileThereAreColours) {
  std::vector<std::string> names;
  for (int i = 0; i < 13; ++i) {
    names.push_back("operator " + std::to_string(i));
  }
  std::map<std::string, int> count_of_style;
  for (const Series& series : CategorySeries(names)) {
    ++count_of_style[series.style];
  }

  EXPECT_EQ(count_of_style.size(), 12U);
  EXPECT_EQ(count_of_style["other"], 2);
}

}  // namespace
}  // namespace orrery::draw
