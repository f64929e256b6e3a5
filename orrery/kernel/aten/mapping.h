#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// Dimensions with more than one element, the outermost in memory first.
[[nodiscard]] std::vector<std::size_t> MemoryOrder(const AtenTensor& tensor);

/// Returns true if the elements fill their memory without gaps, in any order of dimensions.
[[nodiscard]] bool IsDense(const AtenTensor& tensor);

[[nodiscard]] bool IsRowMajor(const AtenTensor& tensor);

/// Returns true if elements are repeated by a stride of zero.
[[nodiscard]] bool IsExpanded(const AtenTensor& tensor);

/// Returns true if both have the same shape and memory order.
[[nodiscard]] bool HaveSameLayout(const AtenTensor& lhs, const AtenTensor& rhs);
[[nodiscard]] bool IsChannelsLast(const AtenTensor& images);

/// The number of consecutive elements in memory when the tensor is traversed row by row.
[[nodiscard]] std::int64_t ContiguousRun(const AtenTensor& tensor);

/// The product of two counts, saturated at 2^50.
[[nodiscard]] std::int64_t Times(std::int64_t lhs, std::int64_t rhs);

/// The product of the sizes of dimensions [begin, end).
[[nodiscard]] std::int64_t Product(const std::vector<std::int64_t>& dims, std::size_t begin,
                                   std::size_t end);

/// An operator over rows along one dimension; a negative one counts from the end.
[[nodiscard]] Operator OverRows(OperatorKind kind, const AtenTensor& tensor, std::int64_t dim);

/// Turns a dimension that may count from the end into an index below `num_dims`; 0 if out of range.
[[nodiscard]] std::size_t DimensionIndex(std::int64_t dim, std::size_t num_dims);

/// The operators of a call; nothing if its inputs do not match its schema.
using MappedOperators = std::optional<std::vector<Operator>>;

struct Mapping {
  std::string_view names;  // without "aten::", separated by spaces
  MappedOperators (*map)(const AtenCall& call);
  bool only_passes_on = false;  // its nested calls are more precise
};

[[nodiscard]] std::span<const Mapping> MatrixMappings();
[[nodiscard]] std::span<const Mapping> AttentionMappings();
[[nodiscard]] std::span<const Mapping> ConvolutionMappings();
[[nodiscard]] std::span<const Mapping> PoolingMappings();
[[nodiscard]] std::span<const Mapping> RowMappings();
[[nodiscard]] std::span<const Mapping> LossMappings();
[[nodiscard]] std::span<const Mapping> LookupMappings();
[[nodiscard]] std::span<const Mapping> ElementwiseMappings();
[[nodiscard]] std::span<const Mapping> CopyMappings();
[[nodiscard]] std::span<const Mapping> ListMappings();

/// Calls `use(word)` for each word of a text that single spaces separate.
template <typename Use>
void ForEachWord(std::string_view words, Use&& use) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    use(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

/// Returns the name without "aten::" and without the underscore of the in-place form.
[[nodiscard]] std::string_view PlainName(std::string_view name);

/// An operator that reads its inputs and writes its outputs element by element. An operand with
/// another memory order than the result makes it strided; else a repeated one makes it broadcast.
/// Host scalars cost nothing.
[[nodiscard]] MappedOperators ElementwiseOperator(const AtenCall& call, std::string_view function);

/// The launches of a kernel over lists, which takes so many tensors and blocks at once; 0 for other
/// operators.
[[nodiscard]] std::int64_t ListLaunches(const AtenCall& call, const Operator& op);

/// The launches of a recurrent layer, of packed sequences with the batch of each step; 0 for other
/// operators.
[[nodiscard]] std::int64_t RnnLaunches(const Operator& op,
                                       std::span<const std::int64_t> batches = {});

/// The sequences of a recurrent layer that go on at each step; empty if they are not packed.
[[nodiscard]] std::vector<std::int64_t> BatchesOfSteps(const AtenCall& call);

/// The kernels of a call without a mapping, as plain element-wise operators that take as long:
/// those measured for its name, or those of its class, which follows from its name and tensors
/// (data/models/operators.csv).
[[nodiscard]] AtenOperators UnlistedOperators(const AtenCall& call);

/// The kernels of a convolution in groups with windows that cuDNN's fast kernels do not take.
[[nodiscard]] std::vector<Operator> WideWindows(const Operator& convolution);

/// Returns true if kernels of this name were measured.
[[nodiscard]] bool IsMeasured(std::string_view name);

/// Returns true if the form of an operator that a schema begins with ("aten::mul_.Scalar(") calls
/// other operators and launches nothing itself (data/models/composite_operators.csv).
[[nodiscard]] bool IsComposite(std::string_view schema);

/// The operators of a Triton kernel: templates by their name, all others by their bytes. Nothing if
/// no tensor is recorded.
[[nodiscard]] MappedOperators TritonKernel(const AtenCall& call);

}  // namespace orrery::kernel
