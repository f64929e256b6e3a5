#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "capture/recorder/clock.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/visit.h"

namespace orrery::capture {

/// A clock that moves when it is told to.
class FakeClock : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override { return time_ns; }

  std::int64_t time_ns = 1000;
};

inline std::string BytesOf(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own for a test, gone with it.
class TestFolder {
 public:
  TestFolder() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "capture_" + test->test_suite_name() + "_" + test->name();
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }

  ~TestFolder() { std::filesystem::remove_all(path_); }

  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] std::string File(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

  [[nodiscard]] std::size_t num_files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

/// Calls `visit(record)` for each record of a stream, in the order of the file.
template <typename Visit>
void ForEachRecordOf(const std::string& bytes, Visit&& visit) {
  const auto source = OpenMemory(bytes);
  auto reader = stream::StreamReader::Open(*source);
  ASSERT_TRUE(reader) << "not a stream";
  for (auto chunk = reader->Next(); chunk && *chunk != nullptr; chunk = reader->Next()) {
    stream::ForEachRecord(**chunk, visit);
  }
  EXPECT_EQ(reader->losses(), stream::StreamLosses{});
}

/// All records of one type. Their texts are not valid any more.
template <typename Record>
std::vector<Record> RecordsOf(const std::string& path) {
  std::vector<Record> records;
  ForEachRecordOf(BytesOf(path), [&]<typename Any>(const Any& record) {
    if constexpr (std::is_same_v<Any, Record>) {
      records.push_back(record);
    }
  });
  return records;
}

/// Returns a stream's count of this kind and name; an empty name stands for any.
inline std::uint64_t CountIn(const std::string& path, std::uint64_t kind,
                             std::string_view name = {}) {
  std::uint64_t count = 0;
  ForEachRecordOf(BytesOf(path), [&]<typename Any>(const Any& record) {
    if constexpr (std::is_same_v<Any, stream::CoverageCount>) {
      count += record.kind == kind && (name.empty() || record.name == name) ? record.count : 0;
    }
  });
  return count;
}

/// The text that a stream gives a number.
inline std::string TextIn(const std::string& path, std::uint64_t id) {
  std::string text;
  ForEachRecordOf(BytesOf(path), [&]<typename Any>(const Any& record) {
    if constexpr (std::is_same_v<Any, stream::String>) {
      text = record.id == id ? std::string(record.text) : text;
    }
  });
  return text;
}

}  // namespace orrery::capture
