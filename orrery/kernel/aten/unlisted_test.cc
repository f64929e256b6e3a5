// Operators without a mapping: they are estimated from their bytes, or launch nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

AtenTensor Fp32(std::vector<std::int64_t> dims, std::int64_t storage) {
  return {.dims = std::move(dims), .type = DataType::kFp32, .storage = storage};
}

// Complex numbers are no type of an operator, but their size is known.
AtenTensor Complex(std::vector<std::int64_t> dims, std::int64_t storage) {
  return {.dims = std::move(dims), .storage = storage, .element_bytes = 8};
}

double BytesOf(const AtenOperators& operators) {
  double bytes = 0;
  for (const Operator& op : operators.operators) {
    bytes += static_cast<double>(op.Get(Key::kN) *
                                 (op.Get(Key::kReadBytes) + op.Get(Key::kWriteBytes)));
  }
  return bytes;
}

// A transform of 2^20 complex numbers of 8 bytes reads and writes 2^24 bytes once at least, and
// does not go over them ten times.
TEST(UnlistedOperators, ComplexTransformsMoveTheirBytes) {
  const AtenOperators fft = OperatorsOf({.name = "aten::_fft_c2c",
                                         .inputs = {Complex({1024, 1024}, 1)},
                                         .outputs = {Complex({1024, 1024}, 2)}});
  EXPECT_EQ(fft.meaning, AtenMeaning::kMeasured);
  EXPECT_GE(BytesOf(fft), 1 << 24);
  EXPECT_LE(BytesOf(fft), 10 << 24);
}

// CTC walks along the sequence: its time hardly depends on the batch.
TEST(UnlistedOperators, AMeasuredLatencyIsPartOfTheTime) {
  const auto ctc = [](std::int64_t batch) {
    return BytesOf(OperatorsOf({.name = "aten::_ctc_loss",
                                .inputs = {Fp32({256, batch, 32}, 1)},
                                .outputs = {Fp32({batch}, 2)}}));
  };
  EXPECT_GT(ctc(1), 1e8);
  EXPECT_LT(ctc(64), 2 * ctc(1));
}

// 64 rows out of a table of a million: the table's size does not count.
TEST(UnlistedOperators, ATableIsNotReadAsAWhole) {
  const auto lookup = [](std::int64_t rows) {
    return BytesOf(OperatorsOf({.name = "vendor::embedding_lookup",
                                .inputs = {Fp32({rows, 128}, 1), Fp32({64}, 2)},
                                .outputs = {Fp32({64, 128}, 3)}}));
  };
  EXPECT_GT(lookup(1 << 10), 0);
  EXPECT_EQ(lookup(1 << 20), lookup(1 << 10));
}

TEST(UnlistedOperators, AnUnknownNameHasTheThroughputOfItsClass) {
  const auto bytes = [](const char* name) {
    return BytesOf(OperatorsOf(
        {.name = name, .inputs = {Fp32({1 << 24}, 1)}, .outputs = {Fp32({1 << 24}, 2)}}));
  };
  const AtenOperators sorted = OperatorsOf({.name = "aten::some_sort_of_rows",
                                            .inputs = {Fp32({1 << 24}, 1)},
                                            .outputs = {Fp32({1 << 24}, 2)}});
  EXPECT_EQ(sorted.meaning, AtenMeaning::kUnknown);
  EXPECT_GT(bytes("aten::some_sort_of_rows"), 5 * bytes("aten::some_function"));
  // Element-wise: 2^26 bytes are read and as many written.
  EXPECT_NEAR(bytes("aten::some_function"), 1 << 27, 0.3 * (1 << 27));
}

TEST(UnlistedOperators, WorkInPlaceTakesAsLong) {
  const auto bytes = [](const char* name) {
    return BytesOf(OperatorsOf(
        {.name = name, .inputs = {Fp32({1 << 20}, 1)}, .outputs = {Fp32({1 << 20}, 2)}}));
  };
  EXPECT_EQ(bytes("aten::index_copy_"), bytes("aten::index_copy"));
  EXPECT_EQ(OperatorsOf({.name = "aten::index_copy_", .inputs = {Fp32({8}, 1)}}).meaning,
            AtenMeaning::kMeasured);
}

// A name of each class, two that were measured, and one of another library.
TEST(UnlistedOperators, MoreBytesAreNeverFaster) {
  constexpr auto kSizes =
      std::to_array<std::int64_t>({1 << 10, 1 << 16, 1 << 19, 1 << 22, 1 << 26});
  for (const char* name :
       {"aten::roll", "aten::histc", "aten::unheard_of", "aten::new_pool9d", "aten::_fft_new",
        "aten::linalg_new", "aten::upsample_bicubic9d", "aten::new_matmul", "aten::sort_new",
        "aten::cumnew", "aten::new_scatter", "aten::_fused_new_", "aten::poisson_new",
        "aten::special_new", "aten::new_loss", "vendor::unheard_of"}) {
    const auto bytes = [&](std::int64_t read, std::int64_t written) {
      return BytesOf(OperatorsOf(
          {.name = name, .inputs = {Fp32({read}, 1)}, .outputs = {Fp32({written}, 2)}}));
    };
    for (std::size_t i = 1; i < kSizes.size(); ++i) {
      for (const std::int64_t other : kSizes) {
        EXPECT_GE(bytes(kSizes[i], other), bytes(kSizes[i - 1], other)) << name;
        EXPECT_GE(bytes(other, kSizes[i]), bytes(other, kSizes[i - 1])) << name;
      }
    }
  }
}

// A transform of images of 256 x 256 passes over them once for rows and once for columns; one of
// 2^16 numbers needs two passes, of real ones a third.
TEST(UnlistedOperators, TransformsPassOverTheirTensorsForEachDimension) {
  using Integers = std::vector<std::int64_t>;
  const auto images = [](Integers dims) {
    return OperatorsOf({.name = "aten::_fft_c2c",
                        .inputs = {Complex({64, 256, 256}, 1), std::move(dims)},
                        .outputs = {Complex({64, 256, 256}, 2)}});
  };
  EXPECT_THAT(images({2}).operators, SizeIs(1));
  EXPECT_THAT(images({1, 2}).operators, SizeIs(2));
  EXPECT_NEAR(BytesOf(images({1, 2})), 2 * BytesOf(images({2})), 1e3);
  const AtenOperators rows = OperatorsOf({.name = "aten::_fft_r2c",
                                          .inputs = {Fp32({64, 1 << 16}, 1), Integers{-1}},
                                          .outputs = {Complex({64, (1 << 15) + 1}, 2)}});
  EXPECT_THAT(rows.operators, SizeIs(3));
}

// As the framework calls it for a number: "aten::mul" below launches the kernel.
TEST(UnlistedOperators, FormsThatCallOthersLaunchNothing) {
  const AtenCall rows{.name = "aten::repeat_interleave",
                      .inputs = {Fp32({64, 8}, 1)},
                      .outputs = {Fp32({128, 8}, 2)},
                      .schema = "aten::repeat_interleave.self_int(Tensor self, SymInt repeats)"};
  EXPECT_EQ(OperatorsOf(rows).meaning, AtenMeaning::kNoKernel);
  AtenCall counts = rows;
  counts.schema = "aten::repeat_interleave.Tensor(Tensor repeats)";
  EXPECT_EQ(OperatorsOf(counts).meaning, AtenMeaning::kMeasured);
  const AtenCall scaled{.name = "aten::mul_",
                        .inputs = {Fp32({64, 8}, 1), std::int64_t{2}},
                        .outputs = {Fp32({64, 8}, 1)},
                        .schema = "aten::mul_.Scalar(Tensor(a!) self, Scalar other)"};
  EXPECT_TRUE(OperatorsOf(scaled).only_passes_on);
}

TEST(UnlistedOperators, AnyFunctionOverListsIsAsLongAsAProduct) {
  const auto over = [](const char* name) {
    return OperatorsOf({.name = name, .inputs = {std::vector{Fp32({1 << 20}, 1), Fp32({8}, 2)}}});
  };
  const AtenOperators unheard_of = over("aten::_foreach_unheard_of_");
  ASSERT_THAT(unheard_of.operators, SizeIs(1));
  EXPECT_EQ(Text(unheard_of.operators[0]), Text(over("aten::_foreach_mul_").operators[0]));
}

TEST(UnlistedOperators, NodesThatTheFrameworkGeneratesLaunchNothing) {
  const auto meaning = [](const char* name) {
    return OperatorsOf({.name = name, .inputs = {Fp32({8}, 1)}, .outputs = {Fp32({8}, 2)}}).meaning;
  };
  EXPECT_EQ(meaning("ViewBackwardAutogradNestedTensor0"), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning("MyFunctionBackward"), AtenMeaning::kUnknown);
}

TEST(UnlistedOperators, ResultsThatAreViewsLaunchNothing) {
  const std::vector<AtenTensor> result = {Fp32({8}, 2)};
  EXPECT_EQ(OperatorsOf({.name = "aten::some_view",
                         .inputs = {Fp32({8}, 1)},
                         .outputs = result,
                         .schema = "aten::some_view(Tensor(a) self) -> Tensor(a)"})
                .meaning,
            AtenMeaning::kNoKernel);
  EXPECT_EQ(OperatorsOf({.name = "aten::some_views",
                         .inputs = {Fp32({8}, 1)},
                         .outputs = result,
                         .schema = "aten::some_views(Tensor(a) self) -> (Tensor(a), Tensor(a)[])"})
                .meaning,
            AtenMeaning::kNoKernel);
  EXPECT_EQ(OperatorsOf({.name = "aten::some_change_",
                         .inputs = {Fp32({8}, 1)},
                         .outputs = {Fp32({8}, 1)},
                         .schema = "aten::some_change_(Tensor(a!) self) -> Tensor(a!)"})
                .meaning,
            AtenMeaning::kUnknown);
}

// A sparse tensor is made of its parts, which are not copied.
TEST(UnlistedOperators, ResultsInTheMemoryOfArgumentsLaunchNothing) {
  const AtenCall make{
      .name = "aten::_sparse_coo_tensor_with_dims_and_tensors",
      .inputs = {Fp32({1, 16}, 1), Fp32({16, 64}, 2)},
      .outputs = {Fp32({1, 16}, 1), Fp32({16, 64}, 2)},
      .schema = "aten::_sparse_coo_tensor_with_dims_and_tensors(Tensor indices) -> Tensor",
      .has_sparse = true};
  EXPECT_EQ(OperatorsOf(make).meaning, AtenMeaning::kNoKernel);
}

TEST(UnlistedOperators, NumbersAreKnownToTheHost) {
  const AtenCall count{.name = "aten::_nnz",
                       .inputs = {Fp32({8}, 1)},
                       .outputs = {AtenTensor{.is_defined = false}}};
  EXPECT_EQ(OperatorsOf(count).meaning, AtenMeaning::kNoKernel);
}

// Calls below work on the parts.
TEST(UnlistedOperators, SparseOperandsDoNotCountAsDenseOnes) {
  const AtenCall add{.name = "aten::add_",
                     .inputs = {Fp32({1000, 64}, 1), std::vector{Fp32({1, 4}, 2), Fp32({4, 64}, 3)}},
                     .outputs = {Fp32({1000, 64}, 1)},
                     .has_sparse = true};
  EXPECT_EQ(OperatorsOf(add).meaning, AtenMeaning::kUnknown);
}

TEST(UnlistedOperators, EachMeasuredKernelIsAnOperator) {
  const AtenCall loss{.name = "aten::_ctc_loss_backward",
                      .inputs = {Fp32({256, 8, 32}, 1)},
                      .outputs = {Fp32({256, 8, 32}, 2)}};
  // data/operator_models/h200/operators-1.csv.gz
  EXPECT_THAT(OperatorsOf(loss).operators, SizeIs(3));
  EXPECT_THAT(OperatorsOf({.name = "aten::_ctc_loss"}).operators, IsEmpty());  // of the host
}

}  // namespace
}  // namespace orrery::kernel
