#include "orrery/cli/embedding.h"

#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(EmbeddingTest, ADocumentIsKeptInsteadOfPrinted) {
  Embedding embedding;
  testing::internal::CaptureStdout();
  RunEmbedded({"list", "gpus"}, embedding);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), IsEmpty());
  EXPECT_EQ(embedding.status, kExitOk);
  ASSERT_TRUE(embedding.document);
  EXPECT_THAT(report::RenderJson(*embedding.document), HasSubstr("\"gpus\""));
}

TEST(EmbeddingTest, AnErrorIsASentence) {
  Embedding embedding;
  testing::internal::CaptureStderr();
  RunEmbedded({"simulate", "nowhere.yaml"}, embedding);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  EXPECT_EQ(embedding.status, kExitUnusable);
  EXPECT_THAT(embedding.error, HasSubstr("nowhere.yaml"));
}

TEST(EmbeddingTest, AMistakeOnTheCommandLineIsASentenceToo) {
  Embedding embedding;
  RunEmbedded({"simulate", "--sett"}, embedding);
  EXPECT_THAT(embedding.error, HasSubstr("did you mean '--set'"));
}

TEST(EmbeddingTest, WorkThatIsStoppedSaysSo) {
  Embedding embedding;
  embedding.stop = true;
  RunEmbedded({"analyze", std::string(ORRERY_TEST_DATA) + "/h200/fake-tp8.kineto.json.gz"},
              embedding);
  EXPECT_EQ(embedding.error, "stopped");
}

TEST(EmbeddingTest, ItIsThatOfItsThread) {
  EXPECT_EQ(Embedding::Current(), nullptr);
  Embedding first;
  Embedding second;
  std::thread other([&] { RunEmbedded({"list", "clusters"}, second); });
  RunEmbedded({"list", "gpus"}, first);
  other.join();
  EXPECT_THAT(report::RenderJson(*first.document), HasSubstr("\"gpus\""));
  EXPECT_THAT(report::RenderJson(*second.document), HasSubstr("\"clusters\""));
}

}  // namespace
}  // namespace orrery::cli
