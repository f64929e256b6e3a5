#include "orrery/cli/help/man_page.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/cli/description.h"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

TEST(ManPage, HasWhatHelpHas) {
  const VerbDescription verb{
      .name = "fit",
      .text = "Fit - quickly",
      .usage = "orrery fit [OPTIONS] DATA...",
      .footer = ".leading dot\nA\\B\n",
      .options =
          {{.names = {"DATA"}, .value = " TEXT ...", .text = "tables", .group = "", .choices = {}},
           {.names = {"-o", "--output"},
            .value = " FILE",
            .text = "the file",
            .group = "Options",
            .choices = {}}},
      .verbs = {{.name = "kernels", .text = "Times", .usage = "", .footer = ""}}};
  const std::string page = ManPage(verb, "fit");
  EXPECT_THAT(page,
              HasSubstr(".TH \"orrery\\-fit\" 1\n.SH NAME\norrery\\-fit \\- Fit \\- quickly\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"Positionals\"\n.TP\n\\fBDATA\\fR TEXT ...\ntables\n"));
  EXPECT_THAT(page, HasSubstr(".SH \"Options\"\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR FILE\n"));
  EXPECT_THAT(page, HasSubstr(".BR orrery\\-fit\\-kernels (1)\nTimes\n"));
  EXPECT_THAT(page, HasSubstr(".nf\n\\&.leading dot\nA\\eB\n.fi\n"));
}

}  // namespace
}  // namespace orrery::cli
