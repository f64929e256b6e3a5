#include "tests/streams/memory_streams.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/streams/time_streams.h"
#include "test_paths.h"

namespace orrery::streams {
namespace {

std::string ContentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The golden cases speak of what the generator says.
TEST(MemoryStreams, FilesAreWhatTheGeneratorWrites) {
  for (const auto& streams : {AllMemoryStreams(), AllTimeStreams()}) {
    for (const NamedStream& stream : streams) {
      EXPECT_EQ(ContentOf(std::string(ORRERY_TEST_DATA "/orrs/") + stream.file), stream.bytes)
          << stream.file << ": run write_memory_streams tests/data/orrs";
    }
  }
}

}  // namespace
}  // namespace orrery::streams
