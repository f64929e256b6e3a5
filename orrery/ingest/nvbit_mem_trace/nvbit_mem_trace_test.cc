#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nvbit_mem_trace/line.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nvbit_mem_trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::Coverage;

std::string Launch(std::int64_t id, std::string_view name = "add(float*, int)") {
  return fmt::format(
      "MEMTRACE: CTX 0x0000000000000abc - LAUNCH - Kernel pc 0x00007f0000000000 - Kernel name {} - "
      "grid launch id {} - grid size 4,2,1 - block size 128,1,1 - nregs 16 - shmem 512 - cuda "
      "stream id 7\n",
      name, id);
}

// 32 addresses: lane i at base + i * stride, those below `first` not active.
std::string Access(std::int64_t id, std::string_view opcode, std::uint64_t base,
                   std::uint64_t stride, int first = 0) {
  std::string line = fmt::format(
      "MEMTRACE: CTX 0x0000000000000abc - grid_launch_id {} - CTA 1,1,0 - warp 3 - {} - ", id,
      opcode);
  for (int lane = 0; lane < kNumLanes; ++lane) {
    const std::uint64_t address = base + static_cast<std::uint64_t>(lane) * stride;
    line += fmt::format("{:#018x} ", lane < first ? 0 : address);
  }
  return line + "\n";
}

Result<FileContent> ReadResult(const std::string& text) {
  const auto file = InputFile::FromMemory("mem_trace.txt", text);
  EXPECT_TRUE(kFormat.matches(*file));
  return kFormat.Read(*file, {});
}

trace::Trace ReadText(const std::string& text) {
  auto content = ReadResult(text);
  EXPECT_TRUE(content) << content.error().message();
  return content ? std::move(content->traces.at(0)) : trace::Trace();
}

std::int64_t CountOf(const trace::Trace& trace, std::string_view what) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what.find(what) != std::string::npos) {
      return problem.count;
    }
  }
  return 0;
}

// A warp reads 32 floats side by side at 0x10000 (128 bytes, 4 sectors) and writes 32 doubles at
// 0x20ff8 with a stride of 8: the first lane on page 0x20, the others on page 0x21.
TEST(NvbitMemTraceTest, LaunchesAccessesTouchesAndPages) {
  const trace::Trace trace = ReadText("Hello\n" + Launch(0) + Access(0, "LDG.E.SYS", 0x10000, 4) +
                                      Access(0, "STG.E.64.SYS", 0x20ff8, 8));

  EXPECT_EQ(trace.Text(trace.activities.name.at(0)), "add(float*, int)");
  EXPECT_EQ(trace.launch_shapes.grid_y.at(0), 2);
  EXPECT_EQ(trace.launch_shapes.shared_memory_bytes[0], 512);
  EXPECT_EQ(trace.tracks.thread.at(0), 7);
  EXPECT_EQ(trace.touches.object.at(0), kNoRow);
  EXPECT_EQ(trace.touches.read_bytes[0], 128);
  EXPECT_EQ(trace.touches.write_bytes[0], 256);
  EXPECT_EQ(trace.touches.lanes[0], 64);
  EXPECT_EQ(trace.touches.warps[0], 2);
  EXPECT_EQ(trace.touches.sectors[0], 4 + 1 + 8);  // 248 bytes from 0x21000 on are 8 sectors
  EXPECT_THAT(trace.page_runs.address, ElementsAre(0x10000, 0x20000, 0x21000));
  EXPECT_THAT(trace.page_runs.accesses, ElementsAre(32, 1, 31));
  EXPECT_THAT(trace.accesses.address, ElementsAre(0x10000, 0x20ff8));
  EXPECT_THAT(trace.accesses.stride, ElementsAre(4, 8));
  EXPECT_THAT(trace.accesses.is_read, ElementsAre(1, 0));
  EXPECT_THAT(trace.observations.coverage, ElementsAre(Coverage::kExact));
  EXPECT_EQ(CountOf(trace, "line not written by mem_trace"), 1);
}

// PASTA defect 35: block (1, 1, 0) of a grid of 4 × 2 is number 5.
TEST(NvbitMemTraceTest, BlocksAreNumberedWithAllIndexes) {
  const trace::Trace trace = ReadText(Launch(0) + Access(0, "LDG.E", 0x10000, 4));

  EXPECT_THAT(trace.accesses.block, ElementsAre(5));
  EXPECT_THAT(trace.accesses.warp, ElementsAre(3));
}

// PASTA defect 21: address 0 is an inactive lane. Lane 30 is the first one that is active.
TEST(NvbitMemTraceTest, LanesAtAddressZeroAreNotActive) {
  const trace::Trace trace = ReadText(Launch(0) + Access(0, "LDG.E.U8", 0x1000, 16, 30));

  EXPECT_EQ(trace.accesses.lane_mask.at(0), 0xC0000000U);
  EXPECT_EQ(trace.accesses.address[0], 0x1000U);  // the address of lane 0
  EXPECT_EQ(trace.touches.read_bytes.at(0), 2);
}

TEST(NvbitMemTraceTest, LanesWithoutARuleAreListed) {
  std::string line = Access(0, "LDG.E", 0x10000, 4);
  line.replace(line.find("0x0000000000010008"), 18, "0x0000000000099990");
  const trace::Trace trace = ReadText(Launch(0) + line);

  EXPECT_EQ(trace.accesses.first_lane.at(0), 0U);
  ASSERT_EQ(trace.access_lanes.size(), 32U);
  EXPECT_EQ(trace.access_lanes.address[2], 0x99990U);
}

// The tool counted on before it printed: launch 1 is that of accesses with 0.
TEST(NvbitMemTraceTest, NumbersThatAreOneTooHighAreFound) {
  const trace::Trace trace =
      ReadText(Launch(1, "a") + Access(0, "LDG", 64, 4) + Launch(2, "b") + Access(1, "LDG", 64, 4));

  EXPECT_THAT(trace.accesses.activity, ElementsAre(0, 1));
  EXPECT_EQ(CountOf(trace, "has no launch line"), 0);
}

TEST(NvbitMemTraceTest, WhatIsNotUnderstoodIsCounted) {
  const trace::Trace trace = ReadText(Launch(0) + Access(5, "LDG", 64, 4) +
                                      Access(0, "LDS.U", 64, 4) + "MEMTRACE: CTX 0x1 - what\n");

  EXPECT_EQ(CountOf(trace, "has no launch line"), 1);
  EXPECT_EQ(CountOf(trace, "shared or local"), 1);
  EXPECT_EQ(CountOf(trace, "cannot be parsed"), 1);
  EXPECT_THAT(trace.observations.coverage, ElementsAre(Coverage::kUnseen, Coverage::kExact));
}

TEST(NvbitMemTraceTest, OpcodesSayWhatTheyDo) {
  EXPECT_EQ(OperationOf("LDG.E.128.SYS").bytes, 16);
  EXPECT_EQ(OperationOf("STG.E.U16").bytes, 2);
  EXPECT_EQ(OperationOf("LD.E.S8").bytes, 1);
  EXPECT_EQ(OperationOf("LDG.E.64.STRONG.GPU").bytes, 8);
  EXPECT_EQ(OperationOf("LDG").bytes, 4);
  EXPECT_TRUE(OperationOf("RED.E.ADD.F32").is_atomic);
  EXPECT_TRUE(OperationOf("ATOMG.E.ADD").is_global);
  EXPECT_FALSE(OperationOf("ATOMS.ADD").is_global);
  EXPECT_FALSE(OperationOf("STL.64").is_global);
  EXPECT_TRUE(OperationOf("LDGSTS.E.128").is_read);
}

TEST(NvbitMemTraceTest, CutLinesAreCountedAndNothingIsAnError) {
  const std::string whole = Launch(0) + Access(0, "LDG.E", 0x10000, 4);
  for (std::size_t size = Launch(0).size(); size < whole.size(); size += 7) {
    const trace::Trace trace = ReadText(whole.substr(0, size));
    EXPECT_EQ(trace.activities.size(), 1U);
  }
  const auto content = ReadResult("MEMTRACE: CTX 0x1 - nothing\n");
  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(), HasSubstr("mem_trace.txt: no launch"));
}

}  // namespace
}  // namespace orrery::ingest::nvbit_mem_trace
