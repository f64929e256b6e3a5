#pragma once

#include <string>

#include <gtest/gtest.h>

#include "orrery/ingest/registry.h"
#include "orrery/stream/codes.h"
#include "orrery/stream/writer.h"

namespace orrery::ingest::orrs {

/// A chunk that holds one record.
template <typename Record>
std::string ChunkOf(const Record& record) {
  stream::ChunkBuilder builder(Record::kChunk);
  EXPECT_TRUE(builder.Append(record));
  return std::string(builder.Seal());
}

/// A file with a chunk for each record, without an end mark.
template <typename... Records>
std::string FileOf(const Records&... records) {
  const auto header = stream::FileHeader();
  return (std::string(header.data(), header.size()) + ... + ChunkOf(records));
}

inline std::string EndMark() {
  return ChunkOf(stream::CoverageCount{.kind = stream::codes::kRecordingEnded});
}

inline Result<FileContent> ReadResult(const std::string& bytes) {
  const auto file = InputFile::FromMemory("run.orrs", bytes);
  EXPECT_TRUE(file);
  return kFormat.Read(*file, {});
}

inline trace::Trace ReadBytes(const std::string& bytes) {
  auto content = ReadResult(bytes);
  EXPECT_TRUE(content) << content.error().message();
  return content ? std::move(content->traces.at(0)) : trace::Trace();
}

/// Returns the count of a problem in the trace.
inline std::int64_t CountOf(const trace::Trace& trace, std::string_view what) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what.find(what) != std::string::npos) {
      return problem.count;
    }
  }
  return 0;
}

/// A small stream with a record of nearly every kind.
inline std::string SmallStream() {
  const std::uint64_t frames[] = {3};
  const std::uint64_t shape[] = {8, 4};
  const std::uint64_t strides[] = {32};
  const std::uint64_t offsets[] = {0, 8};
  const std::uint64_t counts[] = {5, 5, 0, 7};
  return FileOf(stream::Process{.producer = "test", .host = "h", .process = 42, .rank = 1},
                stream::Device{.device = 0, .name = "NVIDIA H200", .memory_bytes = 1 << 20},
                stream::String{.id = 1, .text = "add_kernel"},
                stream::String{.id = 2, .text = "aten::add"},
                stream::String{.id = 3, .text = "train.py:7"},
                stream::Stack{.id = 1, .frames = frames},
                stream::Function{.id = 1, .module = 1, .name = 1},
                stream::OperatorBegin{.sequence = 1, .time_ns = 100, .thread = 7, .name = 2},
                stream::Allocation{.sequence = 2,
                                   .time_ns = 110,
                                   .thread = 7,
                                   .object = 1,
                                   .address = 0x10000,
                                   .bytes = 4096,
                                   .stack = 1},
                stream::Launch{.sequence = 3,
                               .time_ns = 120,
                               .thread = 7,
                               .function = 1,
                               .grid_x = 4,
                               .block_x = 128,
                               .coverage = stream::codes::kExact,
                               .duration_ns = 30},
                stream::OperatorEnd{.sequence = 4, .time_ns = 130, .thread = 7, .begin = 1},
                stream::Copy{.sequence = 5,
                             .time_ns = 160,
                             .thread = 7,
                             .source = 0x10000,
                             .destination = 0x900000,
                             .width_bytes = 64,
                             .kind = stream::codes::kDeviceToHost,
                             .duration_ns = 5},
                stream::Touch{.launch = 3,
                              .object = 1,
                              .read_bytes = 2048,
                              .write_bytes = 1024,
                              .sectors = 96,
                              .lanes = 768,
                              .warps = 24},
                stream::PageTouch{.launch = 3,
                                  .object = 1,
                                  .page_bytes = 4096,
                                  .first_page = 16,
                                  .form = stream::codes::kCounts,
                                  .numbers = counts},
                stream::TensorMap{.id = 1,
                                  .address = 0x10000,
                                  .element_bytes = 2,
                                  .shape = shape,
                                  .strides_bytes = strides},
                stream::LaunchMap{.launch = 3, .object = 1, .map = 1},
                stream::WarpAccess{.launch = 3,
                                   .address = 0x10000,
                                   .access_bytes = 4,
                                   .flags = stream::codes::kRead,
                                   .form = stream::codes::kGeneral,
                                   .inactive_lanes = 0xFFFFFFFA,
                                   .offsets = offsets},
                stream::Free{.sequence = 6, .time_ns = 200, .thread = 7, .object = 1},
                stream::CoverageCount{.kind = stream::codes::kInstructionPatched,
                                      .name = "GLOBAL_MEMORY_ACCESS",
                                      .count = 1},
                stream::Overhead{.phase = stream::codes::kCollection, .total_ns = 77}) +
         EndMark();
}

}  // namespace orrery::ingest::orrs
