#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/ingest/nsys/database_test.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys {
namespace {
using trace::Trace;

// Schemas as NCCL registers them.
constexpr int kInit = 16777218;
constexpr int kPlain = 16777220;
constexpr int kReduction = 16777223;
constexpr int kPeer = 16777226;
constexpr int kOperator = 16777232;

constexpr std::uint64_t kCommunicator = 0xABCD'0000'0000'0001;

constexpr const char* kTables = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)'),
    (2, 'ncclDevKernel_SendRecv(args)'), (3, 'cuLaunchKernelEx');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid,
    demangledName);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
  CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, domainId, binaryData);
  CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId, schemaId, idx, type, name, offset);
  INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
    (1, 16777218, 0, 18, 'NCCL communicator ID', NULL), (1, 16777218, 1, 5, 'No. of ranks', 8),
    (1, 16777218, 2, 5, 'Rank', 12), (1, 16777218, 3, 5, 'CUDA device', 16),
    (1, 16777220, 0, 18, 'NCCL communicator ID', NULL),
    (1, 16777220, 1, 22, 'Message size [bytes]', 8),
    (1, 16777223, 0, 18, 'NCCL communicator ID', NULL),
    (1, 16777223, 1, 22, 'Message size [bytes]', 8),
    (1, 16777223, 2, 16777232, 'Reduction operation', 16),
    (1, 16777226, 0, 18, 'NCCL communicator ID', NULL),
    (1, 16777226, 1, 22, 'Message size [bytes]', 8), (1, 16777226, 2, 5, 'Peer rank', 16);
  CREATE TABLE NVTX_PAYLOAD_ENUM_ENTRIES (domainId, schemaId, idx, name, value);
  INSERT INTO NVTX_PAYLOAD_ENUM_ENTRIES VALUES (1, 16777232, 0, 'Sum', 0);
)";

std::string Word(std::uint64_t value, std::size_t bytes = 8) {
  std::string word(bytes, '\0');
  std::memcpy(word.data(), &value, bytes);
  return word;
}

// A payload blob as an SQL literal.
std::string Blob(int schema, const std::string& data) {
  const std::string bytes =
      Word(1) + Word(static_cast<std::uint64_t>(schema)) + Word(data.size()) + Word(32) + data;
  std::string literal = "x'";
  for (const char c : bytes) {
    literal += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return literal + "'";
}

std::string Message(std::uint64_t bytes) {
  return Word(kCommunicator) + Word(bytes);
}

class NsysNcclTest : public testing::Test {
 protected:
  void SetUp() override { Run(kTables); }

  void Run(const std::string& statements) { ASSERT_EQ(database_.Run(statements), ""); }

  void AddRange(int start, int end, const std::string& name, const std::string& blob = "NULL") {
    Run(fmt::format("INSERT INTO NVTX_EVENTS VALUES ({}, {}, 59, '{}', {}, 1, {})", start, end,
                    name, 5 << 24 | 9, blob));
  }

  // A kernel and its launch.
  void AddKernel(int launch, int start, int end, int name) {
    const int correlation = launch;
    Run(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, 20, {}, {}, {});"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, 3)",
        start, end, correlation, 5 << 24, name, launch, launch + 1, 5 << 24 | 9, correlation));
  }

  void AddInit(std::uint32_t num_ranks, std::uint32_t rank) {
    AddRange(1, 2, "ncclCommInitRank",
             Blob(kInit, Word(kCommunicator) + Word(num_ranks, 4) + Word(rank, 4) + Word(0)));
  }

  Trace Read() {
    const std::string bytes = database_.Bytes();
    auto content = ReadBytes(bytes);
    EXPECT_TRUE(content) << content.error().message();
    EXPECT_EQ(content->traces.size(), 1U);
    return std::move(content->traces[0]);
  }

  TestDatabase database_;
};

// 4,096 bytes of bfloat16 are 2,048 elements.
TEST_F(NsysNcclTest, AKernelBelongsToTheRangeAroundItsLaunch) {
  AddInit(8, 3);
  AddRange(10, 30, "ncclAllReduce", Blob(kReduction, Message(4096) + Word(0)));
  AddKernel(20, 100, 150, 1);

  const Trace trace = Read();

  ASSERT_EQ(trace.collectives.size(), 1U);
  const auto row = trace.collectives.At(0);
  EXPECT_EQ(trace.Text(row.name), "ncclAllReduce");
  EXPECT_EQ(row.kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(row.begin_ns, 100);
  EXPECT_EQ(row.duration_ns, 50);
  EXPECT_EQ(row.num_kernels, 1);
  EXPECT_EQ(row.data_type, DataType::kBf16);
  EXPECT_EQ(row.in_bytes, 4096);
  EXPECT_EQ(row.in_elements, 2048);
  ASSERT_EQ(trace.process_groups.size(), 1U);
  EXPECT_EQ(row.group, 0U);
  EXPECT_EQ(trace.process_groups.communicator[0], kCommunicator);
  EXPECT_EQ(trace.process_groups.num_ranks[0], 8);
  EXPECT_EQ(trace.activities.collective[0], 0U);
  EXPECT_EQ(trace.info.rank, 3);
  EXPECT_EQ(trace.info.world_size, 8);
}

TEST_F(NsysNcclTest, PayloadsAreKeptOnTheRanges) {
  AddRange(10, 30, "ncclAllReduce", Blob(kReduction, Message(4096) + Word(0)));

  const Trace trace = Read();

  ASSERT_EQ(trace.annotations.size(), 1U);
  EXPECT_EQ(trace.Text(trace.annotations.extra[0]),
            fmt::format(R"("NCCL communicator ID":{},"Message size [bytes]":4096,)"
                        R"("Reduction operation":"Sum")",
                        kCommunicator));
}

TEST_F(NsysNcclTest, AGroupOfSendsAndReceivesIsOneExchange) {
  AddRange(10, 11, "ncclGroupStart");
  AddRange(12, 13, "ncclSend", Blob(kPeer, Message(100) + Word(1)));
  AddRange(14, 15, "ncclRecv", Blob(kPeer, Message(300) + Word(1)));
  AddRange(16, 30, "ncclGroupEnd");
  AddKernel(20, 100, 150, 2);

  const Trace trace = Read();

  ASSERT_EQ(trace.collectives.size(), 1U);
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kSendRecv);
  EXPECT_EQ(trace.collectives.peer[0], 1);
  EXPECT_EQ(trace.collectives.in_bytes[0], 100);
  EXPECT_EQ(trace.collectives.out_bytes[0], 300);
  EXPECT_EQ(trace.activities.collective[0], 0U);
}

// One group with an all-reduce and a send: two kernels, each to its own call.
TEST_F(NsysNcclTest, KernelsOfAMixedGroupFindTheCallsTheyServe) {
  AddRange(10, 11, "ncclGroupStart");
  AddRange(12, 13, "ncclAllReduce", Blob(kReduction, Message(64) + Word(0)));
  AddRange(14, 15, "ncclSend", Blob(kPeer, Message(32) + Word(6)));
  AddRange(16, 30, "ncclGroupEnd");
  AddKernel(20, 100, 150, 2);
  AddKernel(21, 160, 170, 1);

  const Trace trace = Read();

  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kSend);
  EXPECT_EQ(trace.collectives.peer[0], 6);
  EXPECT_EQ(trace.collectives.kind[1], CollectiveKind::kAllReduce);
  EXPECT_EQ(trace.collectives.in_bytes[1], 64);
}

TEST_F(NsysNcclTest, AKernelWithoutARangeAndARangeWithoutAKernelAreRowsOfTheirOwn) {
  AddRange(500, 510, "ncclAllGather", Blob(kPlain, Message(64)));
  AddKernel(20, 100, 150, 1);

  const Trace trace = Read();

  ASSERT_EQ(trace.collectives.size(), 2U);
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kAllReduce);
  EXPECT_EQ(trace.collectives.group[0], kNoRow);
  EXPECT_EQ(trace.collectives.num_kernels[1], 0);
  EXPECT_EQ(trace.collectives.begin_ns[1], 500);
  EXPECT_EQ(trace.collectives.in_bytes[1], 64);
  EXPECT_EQ(trace.collectives.out_bytes[1], -1) << "the number of ranks is not known";
}

TEST_F(NsysNcclTest, PayloadsThatNoSchemaExplainsAreCounted) {
  AddRange(10, 30, "ncclAllReduce", "x'0102'");
  AddRange(40, 50, "ncclAllReduce", Blob(kOperator + 100, Message(1)));

  const Trace trace = Read();

  EXPECT_EQ(FindProblem(trace, "its schema does not explain")->count, 2);
  EXPECT_EQ(trace.collectives.size(), 2U);
}

// The data end after the communicator: the size must stay unknown rather than be read beyond.
TEST_F(NsysNcclTest, FieldsBeyondTheDataAreLeftOut) {
  AddRange(10, 30, "ncclAllReduce", Blob(kReduction, Word(kCommunicator)));

  const Trace trace = Read();

  EXPECT_EQ(trace.collectives.in_bytes[0], -1);
  EXPECT_EQ(trace.process_groups.communicator[0], kCommunicator);
}

}  // namespace
}  // namespace orrery::ingest::nsys
