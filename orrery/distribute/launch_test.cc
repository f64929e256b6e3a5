#include "orrery/distribute/launch.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace orrery::distribute {
namespace {

Launch With(const std::map<std::string, std::string>& variables) {
  return ReadLaunch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchTest, LaunchersTellHowManyProcessesThereAre) {
  const Launch third_of_four = {.processes = 4, .rank = 2};
  EXPECT_EQ(With({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}}), third_of_four);
  EXPECT_EQ(With({{"PMI_SIZE", "4"}, {"PMI_RANK", "2"}}), third_of_four);
  EXPECT_EQ(With({{"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "2"}}), third_of_four);
}

TEST(LaunchTest, APlainProcessIsAlone) {
  EXPECT_EQ(With({}), Launch());
  // A task of srun without an MPI plugin: the others are not known.
  EXPECT_EQ(With({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}}), Launch());
}

TEST(LaunchTest, WhatIsNoNumberOfAProcessIsIgnored) {
  EXPECT_EQ(With({{"OMPI_COMM_WORLD_SIZE", "many"}, {"OMPI_COMM_WORLD_RANK", "0"}}), Launch());
  EXPECT_EQ(With({{"PMI_SIZE", "4"}, {"PMI_RANK", "4"}}), Launch());
  EXPECT_EQ(With({{"PMI_SIZE", "-4"}, {"PMI_RANK", "-5"}}), Launch());
}

}  // namespace
}  // namespace orrery::distribute
