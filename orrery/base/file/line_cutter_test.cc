#include "orrery/base/file/line_cutter.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery {
namespace {

using testing::ElementsAre;

std::vector<std::string> Cut(const std::vector<std::string_view>& pieces) {
  std::vector<std::string> lines;
  LineCutter cutter(4, [&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string_view piece : pieces) {
    cutter.Add(piece);
  }
  cutter.Finish();
  return lines;
}

TEST(LineCutterTest, CutsLinesOutOfPieces) {
  EXPECT_THAT(Cut({"a", "b\nc", "\n\nd"}), ElementsAre("ab", "c", "", "d"));
  EXPECT_THAT(Cut({"a\n"}), ElementsAre("a"));
}

// Five of the six bytes tell that the line is longer than four.
TEST(LineCutterTest, KeepsTheBeginningOfALongLineAndGoesOn) {
  EXPECT_THAT(Cut({"abc", "def\nx\n"}), ElementsAre("abcde", "x"));
}

}  // namespace
}  // namespace orrery
