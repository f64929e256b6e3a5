#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/graph_link.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::GraphLinkRule;
using trace::GraphLinkSummary;
using trace::Trace;

Trace ReadShared(std::string_view name) {
  const auto file = InputFile::Open(std::string(ORRERY_SHARED "/traces/").append(name));
  if (!file) {
    ADD_FAILURE() << file.error().message();
    return {};
  }
  for (const Format* format : KnownFormats()) {
    if (format->matches(*file)) {
      auto content = format->Read(*file, {});
      return content ? std::move(content->traces.at(0)) : Trace{};
    }
  }
  ADD_FAILURE() << "no format knows " << name;
  return {};
}

struct Linked {
  Trace trace;
  GraphLinkSummary summary;
};

Linked Link(const std::string& kineto, const std::string& graph) {
  Linked linked{.trace = ReadShared(kineto), .summary = {}};
  linked.summary = LinkGraph(linked.trace, ReadShared(graph));
  return linked;
}

// Checks that each link leads back and that names agree.
void ExpectLinksAgree(const Trace& trace) {
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    if (const RowId op = trace.graph_nodes.host_op[node]; op != kNoRow) {
      EXPECT_EQ(trace.host_ops.graph_node[op], node);
      EXPECT_EQ(trace.host_ops.name[op], trace.graph_nodes.name[node]);
    }
  }
}

std::int64_t CountLinkedRows(const Trace& trace) {
  const auto count = [](const auto& links) {
    return static_cast<std::int64_t>(links.size()) - std::count(links.begin(), links.end(), kNoRow);
  };
  return count(trace.host_ops.graph_node) + count(trace.annotations.graph_node);
}

class GraphSamples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(ORRERY_SHARED "/traces/astra-sim")) {
      GTEST_SKIP() << "the shared samples are not here";
    }
  }
};

TEST_F(GraphSamples, LinkEveryNodeOfMegatron) {
  for (int rank = 0; rank < 8; ++rank) {
    const std::string number = std::to_string(rank) + ".json.gz";
    const Linked linked = Link("astra-sim/megatron-tp8/megatron_kineto_" + number,
                               "astra-sim/megatron-tp8/megatron_et_" + number);
    EXPECT_EQ(linked.summary.rule, GraphLinkRule::kThreadOrder);
    EXPECT_EQ(linked.summary.linked, 5422) << "rank " << rank;
    EXPECT_EQ(linked.summary.unlinked, 0) << "rank " << rank;
    ExpectLinksAgree(linked.trace);
  }
}

TEST_F(GraphSamples, TellMegatronsCollectivesTheirSizes) {
  const Linked linked = Link("astra-sim/megatron-tp8/megatron_kineto_3.json.gz",
                             "astra-sim/megatron-tp8/megatron_et_3.json.gz");
  const trace::Collectives& calls = linked.trace.collectives;
  EXPECT_EQ(calls.size(), 85U);
  for (RowId row = 0; row < calls.size(); ++row) {
    EXPECT_NE(calls.graph_node[row], kNoRow) << "row " << row;
    EXPECT_GT(calls.in_bytes[row], 0) << "row " << row;
    EXPECT_GT(calls.sequence[row], 0) << "row " << row;
    EXPECT_NE(calls.group[row], kNoRow) << "row " << row;
  }
  EXPECT_EQ(linked.trace.info.rank, 3);
}

TEST_F(GraphSamples, LinkBothThreadsOfDlrm) {
  for (int rank = 0; rank < 8; ++rank) {
    const std::string number = std::to_string(rank) + ".json.gz";
    const Linked linked =
        Link("param/dlrm-8gpu/dlrm_kineto_" + number, "param/dlrm-8gpu/dlrm_et_" + number);
    EXPECT_EQ(linked.summary.rule, GraphLinkRule::kThreadOrder);
    EXPECT_EQ(linked.summary.linked, 988 + 684) << "rank " << rank;
    EXPECT_EQ(linked.summary.unlinked, 0) << "rank " << rank;
    ExpectLinksAgree(linked.trace);
  }
}

TEST_F(GraphSamples, LinkRecordingsOfTheSameStepById) {
  const Linked linked = Link("h200/fake-tp8.kineto.json.gz", "h200/fake-tp8.et.json.gz");
  EXPECT_EQ(linked.summary.rule, GraphLinkRule::kRecordFunctionId);
  EXPECT_EQ(linked.summary.linked, 5264);
  EXPECT_EQ(linked.summary.unlinked, 0);
  EXPECT_EQ(CountLinkedRows(linked.trace), 5264);
  for (RowId row = 0; row < linked.trace.collectives.size(); ++row) {
    EXPECT_NE(linked.trace.collectives.group[row], kNoRow) << "row " << row;
  }
}

TEST_F(GraphSamples, LinkAnotherStepOfTheSameProcessByOrder) {
  // The recording has three steps, the execution trace one before them: 1,165 + 3,073 calls.
  const Linked linked = Link("h200/gpt2-small-b4.kineto.json.gz", "h200/gpt2-small-b4.et.json.gz");
  EXPECT_EQ(linked.summary.rule, GraphLinkRule::kStepOrder);
  EXPECT_EQ(linked.summary.linked, 4238);
  EXPECT_EQ(linked.summary.unlinked, 0);
  EXPECT_EQ(CountLinkedRows(linked.trace), 3 * 4238);
  ExpectLinksAgree(linked.trace);
}

TEST_F(GraphSamples, RefuseGraphsOfOtherPrograms) {
  const Linked linked =
      Link("param/dlrm-8gpu/dlrm_kineto_0.json.gz", "astra-sim/megatron-tp8/megatron_et_0.json.gz");
  EXPECT_EQ(linked.summary.rule, GraphLinkRule::kNone);
  EXPECT_EQ(CountLinkedRows(linked.trace), 0);
}

}  // namespace
}  // namespace orrery::ingest::execution_trace
