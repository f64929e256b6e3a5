#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

std::int64_t Launches(std::string_view text, const std::vector<std::int64_t>& batches = {}) {
  const auto op = ParseOperator(text);
  EXPECT_TRUE(op) << text;
  return op ? RnnLaunches(*op, batches) : -1;
}

// As measured (data/measured/h200): an LSTM of two layers with 1024 hidden units and 128 steps runs
// 821 kernels forward and 825 backward with TF32; two per step are a product and an element-wise
// kernel, a third adds the parts of a product that was split.
TEST(RnnLaunchesTest, FollowLayersDirectionsAndSteps) {
  EXPECT_EQ(Launches("rnn layers=2 b=64 s=128 input=512 hidden=1024 tf32"), 2 * (5 + 2 * 128));
  EXPECT_EQ(Launches("rnn layers=2 b=64 s=128 input=512 hidden=1024 pass=bwd tf32"),
            2 * (8 + 3 * 128));
  EXPECT_EQ(Launches("rnn layers=1 b=8 s=100 input=32 hidden=256 bi=1 bf16"), 2 * (5 + 2 * 100));
}

// One kernel for all steps of a layer: 4 forward, as measured for one layer of either length.
TEST(RnnLaunchesTest, SmallStatesStayOnTheChip) {
  EXPECT_EQ(Launches("rnn layers=1 b=64 s=183 input=57 hidden=64 fp16"), 4);
  EXPECT_EQ(Launches("rnn layers=1 b=64 s=999 input=57 hidden=64 fp16"), 4);
  EXPECT_EQ(Launches("rnn fn=gru layers=4 b=64 s=100 input=64 hidden=128 tf32"), 13);
  EXPECT_EQ(Launches("rnn fn=tanh layers=2 b=64 s=100 input=64 hidden=256 fp32"), 5);
  // Not in bf16.
  EXPECT_GT(Launches("rnn layers=1 b=64 s=183 input=57 hidden=64 bf16"), 2 * 183);
}

// As recorded: an LSTM of 64 sequences with 51 different lengths of up to 100 steps runs 209
// kernels backward without packing, 258 kernels and 100 copies with it; both directions copy twice
// forward for each change. Small states do not stay on the chip.
TEST(RnnLaunchesTest, PackedSequencesMoveStatesWhereTheBatchChanges) {
  std::vector<std::int64_t> batches(100, 64);
  for (std::size_t step = 50; step < 100; ++step) {
    batches[step] = 113 - static_cast<std::int64_t>(step);
  }
  const std::string lstm = "rnn layers=1 b=64 s=100 input=256 hidden=";
  EXPECT_EQ(Launches(lstm + "200 tf32", batches), 5 + 2 * 100);
  EXPECT_EQ(Launches(lstm + "200 pass=bwd tf32", batches), 8 + 2 * 100 + 50 + 100);
  EXPECT_EQ(Launches(lstm + "200 bi=1 tf32", batches), 2 * (5 + 2 * 100) + 100);
  EXPECT_EQ(Launches(lstm + "64 tf32", batches), 5 + 2 * 100);
}

TEST(RnnLaunchesTest, OthersSayNothing) {
  EXPECT_EQ(Launches("gemm m=8 n=8 k=8 bf16"), 0);
}

// PyTorch hands at most 110 tensors of one list, 64 of two and 48 of three to a kernel, and at most
// 320 pieces of 65,536 elements.
TEST(ListLaunchesTest, FollowTensorsAndPieces) {
  const auto launches = [](std::string_view name, std::size_t lists, std::int64_t elements) {
    AtenCall call{.name = name};
    for (std::size_t list = 0; list < lists; ++list) {
      std::vector<AtenTensor> tensors;
      for (std::int64_t i = 0; i < 200; ++i) {
        tensors.push_back({.dims = {elements},
                           .type = DataType::kFp32,
                           .storage = static_cast<std::int64_t>(list) * 1000 + i});
      }
      call.inputs.emplace_back(tensors);
    }
    return OperatorsOf(call).launches;
  };
  EXPECT_EQ(launches("aten::_foreach_add_", 1, 8), 2);       // 200 / 110
  EXPECT_EQ(launches("aten::_foreach_add_", 2, 8), 4);       // 200 / 64
  EXPECT_EQ(launches("aten::_foreach_add", 2, 8), 5);        // 200 / 48, with the result
  EXPECT_EQ(launches("aten::_foreach_add_", 2, 65536 * 8), 5);  // 1600 / 320
  EXPECT_EQ(launches("aten::_foreach_norm", 1, 8), 3);       // and the sum of the parts
}

// 3 lists are read and one is written: 4 passes where two lists take 3.
TEST(ListLaunchesTest, MoreListsTakeLonger) {
  const auto list = [](std::int64_t storage) {
    return std::vector{AtenTensor{.dims = {300}, .type = DataType::kFp32, .storage = storage}};
  };
  const auto n = [](const AtenCall& call) { return OperatorsOf(call).operators[0].Get(Key::kN); };
  EXPECT_EQ(n({.name = "aten::_foreach_addcdiv_", .inputs = {list(1), list(2), list(3)}}), 400);
  EXPECT_EQ(n({.name = "aten::_foreach_addcmul_", .inputs = {list(1), list(2), list(2)}}), 300);
}

}  // namespace
}  // namespace orrery::kernel
