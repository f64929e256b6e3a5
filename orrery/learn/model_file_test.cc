#include "orrery/learn/model_file.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"

namespace orrery::learn {
namespace {

ModelFile SampleModel() {
  return {.card = {.title = "sample", .rows = 3, .notes = {"one note"}},
          .sections = {{.name = "forest", .bytes = std::string(1'000, 'x')},
                       {.name = "empty", .bytes = ""}}};
}

std::string RefusalOf(std::string_view bytes) {
  const auto model = ParseModelFile(bytes);
  return model ? "" : model.error().message();
}

TEST(ModelFile, ComesBackFromItsBytes) {
  const std::string bytes = FormatModelFile(SampleModel());
  EXPECT_EQ(bytes, FormatModelFile(SampleModel()));
  const auto read = ParseModelFile(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, SampleModel());
}

TEST(ModelFile, ComesBackFromAFile) {
  const std::string path = testing::TempDir() + "sample.model";
  ASSERT_TRUE(WriteModelFile(SampleModel(), path));
  const auto read = ReadModelFile(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, SampleModel());
}

TEST(ModelFile, SectionsAreFoundByName) {
  const ModelFile model = SampleModel();
  EXPECT_EQ(model.Find("forest")->size(), 1'000);
  EXPECT_EQ(model.Find("tree").error().message(), "no such section in the model file: tree");
}

TEST(ModelFile, AnErrorNamesTheFile) {
  const std::string path = testing::TempDir() + "other.model";
  ASSERT_TRUE(WriteFile(path, "text"));
  const auto read = ReadModelFile(path);
  std::filesystem::remove(path);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            path + ": not a model file, which begins with ORRMODEL: name one that was trained");
}

TEST(ModelFile, AnotherVersionIsRefused) {
  std::string bytes = FormatModelFile(SampleModel());
  bytes[8] = 9;
  EXPECT_EQ(RefusalOf(bytes),
            "model file of version 9, and this program reads versions 1 to 2: use the program that "
            "wrote it, or train the model again");
}

TEST(ModelFile, EveryCutIsRefused) {
  const std::string bytes = FormatModelFile(SampleModel());
  for (std::size_t size = 8; size < bytes.size(); ++size) {
    EXPECT_EQ(RefusalOf(std::string_view(bytes).substr(0, size)),
              "the model file ends early, after " + std::to_string(size) + " bytes: copy it again");
  }
}

TEST(ModelFile, EveryChangedByteBehindTheVersionIsRefused) {
  const std::string bytes = FormatModelFile(SampleModel());
  for (std::size_t place = 16; place < bytes.size(); ++place) {
    std::string changed = bytes;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    EXPECT_NE(RefusalOf(changed), "") << place;
  }
  EXPECT_EQ(RefusalOf(bytes + "more"),
            "the model file is damaged: copy it again, or train the model again");
}

}  // namespace
}  // namespace orrery::learn
