#include "orrery/ingest/manifest.h"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kManifest = R"({
 "orrery_manifest": 1,
 "world_size": 4,
 "files": [{"file": "run.rank-2.orrs", "bytes": 10, "rank": 2}, {"file": "run.7.orrs"}, {"bytes": 1}]
})";

Result<RunManifest> ReadText(std::string_view text) {
  return ReadManifest(*InputFile::FromMemory("run.manifest.json", text));
}

TEST(Manifest, NamesStreamsAndRanks) {
  const RunManifest manifest = ReadText(kManifest).value();

  EXPECT_EQ(manifest.world_size, 4);
  ASSERT_EQ(manifest.files.size(), 2U);
  EXPECT_EQ(manifest.files[0], (RunManifest::File{.name = "run.rank-2.orrs", .rank = 2}));
  EXPECT_EQ(manifest.files[1], (RunManifest::File{.name = "run.7.orrs", .rank = -1}));
}

TEST(Manifest, IsToldByItsFirstKey) {
  const auto matches = [](std::string_view text) {
    return IsManifest(*InputFile::FromMemory("a.json", text));
  };

  EXPECT_TRUE(matches(kManifest));
  EXPECT_TRUE(matches("{\"orrery_manifest\":1}"));
  for (const std::string_view text : {"", "{", "{}", "[\"orrery_manifest\"]", "\"orrery_manifest\"",
                                      "{\"name\":\"x\",\"orrery_manifest\":1}"}) {
    EXPECT_FALSE(matches(text)) << text;
  }
}

TEST(Manifest, WhatIsCutOffOrNewerIsRefused) {
  const auto cut = ReadText(kManifest.substr(0, 60));
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().message(), HasSubstr("truncated"));

  const auto newer = ReadText("{\"orrery_manifest\":2}");
  ASSERT_FALSE(newer.has_value());
  EXPECT_THAT(newer.error().message(), HasSubstr("newer"));
}

}  // namespace
}  // namespace orrery::ingest
