#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/ingest/execution_trace/reading_test.h"
#include "orrery/ingest/reading_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::GraphNodeKind;
using trace::Trace;

struct Sample {
  std::string path;  // below shared/traces
  std::size_t nodes = 0;
  std::size_t record_param_comms = 0;
  std::size_t collectives = 0;
};

// Counts that were taken with other tools; the ranks of a run are alike.
std::vector<Sample> Samples() {
  std::vector<Sample> samples{
      {"astra-sim/ddp-2rank/eg.rank_0.pt.trace.json.gz", 4801, 9, 7},
      {"astra-sim/ddp-2rank/eg.rank_1.pt.trace.json.gz", 4797, 9, 7},
      {"astra-sim/dlrm-et-plus/dlrm_eg_0_plus.json.gz", 1936, 13, 8},
      {"chakra/1.0.2-chakra.0.0.4.json.gz", 263, 20, 10},
      {"hta/execution_trace/benchmark_simple_add_et.json.gz", 38, 0, 0},
      {"param/1.0.3-chakra.0.0.4/resnet_1gpu_et.json.gz", 14391, 27, 21},
      {"param/1.1.0-chakra.0.0.4/resnet_2gpu_et.json.gz", 14392, 27, 21},
      {"param/hf_GPT2_et.json.gz", 27156, 0, 0},
      {"param/linear_et.json.gz", 931, 0, 0},
      {"param/pt2_et.json.gz", 20, 0, 0},
      {"param/resnet_1gpu_et.json.gz", 14392, 27, 21},
      {"param/resnet_et.json.gz", 14392, 27, 21},
      {"h200/bert-large-b16.et.json.gz", 9890, 0, 0},
      {"h200/dlrm-b2048.et.json.gz", 1462, 0, 0},
      {"h200/fake-ddp64.et.json", 1, 0, 0},
      {"h200/fake-fsdp64.et.json.gz", 5618, 0, 14},
      {"h200/fake-tp8.et.json.gz", 5268, 0, 28},
      {"h200/gpt2-small-b4.et.json.gz", 4241, 0, 0},
      {"h200/gpt2-xl-b8.et.json.gz", 16337, 0, 0},
      {"h200/llama-1b-s2048-b4.et.json.gz", 10600, 0, 0},
      {"h200/resnet50-b64.et.json.gz", 3626, 0, 0},
  };
  for (int rank = 0; rank < 8; ++rank) {
    const std::string number = std::to_string(rank);
    samples.push_back({"astra-sim/megatron-tp8/megatron_et_" + number + ".json.gz", 5424, 170, 85});
    samples.push_back({"param/dlrm-8gpu/dlrm_et_" + number + ".json.gz", 1675, 13, 8});
  }
  return samples;
}

std::string SharedPath(std::string_view name) {
  return std::string(ORRERY_SHARED "/traces/").append(name);
}

// The same file through a parser that knows nothing of windows or schemas.
struct IndependentCount {
  std::size_t nodes = 0;
  std::size_t record_param_comms = 0;
  std::size_t collectives = 0;  // calls whose inputs do not say "wait"
};

bool SaysWait(simdjson::dom::element node) {
  simdjson::dom::array inputs;
  if (node["inputs"].get(inputs)) {
    inputs = node["inputs"]["values"];
  }
  for (const auto input : inputs) {
    if (input.is_string() && std::string_view(input) == "wait") {
      return true;
    }
  }
  return false;
}

IndependentCount CountIndependently(const std::string& path) {
  const auto source = Unpack(*OpenFile(path));
  const std::string text = *ReadAll(*source);
  simdjson::dom::parser parser;
  const simdjson::dom::element document = parser.parse(text);
  IndependentCount count;
  for (const simdjson::dom::element node : document["nodes"]) {
    ++count.nodes;
    if (std::string_view(node["name"]) == "record_param_comms") {
      ++count.record_param_comms;
      count.collectives += SaysWait(node) ? 0 : 1;
    }
  }
  return count;
}

class ExecutionTraceSample : public testing::TestWithParam<Sample> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(SharedPath(GetParam().path))) {
      GTEST_SKIP() << "no sample " << GetParam().path;
    }
  }

  static Trace Read() { return ReadPath(SharedPath(GetParam().path)); }
};

TEST_P(ExecutionTraceSample, GivesEveryNodeAndCall) {
  const Trace trace = Read();
  const IndependentCount independent = CountIndependently(SharedPath(GetParam().path));
  EXPECT_EQ(independent.nodes, GetParam().nodes);
  EXPECT_EQ(independent.record_param_comms, GetParam().record_param_comms);
  EXPECT_EQ(trace.graph_nodes.size(), GetParam().nodes);
  EXPECT_EQ(trace.collectives.size(), GetParam().collectives);
  if (independent.record_param_comms > 0) {
    EXPECT_EQ(trace.collectives.size(), independent.collectives);
  }
  EXPECT_FALSE(trace.problems.has_loss());
  for (const RowId node : trace.collectives.graph_node) {
    EXPECT_LT(node, trace.graph_nodes.size());
  }
}

TEST_P(ExecutionTraceSample, HangsTogetherFromOneRoot) {
  const Trace trace = Read();
  std::size_t without_parent = 0;
  for (RowId row = 0; row < trace.graph_nodes.size(); ++row) {
    without_parent += trace.graph_nodes.parent[row] == kNoRow ? 1 : 0;
    EXPECT_TRUE(row == 0 || trace.graph_nodes.id[row - 1] < trace.graph_nodes.id[row]);
  }
  EXPECT_EQ(without_parent, 1U);
  EXPECT_EQ(trace.graph_nodes.kind[0], GraphNodeKind::kRoot);
}

std::string TestName(const testing::TestParamInfo<Sample>& sample) {
  std::string name = sample.param.path;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Shared, ExecutionTraceSample, testing::ValuesIn(Samples()), TestName);

Trace ReadShared(std::string_view name) {
  return ReadPath(SharedPath(name));
}

TEST(ExecutionTraceSamples, TellTheRankWhereACallSaysIt) {
  if (!std::filesystem::exists(SharedPath("astra-sim"))) {
    GTEST_SKIP() << "no samples";
  }
  EXPECT_EQ(ReadShared("astra-sim/megatron-tp8/megatron_et_5.json.gz").info.rank, 5);
  EXPECT_EQ(ReadShared("param/dlrm-8gpu/dlrm_et_3.json.gz").info.rank, 3);
  EXPECT_EQ(ReadShared("astra-sim/ddp-2rank/eg.rank_1.pt.trace.json.gz").info.rank, 1);
  EXPECT_EQ(ReadShared("param/1.1.0-chakra.0.0.4/resnet_2gpu_et.json.gz").info.rank, 1);
  EXPECT_EQ(ReadShared("h200/fake-tp8.et.json.gz").info.rank, -1);
}

TEST(ExecutionTraceSamples, GiveTheSizesOfMegatronAllReduces) {
  if (!std::filesystem::exists(SharedPath("astra-sim"))) {
    GTEST_SKIP() << "no samples";
  }
  const Trace trace = ReadShared("astra-sim/megatron-tp8/megatron_et_0.json.gz");
  const auto first = trace.collectives.At(0);
  // 4 x 2048 x 4096 halves.
  EXPECT_EQ(first.in_elements, 33554432);
  EXPECT_EQ(first.in_bytes, 67108864);
  EXPECT_EQ(first.sequence, 337);
  EXPECT_EQ(trace.process_groups.num_ranks[first.group], 8);
}

TEST(ExecutionTraceSamples, GiveWhatACutArchiveStillHolds) {
  if (!std::filesystem::exists(SharedPath("h200"))) {
    GTEST_SKIP() << "no samples";
  }
  const auto packed = OpenFile(SharedPath("h200/fake-tp8.et.json.gz"));
  const std::string bytes = *ReadAll(**packed);
  const Trace whole = ReadText(bytes);
  const Trace cut = ReadText(std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_GT(cut.graph_nodes.size(), 1000U);
  EXPECT_LT(cut.graph_nodes.size(), whole.graph_nodes.size());
  EXPECT_EQ(ProblemCount(cut, "truncated JSON"), 1);
  EXPECT_EQ(ProblemCount(cut, "damaged compression"), 1);
}

TEST(ExecutionTraceSamples, GiveFakeGroupsTheirSizes) {
  if (!std::filesystem::exists(SharedPath("h200"))) {
    GTEST_SKIP() << "no samples";
  }
  const Trace fsdp = ReadShared("h200/fake-fsdp64.et.json.gz");
  EXPECT_EQ(fsdp.info.world_size, 64);
  for (RowId row = 0; row < fsdp.collectives.size(); ++row) {
    EXPECT_EQ(fsdp.collectives.group[row], 0U);
    const bool gathers = fsdp.collectives.kind[row] == CollectiveKind::kAllGather;
    const std::int64_t small =
        gathers ? fsdp.collectives.in_bytes[row] : fsdp.collectives.out_bytes[row];
    const std::int64_t large =
        gathers ? fsdp.collectives.out_bytes[row] : fsdp.collectives.in_bytes[row];
    EXPECT_EQ(large, 64 * small) << "row " << row;
  }
}

TEST(ExecutionTraceSamples, GiveMergedTracesTheirKernels) {
  if (!std::filesystem::exists(SharedPath("astra-sim"))) {
    GTEST_SKIP() << "no samples";
  }
  // 245 kernels and 16 copies, as in the Kineto file of the same rank.
  const Trace trace = ReadShared("astra-sim/dlrm-et-plus/dlrm_eg_0_plus.json.gz");
  EXPECT_EQ(trace.activities.size(), 261U);
  EXPECT_EQ(std::count(trace.activities.kind.begin(), trace.activities.kind.end(),
                       trace::ActivityKind::kKernel),
            245);
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
}

}  // namespace
}  // namespace orrery::ingest::execution_trace
