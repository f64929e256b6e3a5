#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/string_table.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;

/// A graph of relus over tensors of 250 floats, 1,000 bytes each, that lie in given storages.
class Graph {
 public:
  void Add(int storage_in, int storage_out) {
    trace_.graph_nodes.Append({.name = Intern("aten::relu"),
                               .input_values = Intern(Values(storage_in)),
                               .input_shapes = Intern("[[250]]"),
                               .input_types = Intern(R"json(["Tensor(float)"])json"),
                               .output_values = Intern(Values(storage_out)),
                               .output_shapes = Intern("[[250]]"),
                               .output_types = Intern(R"json(["Tensor(float)"])json")});
  }

  [[nodiscard]] std::vector<double> Shares(std::int64_t cache) const {
    return WarmShares(trace_, PricedCalls(trace_), {cache});
  }

 private:
  static std::string Values(int storage) {
    return "[[1, " + std::to_string(storage) + R"json(, 0, 250, 4, "cuda:0"]])json";
  }

  StringId Intern(std::string_view text) { return trace_.strings.Intern(text); }

  trace::Trace trace_;
};

// The second call reads what the first has just written: no byte was touched since, and its own
// 1,000 bytes fit.
TEST(CacheResidencyTest, WhatWasJustWrittenIsWarm) {
  Graph graph;
  graph.Add(1, 2);
  graph.Add(2, 3);
  EXPECT_THAT(graph.Shares(4000), ElementsAre(0, 1));
}

// Storage 2 was touched at 2,000 bytes; storages 3 to 6 make that 6,000 when it is read again:
// 4,000 bytes ago and 1,000 of its own do not fit into 4,500, and do into 5,500.
TEST(CacheResidencyTest, OtherTensorsPushItOut) {
  Graph graph;
  graph.Add(1, 2);
  graph.Add(3, 4);
  graph.Add(5, 6);
  graph.Add(2, 7);
  EXPECT_THAT(graph.Shares(4500), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(graph.Shares(5500), ElementsAre(0, 0, 0, 1));
}

TEST(CacheResidencyTest, ATensorLargerThanTheCacheIsNeverWarm) {
  Graph graph;
  graph.Add(1, 2);
  graph.Add(2, 3);
  EXPECT_THAT(graph.Shares(999), ElementsAre(0, 0));
}

}  // namespace
}  // namespace orrery::workload
