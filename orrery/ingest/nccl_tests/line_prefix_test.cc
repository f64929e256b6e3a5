#include <string_view>

#include <gtest/gtest.h>

#include "orrery/ingest/nccl_tests/run_header.h"

namespace orrery::ingest::nccl_tests {
namespace {

void ExpectSplit(std::string_view line, std::string_view prefix, std::string_view content) {
  const PrefixedLine parts = SplitPrefix(line);
  EXPECT_EQ(parts.prefix, prefix) << line;
  EXPECT_EQ(parts.content, content) << line;
}

TEST(LinePrefixTest, LinesOfASingleProcessHaveNoPrefix) {
  ExpectSplit("# nThread 1", "", "# nThread 1");
  ExpectSplit("      8      2   float", "", "      8      2   float");
  ExpectSplit("", "", "");
}

TEST(LinePrefixTest, LaunchersPutTheProcessInFront) {
  ExpectSplit("[1,0]<stdout>:#  Rank", "[1,0]<stdout>:", "#  Rank");
  ExpectSplit("   [1,0]<stdout>:   8", "[1,0]<stdout>:", "   8");
  ExpectSplit("Mon May  4 10:00:00 2026[1,0]<stderr>:x", "[1,0]<stderr>:", "x");
  ExpectSplit("0:       8", "0:", "       8");
  ExpectSplit("node-a: # Rank", "node-a:", " # Rank");
  ExpectSplit("[pod/worker-0] # Rank", "[pod/worker-0]", " # Rank");
  ExpectSplit("worker-1  | # Rank", "worker-1", " # Rank");
}

// Twelve digits fill the column, so nothing but the tag separates them from the launcher's text.
TEST(LinePrefixTest, ATagMayTouchTheRow) {
  ExpectSplit("[1,0]<stdout>:137438953472  34359738368",
              "[1,0]<stdout>:", "137438953472  34359738368");
}

TEST(LinePrefixTest, TimeStampsDifferFromLineToLineAndAreNoProcess) {
  ExpectSplit("2026-05-04T10:00:00.123Z # Rank", "", " # Rank");
  ExpectSplit("2026-05-04T10:00:00.123Z 0:  8", "0:", "  8");
}

TEST(LinePrefixTest, AHeaderIsFoundBehindAnUnknownPrefix) {
  ExpectSplit("(rank 0) # nThread 1", "", "# nThread 1");
  ExpectSplit("echo hello # comment", "", "echo hello # comment");
}

TEST(LinePrefixTest, TheVersionOfRcclTestsIsNoProcess) {
  ExpectSplit("rccl-tests: Version develop", "", "rccl-tests: Version develop");
}

}  // namespace
}  // namespace orrery::ingest::nccl_tests
