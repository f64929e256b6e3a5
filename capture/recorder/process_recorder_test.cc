#include "capture/recorder/process_recorder.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/recorder/recorder_api.h"
#include "capture/recorder/tests/recording_test.h"
#include "orrery/stream/codes.h"

// A process has one recorder, so each test records in a process of its own.

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

/// Runs the function in a child that ends by exit(3), and returns its status.
template <typename Play>
int InChild(const std::string& out, Play&& play) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("ORRERY_CAPTURE_OUT", out.c_str(), 1);
    play();
    std::exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessRecorderTest, WhatCCallersTellIsWrittenAtExit) {
  const TestFolder folder;
  const std::string path = folder.File("run.orrs");

  const int status = InChild(path, [] {
    const std::uint64_t region = orrery_region_begin("forward");
    orrery_memory_allocated(2, 0x1000, 512, 500, 1, 7, 512, 1024);
    orrery_memory_freed(2, 0x1000, 2, 1, 7, 0, 1024);
    orrery_region_end(region);
    orrery_setting("torch", "2.11.0");
    orrery_step(17);
  });

  EXPECT_EQ(status, 3);
  const auto allocations = RecordsOf<stream::Allocation>(path);
  ASSERT_EQ(allocations.size(), 1U);
  EXPECT_EQ(allocations[0].requested_bytes, 500);
  EXPECT_EQ(allocations[0].total_reserved_bytes, 1024);
  const auto frees = RecordsOf<stream::Free>(path);
  ASSERT_EQ(frees.size(), 1U);
  EXPECT_EQ(frees[0].object, allocations[0].object);
  EXPECT_EQ(frees[0].total_allocated_bytes, -1);
  EXPECT_EQ(RecordsOf<stream::RegionEnd>(path).size(), 1U);
  EXPECT_EQ(RecordsOf<stream::Step>(path).at(0).number, 17U);
  EXPECT_EQ(CountIn(path, codes::kRecordingEnded), 1U);
}

// A child of a fork (a data loader, say) neither writes into the recording nor ends it.
TEST(ProcessRecorderTest, AForkedChildLeavesTheRecordingAlone) {
  const TestFolder folder;
  const std::string path = folder.File("run.orrs");

  const int status = InChild(path, [] {
    orrery_step(1);
    if (const pid_t worker = fork(); worker == 0) {
      orrery_step(2);
      std::exit(0);
    } else {
      waitpid(worker, nullptr, 0);
    }
    orrery_step(3);
  });

  EXPECT_EQ(status, 3);
  const auto steps = RecordsOf<stream::Step>(path);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].number, 1U);
  EXPECT_EQ(steps[1].number, 3U);
  EXPECT_EQ(CountIn(path, codes::kRecordingEnded), 1U);
  EXPECT_EQ(folder.num_files(), 1U);
}

TEST(ProcessRecorderTest, RanksOfAJobHaveFilesOfTheirOwn) {
  const TestFolder folder;

  InChild(folder.File("run.orrs"), [] {
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    orrery_step(1);
  });

  const auto processes = RecordsOf<stream::Process>(folder.File("run.rank-3.orrs"));
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].rank, 3);
  EXPECT_EQ(processes[0].world_size, 8);
}

TEST(ProcessRecorderTest, APathThatCannotBeWrittenDoesNotEndTheProgram) {
  const TestFolder folder;

  const int status = InChild(folder.File("absent/run.orrs"), [] { orrery_step(1); });

  EXPECT_EQ(status, 3);
  EXPECT_EQ(folder.num_files(), 0U);
}

}  // namespace
}  // namespace orrery::capture
