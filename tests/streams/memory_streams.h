#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/stream/codes.h"
#include "orrery/stream/format.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"

// Small recordings for the golden cases of `orrery memory`, whose results can be worked out by
// hand. They lie in tests/data/orrs; `write_memory_streams tests/data/orrs` writes them again.

namespace orrery::streams {

namespace codes = stream::codes;

/// Collects chunks, one for each record.
class StreamBytes {
 public:
  StreamBytes() {
    const auto header = stream::FileHeader();
    bytes_.assign(header.data(), header.size());
  }

  template <typename Record>
  StreamBytes& Add(const Record& record) {
    stream::ChunkBuilder chunk(Record::kChunk);
    is_whole_ = chunk.Append(record) && is_whole_;
    bytes_ += chunk.Seal();
    return *this;
  }

  /// Ends the recording; empty if a record did not fit.
  std::string Finish() {
    Add(stream::CoverageCount{.kind = codes::kRecordingEnded});
    return is_whole_ ? bytes_ : std::string();
  }

 private:
  std::string bytes_;
  bool is_whole_ = true;
};

inline constexpr std::uint64_t kKibibyte = 1024;
inline constexpr std::uint64_t kBase = 0x7f0000000000;
inline constexpr std::uint64_t kWeight = kBase;
inline constexpr std::uint64_t kInput = kBase + 1024 * kKibibyte;
inline constexpr std::uint64_t kOutput = kBase + 1536 * kKibibyte;

inline void AddNames(StreamBytes& bytes) {
  const char* const names[] = {"void add<float>(float*, float const*, int)",
                               "void add<int>(int*, int const*, int)",
                               "nvjet_tst_128x64",
                               "aten::add",
                               "aten::mm",
                               "weight",
                               "void gather<4>(int*)",
                               "launch number 4"};
  std::uint64_t id = 0;
  for (const char* const name : names) {
    bytes.Add(stream::String{.id = ++id, .text = name});
  }
  for (const auto& [function, name] : {std::pair{1, 1}, {2, 2}, {3, 3}, {4, 7}}) {
    bytes.Add(stream::Function{.id = static_cast<std::uint64_t>(function),
                               .name = static_cast<std::uint64_t>(name)});
  }
}

inline void AddAllocation(StreamBytes& bytes, std::uint64_t sequence, std::uint64_t object,
                          std::uint64_t address, std::uint64_t size, std::uint64_t level) {
  bytes.Add(stream::Allocation{.sequence = sequence,
                               .time_ns = static_cast<std::int64_t>(1000 * sequence),
                               .thread = 1,
                               .object = object,
                               .address = address,
                               .bytes = size,
                               .level = level});
}

inline void AddLaunch(StreamBytes& bytes, std::uint64_t sequence, std::uint64_t function,
                      std::uint64_t coverage, std::int64_t duration_ns, std::uint64_t reason = 0) {
  bytes.Add(stream::Launch{.sequence = sequence,
                           .time_ns = static_cast<std::int64_t>(1000 * sequence),
                           .thread = 1,
                           .function = function,
                           .grid_x = 4,
                           .grid_y = 1,
                           .grid_z = 1,
                           .block_x = 128,
                           .block_y = 1,
                           .block_z = 1,
                           .coverage = coverage,
                           .duration_ns = duration_ns,
                           .reason = reason});
}

inline void AddTouch(StreamBytes& bytes, std::uint64_t launch, std::uint64_t object,
                     std::uint64_t read_bytes, std::uint64_t write_bytes) {
  const std::uint64_t moved = read_bytes + write_bytes;
  bytes.Add(stream::Touch{.launch = launch,
                          .object = object,
                          .read_bytes = read_bytes,
                          .write_bytes = write_bytes,
                          .sectors = moved / 32,
                          .lanes = moved / 4,
                          .warps = moved / 128});
}

/// 4 MiB with a weight of 1 MiB, an input and an output of 512 KiB each.
inline void AddObjects(StreamBytes& bytes) {
  AddAllocation(bytes, 1, 1, kBase, 4096 * kKibibyte, codes::kDriver);
  AddAllocation(bytes, 2, 2, kBase, 4096 * kKibibyte, codes::kSegment);
  bytes.Add(stream::Object{.id = 3,
                           .address = kWeight,
                           .bytes = 1024 * kKibibyte,
                           .memory_class = codes::kTensorClass,
                           .birth = 3,
                           .name = 6});
  AddAllocation(bytes, 4, 4, kInput, 512 * kKibibyte, codes::kTensor);
  AddAllocation(bytes, 5, 5, kOutput, 512 * kKibibyte, codes::kTensor);
}

inline void AddOperator(StreamBytes& bytes, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t name) {
  const auto time = [](std::uint64_t sequence) {
    return static_cast<std::int64_t>(1000 * sequence);
  };
  bytes.Add(
      stream::OperatorBegin{.sequence = begin, .time_ns = time(begin), .thread = 1, .name = name});
  bytes.Add(
      stream::OperatorEnd{.sequence = end, .time_ns = time(end), .thread = 1, .begin = begin});
}

/// Five launches, a copy and a set; seen exactly, by argument and not at all.
///
/// | event | what | reads | writes |
/// |---|---|---|---|
/// | 11 | add<float> | 64 KiB of the weight, 512 KiB input | 512 KiB output |
/// | 12 | add<int>, twice over the input | 1 MiB input | 512 KiB output |
/// | 16 | product, not watched: weight and output are arguments | | |
/// | 19 | add<float>, left out | | |
/// | 20 | copy of the output to the host | 512 KiB | |
/// | 21 | the input is freed | | |
/// | 22 | set of the output's first 4 KiB | | 4 KiB |
/// | 23 | gather: single accesses | one warp, twice | |
inline std::string SmallRecording() {
  StreamBytes bytes;
  bytes.Add(stream::Process{.producer = "test", .process = 7, .rank = 0});
  bytes.Add(stream::Device{.device = 0, .name = "NVIDIA H200"});
  AddNames(bytes);
  AddObjects(bytes);
  AddOperator(bytes, 10, 13, 4);
  AddLaunch(bytes, 11, 1, codes::kExact, 4000);
  AddTouch(bytes, 11, 3, 64 * kKibibyte, 0);
  AddTouch(bytes, 11, 4, 512 * kKibibyte, 0);
  AddTouch(bytes, 11, 5, 0, 512 * kKibibyte);
  // 16 pages of 4 KiB of the weight, and all 128 of input and output.
  const std::uint64_t weight_pages[] = {0, 16};
  const std::uint64_t all_pages[] = {0, 128};
  for (const auto& [object, address] :
       {std::pair{3, kWeight}, std::pair{4, kInput}, std::pair{5, kOutput}}) {
    bytes.Add(stream::PageTouch{.launch = 11,
                                .object = static_cast<std::uint64_t>(object),
                                .page_bytes = 4096,
                                .first_page = address / 4096,
                                .form = codes::kRuns,
                                .numbers = object == 3 ? weight_pages : all_pages});
  }
  AddLaunch(bytes, 12, 2, codes::kExact, 5000);
  AddTouch(bytes, 12, 4, 1024 * kKibibyte, 0);
  AddTouch(bytes, 12, 5, 0, 512 * kKibibyte);
  AddOperator(bytes, 15, 17, 5);
  AddLaunch(bytes, 16, 3, codes::kUnseen, 10'000);
  bytes.Add(stream::LaunchArgument{.launch = 16, .object = 3, .address = kWeight, .offset = 0});
  bytes.Add(stream::LaunchArgument{.launch = 16, .object = 5, .address = kOutput, .offset = 8});
  AddLaunch(bytes, 19, 1, codes::kUnseen, 4000, 8);
  bytes.Add(stream::Copy{.sequence = 20,
                         .time_ns = 20'000,
                         .thread = 1,
                         .source = kOutput,
                         .destination = 0x5500'0000'0000,
                         .width_bytes = 512 * kKibibyte,
                         .kind = codes::kDeviceToHost,
                         .duration_ns = 700});
  bytes.Add(stream::Free{.sequence = 21, .time_ns = 21'000, .thread = 1, .object = 4});
  bytes.Add(stream::Set{.sequence = 22,
                        .time_ns = 22'000,
                        .thread = 1,
                        .address = kOutput,
                        .width_bytes = 4 * kKibibyte,
                        .duration_ns = 100});
  AddLaunch(bytes, 23, 4, codes::kExact, 1000);
  AddTouch(bytes, 23, 3, 256, 0);
  // 32 lanes of 4 bytes, one behind the other, and the same again 8 bytes further: 136 bytes.
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{8}}) {
    bytes.Add(stream::WarpAccess{.launch = 23,
                                 .address = kWeight + offset,
                                 .access_bytes = 4,
                                 .flags = codes::kRead,
                                 .form = codes::kAffine,
                                 .stride = 4});
  }
  bytes.Add(stream::CoverageCount{
      .kind = codes::kLaunchesSkipped, .name = "launch number 4", .count = 1});
  return bytes.Finish();
}

/// Launches whose accesses were not recorded.
inline std::string CoarseRecording() {
  StreamBytes bytes;
  AddNames(bytes);
  AddObjects(bytes);
  AddLaunch(bytes, 11, 1, codes::kUnseen, 4000);
  AddLaunch(bytes, 12, 2, codes::kUnseen, 5000);
  bytes.Add(stream::CoverageCount{
      .kind = codes::kLaunchesSkipped, .name = "accesses were not asked for", .count = 2});
  return bytes.Finish();
}

/// A recording in which nothing happened.
inline std::string EmptyRecording() {
  return StreamBytes().Finish();
}

struct NamedStream {
  const char* file;
  std::string bytes;
};

inline std::vector<NamedStream> AllMemoryStreams() {
  return {{"memory_small.orrs", SmallRecording()},
          {"memory_coarse.orrs", CoarseRecording()},
          {"memory_empty.orrs", EmptyRecording()}};
}

}  // namespace orrery::streams
