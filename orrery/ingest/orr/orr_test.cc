#include "orrery/trace/orr/orr.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest {
namespace {

using ::testing::StartsWith;

trace::TraceSet SmallSet() {
  trace::TraceSet set;
  for (const std::int32_t rank : {0, 1}) {
    trace::Trace& trace = set.ranks.emplace_back();
    trace.info.rank = rank;
    trace.info.format = "Kineto JSON";
    trace.host_ops.Append({.begin_ns = 7, .name = trace.strings.Intern("aten::mm")});
    trace.problems.Note("of the rank");
  }
  set.card = trace::WorkloadCard{.file = "card.yaml", .values = {{"model", "m"}}};
  set.problems.Loss("of the set", 2);
  return set;
}

// Tests run in parallel processes, so each has a file of its own.
std::string TestName() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

class OrrFormatTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(trace::WriteOrr(SmallSet(), path_)); }

  void TearDown() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string Bytes() const {
    std::ifstream stream(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string path_ = ::testing::TempDir() + TestName() + "_orr_format_test.orr";
};

void ExpectSmallSet(const Result<FileContent>& content) {
  ASSERT_TRUE(content) << content.error().message();
  const trace::TraceSet expected = SmallSet();
  EXPECT_EQ(content->traces, expected.ranks);
  EXPECT_EQ(content->card, expected.card);
  EXPECT_EQ(content->problems, expected.problems);
  EXPECT_TRUE(content->tables.empty());
}

TEST_F(OrrFormatTest, AContainerGivesBackRanksCardAndProblems) {
  const auto file = InputFile::Open(path_);
  ASSERT_TRUE(file);

  ASSERT_TRUE(orr::kFormat.matches(*file));
  ExpectSmallSet(orr::kFormat.Read(*file, {}));
}

TEST_F(OrrFormatTest, AContainerIsReadFromMemoryAndThroughZstd) {
  const std::string plain = Bytes();
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 1));

  for (const std::string& bytes : {plain, packed}) {
    const auto file = InputFile::FromMemory("run.orr", bytes);
    ASSERT_TRUE(file);
    ASSERT_TRUE(orr::kFormat.matches(*file));
    ExpectSmallSet(orr::kFormat.Read(*file, {}));
  }
}

TEST_F(OrrFormatTest, ErrorsNameTheFile) {
  const std::string cut = Bytes().substr(0, 100);
  const auto file = InputFile::FromMemory("run.orr", cut);
  ASSERT_TRUE(file);

  const auto content = orr::kFormat.Read(*file, {});

  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(), StartsWith("run.orr: the container ends early"));
}

TEST_F(OrrFormatTest, ContainersAreTriedFirst) {
  ASSERT_FALSE(KnownFormats().empty());
  EXPECT_EQ(KnownFormats().front(), &orr::kFormat);
}

TEST_F(OrrFormatTest, OtherFilesDoNotMatch) {
  const auto file = InputFile::FromMemory("run.json", "{\"traceEvents\": []}");
  ASSERT_TRUE(file);

  EXPECT_FALSE(orr::kFormat.matches(*file));
}

}  // namespace
}  // namespace orrery::ingest
