#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::nvf1 {
namespace {

using ::testing::HasSubstr;

std::string LittleEndian(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return text;
}

std::string Header(std::uint64_t version = 1, std::uint64_t field_bytes = 40,
                   std::uint64_t time_bytes = 8) {
  return "NVF1" + LittleEndian(version, 2) + LittleEndian(field_bytes, 2) +
         LittleEndian(time_bytes, 4);
}

struct Record {
  std::uint64_t host_time_ns = 1'000'000;
  std::uint64_t field = 138;
  std::uint64_t link = 0xFFFFFFFF;
  std::uint64_t time_us = 1'700'000'000'000'000;
  std::uint64_t value_type = 3;  // unsigned long long
  std::uint64_t return_code = 0;
  std::uint64_t value = 0;
};

std::string Bytes(const Record& record) {
  return LittleEndian(record.host_time_ns, 8) + LittleEndian(record.field, 4) +
         LittleEndian(record.link, 4) + LittleEndian(record.time_us, 8) +
         LittleEndian(7, 8) +  // latency
         LittleEndian(record.value_type, 4) + LittleEndian(record.return_code, 4) +
         LittleEndian(record.value, 8);
}

MeasurementTable ReadBytes(const std::string& bytes, const std::string& name = "gpu2.bin") {
  const auto file = InputFile::FromMemory(name, bytes);
  EXPECT_TRUE(kFormat.matches(*file));
  auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? content->tables.at(0) : MeasurementTable{};
}

std::string ErrorOf(const std::string& bytes) {
  const auto content = kFormat.Read(*InputFile::FromMemory("gpu2.bin", bytes), {});
  return content ? "" : content.error().message();
}

TEST(Nvf1Test, ASampleIsARow) {
  const std::string bytes = Header() + Bytes({.field = 138, .value = 100}) +
                            Bytes({.field = 141, .link = 17, .value = 1ULL << 40});

  const MeasurementTable table = ReadBytes(bytes);

  EXPECT_EQ(table.format, "NVF1");
  EXPECT_TRUE(table.problems.all().empty());
  ASSERT_EQ(table.rows.num_rows(), 2U);
  EXPECT_EQ(table.rows.Integer(0, "gpu"), 2);
  EXPECT_EQ(table.rows.Integer(0, "host_time_ns"), 1'000'000);
  EXPECT_EQ(table.rows.Integer(0, "time_us"), 1'700'000'000'000'000);
  EXPECT_EQ(table.rows.Text(0, "direction"), "tx");
  EXPECT_EQ(table.rows.Integer(0, "raw"), 0);
  EXPECT_EQ(table.rows.Integer(0, "link"), std::nullopt);
  EXPECT_EQ(table.rows.Integer(0, "kib"), 100);
  EXPECT_EQ(table.rows.Text(1, "direction"), "rx");
  EXPECT_EQ(table.rows.Integer(1, "raw"), 1);
  EXPECT_EQ(table.rows.Integer(1, "link"), 17);
  EXPECT_EQ(table.rows.Integer(1, "kib"), 1LL << 40);
}

TEST(Nvf1Test, EachFieldHasItsDirectionAndKind) {
  std::string bytes = Header();
  for (const std::uint64_t field : {138U, 139U, 140U, 141U}) {
    bytes += Bytes({.field = field});
  }

  const Table rows = ReadBytes(bytes).rows;

  const char* const directions[] = {"tx", "rx", "tx", "rx"};
  for (std::size_t row = 0; row < 4; ++row) {
    EXPECT_EQ(rows.Text(row, "direction"), directions[row]);
    EXPECT_EQ(rows.Integer(row, "raw"), row < 2 ? 0 : 1);
  }
}

TEST(Nvf1Test, ARefusedSampleStaysVisibleWithoutAValue) {
  const MeasurementTable table =
      ReadBytes(Header() + Bytes({.value = 5}) + Bytes({.return_code = 3, .value = 77}));

  ASSERT_EQ(table.rows.num_rows(), 2U);
  EXPECT_EQ(table.rows.Integer(1, "kib"), std::nullopt);
  ASSERT_EQ(table.problems.all().size(), 1U);
  EXPECT_EQ(table.problems.all()[0].first, "record 1, return code 3");
  EXPECT_FALSE(table.problems.has_loss());
}

TEST(Nvf1Test, ACutRecordIsLost) {
  const std::string whole = Header() + Bytes({}) + Bytes({});
  for (std::size_t size = Header().size() + 48 + 1; size < whole.size(); ++size) {
    const MeasurementTable table = ReadBytes(whole.substr(0, size));

    EXPECT_EQ(table.rows.num_rows(), 1U);
    EXPECT_TRUE(table.problems.has_loss());
  }
}

TEST(Nvf1Test, LongerFieldsOfOtherVersionsAreStepped) {
  const std::string more(8, 'x');

  const MeasurementTable table =
      ReadBytes(Header(2, 48) + Bytes({.value = 1}) + more + Bytes({.value = 2}) + more);

  ASSERT_EQ(table.rows.num_rows(), 2U);
  EXPECT_EQ(table.rows.Integer(1, "kib"), 2);
  ASSERT_EQ(table.problems.all().size(), 1U);
  EXPECT_EQ(table.problems.all()[0].first, "version 2");
}

// An unsigned int leaves the upper half of NVML's union as it was; 2.5e3 as a double is
// 0x40A3880000000000.
TEST(Nvf1Test, TheTypeOfTheValueIsHonoured) {
  const Table rows = ReadBytes(Header() + Bytes({.value_type = 1, .value = 0xDEADBEEF00000007}) +
                               Bytes({.value_type = 0, .value = 0x40A3880000000000}))
                         .rows;

  EXPECT_EQ(rows.Integer(0, "kib"), 7);
  EXPECT_EQ(rows.Integer(1, "kib"), 2500);
}

TEST(Nvf1Test, OtherFieldsAndAbsurdNumbersAreCounted) {
  const MeasurementTable table =
      ReadBytes(Header() + Bytes({.field = 12}) + Bytes({.host_time_ns = ~0ULL}) +
                Bytes({.value = ~0ULL}) + Bytes({.value = 9}));

  ASSERT_EQ(table.rows.num_rows(), 2U);
  EXPECT_EQ(table.rows.Integer(0, "kib"), std::nullopt);
  EXPECT_EQ(table.rows.Integer(1, "kib"), 9);
  EXPECT_EQ(table.problems.all().size(), 3U);
  EXPECT_TRUE(table.problems.has_loss());
}

TEST(Nvf1Test, AFileWithoutAnySampleIsRefused) {
  EXPECT_THAT(ErrorOf("NVF1"), HasSubstr("ends inside its header"));
  EXPECT_THAT(ErrorOf(Header()), HasSubstr("without a complete sample"));
  EXPECT_THAT(ErrorOf(Header() + Bytes({}).substr(0, 47)), HasSubstr("without a complete sample"));
  EXPECT_THAT(ErrorOf(Header(1, 32) + Bytes({})), HasSubstr("32 bytes for"));
  EXPECT_THAT(ErrorOf(Header(1, 40, 4) + Bytes({})), HasSubstr("4 for the time"));
}

TEST(Nvf1Test, OtherFilesAreLeftAlone) {
  EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("a.bin", "NVF")));
  EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("a.bin", "")));
}

}  // namespace
}  // namespace orrery::ingest::nvf1
