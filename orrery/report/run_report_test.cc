#include "orrery/report/run_report.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/count_elements.h"
#include "orrery/report/sample_report.h"

namespace orrery::report {
namespace {

using draw::CountElements;
using draw::CountOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The name of the SVG format is an address that nobody fetches.
TEST(RunReportTest, ThePageNeedsNothingElse) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  EXPECT_EQ(CountOf("http://", page), CountOf("xmlns=\"http://www.w3.org/2000/svg\"", page));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("@font-face")));
}

TEST(RunReportTest, ThePageHasALightAndADarkTheme) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  EXPECT_THAT(page, HasSubstr("@media(prefers-color-scheme:dark)"));
  EXPECT_THAT(page, HasSubstr(":root[data-theme=dark]"));
  EXPECT_THAT(page, HasSubstr("color-scheme:light"));
  EXPECT_THAT(page, HasSubstr("id=\"theme\""));
}

TEST(RunReportTest, EveryStyleThatIsUsedHasAColour) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  for (const std::string_view style : {"compute", "transfer", "memory", "idle", "host",
                                       "launch-overhead", "empty", "heat-0", "heat-7"}) {
    EXPECT_THAT(page, HasSubstr("." + std::string(style) + "{--colour:")) << style;
    // Once in the light theme, and in the dark one twice: chosen and by the system's setting.
    EXPECT_EQ(CountOf("--" + std::string(style) + ":#", page), 3U) << style;
  }
}

TEST(RunReportTest, SectionsComeInOrder) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  std::size_t last = 0;
  for (const std::string_view id :
       {"findings", "where-the-time-goes", "one-step-over-ranks", "collectives", "critical-path",
        "who-arrives-late", "metrics", "notes"}) {
    const std::size_t at = page.find("<section id=\"" + std::string(id) + "\">");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
}

TEST(RunReportTest, TextFromOutsideCannotBecomeMarkup) {
  RunReport report = SampleReport(2);
  const std::string evil = "<img onerror='x'>";
  report.title = evil;
  report.facts = {{evil, evil}};
  report.figures = {{evil, evil, evil}};
  report.findings = {{.text = evil, .more = evil}};
  report.metrics = {{.name = evil, .meaning = evil, .reason = evil}};
  report.notes = {evil};
  report.roofs = {{evil, 1e9}};
  report.rank_times[0].label = evil;
  report.timeline->step = evil;
  report.timeline->rows[0].label = evil;
  report.collectives[0].kind = evil;
  report.critical_path->hops[0].name = evil;
  report.critical_path->hops[0].path_class = evil;
  report.arrivals->ranks[0] = evil;
  report.arrivals->collectives[0] = evil;
  report.stragglers[0].rank = evil;
  report.stragglers[0].cause = evil;

  EXPECT_THAT(RenderHtml(RunDocument(report)), Not(HasSubstr("<img")));
}

TEST(RunReportTest, AMetricHasItsValueWithTheUnitOrTheReason) {
  const std::string page = RenderHtml(RunDocument(SampleReport(2)));

  EXPECT_THAT(page, HasSubstr("<td class=\"number\">194.76</td><td>GB/s</td>"));
  EXPECT_THAT(page, HasSubstr("n/a: the workload card has no num_params"));
}

TEST(RunReportTest, AThousandRanksMakeASmallPage) {
  const std::string page = RenderHtml(RunDocument(SampleReport(1'024)));

  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_LT(CountElements(page), 10'000U);
  EXPECT_THAT(page, HasSubstr("Each row stands for 4 ranks"));
}

TEST(RunReportTest, ARunWithoutAnythingSaysSo) {
  const std::string page = RenderHtml(RunDocument({.title = "nothing"}));

  EXPECT_THAT(page, HasSubstr("The run has no device activity."));
  EXPECT_THAT(page, HasSubstr("No collective was matched over several ranks"));
  EXPECT_THAT(page, HasSubstr("No critical path was computed"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(RunReportTest, TheSameReportGivesTheSameBytes) {
  EXPECT_EQ(RenderHtml(RunDocument(SampleReport(16))), RenderHtml(RunDocument(SampleReport(16))));
}

}  // namespace
}  // namespace orrery::report
