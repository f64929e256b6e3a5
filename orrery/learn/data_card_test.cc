#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/metrics.h"
#include "orrery/learn/model_file.h"

namespace orrery::learn {
namespace {

DataCard SampleCard() {
  return {.title = "matrix products",
          .rows = 1234,
          .sources = {{.name = "gemm fp16.csv", .bytes = 99, .hash = 0xabc}},
          .split = "random, duplicates together: 70/10/20",
          .seed = 7,
          .made_by = "orrery 0.1.0",
          .figures = {{.name = "test: random",
                       .evaluation = Evaluate(std::vector<double>{1, 2.5, 3},
                                              std::vector<double>{1.5, 2, 3})}},
          .notes = {"first", "second: with a colon"}};
}

TEST(DataCard, ComesBackFromItsText) {
  const auto read = ParseDataCard(FormatDataCard(SampleCard()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, SampleCard());
}

TEST(DataCard, AnEmptyCardComesBack) {
  const auto read = ParseDataCard(FormatDataCard({}));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, DataCard{});
}

TEST(DataCard, IsReadableText) {
  DataCard card = SampleCard();
  card.figures.clear();
  EXPECT_EQ(FormatDataCard(card),
            "title: matrix products\n"
            "rows: 1234\n"
            "source: 99 0000000000000abc gemm fp16.csv\n"
            "split: random, duplicates together: 70/10/20\n"
            "seed: 7\n"
            "made by: orrery 0.1.0\n"
            "note: first\n"
            "note: second: with a colon\n");
}

TEST(DataCard, NamesTheLineThatIsNotUnderstood) {
  for (const char* line : {"colour: red", "rows: many", "  mape: 3", "source: 1 xyz name"}) {
    const auto read = ParseDataCard(std::string("title: a\n") + line + "\n");
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().message(), std::string("data card: line 2 is not understood: ") + line);
  }
}

}  // namespace
}  // namespace orrery::learn
