#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/writer.h"

namespace orrery::stream {
namespace {

std::string StreamOf(int num_launches) {
  const auto header = FileHeader();
  std::string bytes(header.data(), header.size());
  ChunkBuilder chunk(ChunkType::kEvents);
  for (int i = 1; i <= num_launches; ++i) {
    EXPECT_TRUE(chunk.Append(
        Launch{.sequence = static_cast<std::uint64_t>(i), .time_ns = std::int64_t{10} * i}));
  }
  bytes += chunk.Seal();
  ChunkBuilder name(ChunkType::kStrings);
  EXPECT_TRUE(name.Append(String{.id = 1, .text = "x"}));
  return bytes + std::string(name.Seal());
}

std::vector<std::string> PayloadsOf(const std::string& bytes) {
  const std::unique_ptr<ByteSource> source = OpenMemory(bytes);
  auto reader = StreamReader::Open(*source);
  EXPECT_TRUE(reader);
  std::vector<std::string> payloads;
  while (true) {
    const auto chunk = reader->Next();
    if (!chunk || *chunk == nullptr) {
      return payloads;
    }
    payloads.emplace_back((*chunk)->payload);
  }
}

TEST(RecompressTest, RecordsStayByteForByteAndTheFileShrinks) {
  const std::string before = StreamOf(1000);
  const std::unique_ptr<ByteSource> source = OpenMemory(before);
  MemorySink sink;

  const auto done = Recompress(*source, sink);

  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->num_chunks, 2);
  EXPECT_LT(sink.bytes().size(), before.size() / 4);
  EXPECT_EQ(PayloadsOf(sink.bytes()), PayloadsOf(before));
  EXPECT_EQ(done->bytes_after + 16, static_cast<std::int64_t>(sink.bytes().size()));
}

TEST(RecompressTest, TheSmallestStreamHasTheSameRecords) {
  const std::string before = StreamOf(5000);
  const std::unique_ptr<ByteSource> source = OpenMemory(before);
  const std::unique_ptr<ByteSource> again = OpenMemory(before);
  MemorySink fast;
  MemorySink smallest;

  ASSERT_TRUE(Recompress(*source, fast));
  ASSERT_TRUE(Recompress(*again, smallest, true));

  EXPECT_LE(smallest.bytes().size(), fast.bytes().size());
  EXPECT_EQ(PayloadsOf(smallest.bytes()), PayloadsOf(before));
}

TEST(RecompressTest, DoingItAgainChangesNothing) {
  const std::string before = StreamOf(100);
  const std::unique_ptr<ByteSource> source = OpenMemory(before);
  MemorySink once;
  ASSERT_TRUE(Recompress(*source, once));
  const std::unique_ptr<ByteSource> packed = OpenMemory(once.bytes());
  MemorySink twice;

  ASSERT_TRUE(Recompress(*packed, twice));

  EXPECT_EQ(twice.bytes(), once.bytes());
}

TEST(RecompressTest, ATornTailIsSaidAndLeftOut) {
  const std::string before = StreamOf(100);
  const std::string torn = before.substr(0, before.size() - 2);
  const std::unique_ptr<ByteSource> source = OpenMemory(torn);
  MemorySink sink;

  const auto done = Recompress(*source, sink);

  ASSERT_TRUE(done);
  EXPECT_TRUE(done->losses.is_torn);
  EXPECT_EQ(PayloadsOf(sink.bytes()).size(), 1U);
}

}  // namespace
}  // namespace orrery::stream
