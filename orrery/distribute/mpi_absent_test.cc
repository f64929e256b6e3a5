#include <gtest/gtest.h>

#include "orrery/distribute/mpi_channel.h"

namespace orrery::distribute {
namespace {

TEST(MpiAbsentTest, SeveralProcessesAreRefusedWithTheRemedy) {
  const auto channel = ConnectByMpi({.processes = 4, .rank = 0});
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().message(),
            "4 processes were started, but this program was built without MPI: start one process, "
            "or install libopenmpi-dev and build with -DORRERY_MPI=ON");
}

}  // namespace
}  // namespace orrery::distribute
