// Kernels that torch.compile writes in Triton. Their names say what they are:
// triton_{poi,red,per}_fused_* are loops over elements, reductions, and reductions that keep a row
// in registers; triton_tem_fused_* are templates for matrix products and attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;
using Tensors = std::vector<const AtenTensor*>;

bool IsMatrixOfImages(const AtenTensor* tensor) {
  return tensor->dims.size() == 4 && tensor->type && ElementBytes(*tensor->type) >= 2 &&
         *tensor->type != DataType::kInt32 && *tensor->type != DataType::kInt64;
}

// FlexAttention: query, key and value first, each batch × heads × length × size. Which blocks the
// mask leaves is in tensors of integers, whose values are not recorded: a mask counts as causal.
MappedOperators FlexAttention(const AtenCall& call, const Tensors& tensors) {
  Tensors matrices;
  std::ranges::copy_if(tensors, std::back_inserter(matrices), IsMatrixOfImages);
  if (matrices.size() < 3) {
    return std::nullopt;
  }
  const bool has_mask = std::ranges::any_of(tensors, [](const AtenTensor* tensor) {
    return tensor->type == DataType::kInt32 && tensor->Elements() > 1;
  });
  const std::vector<std::int64_t>& query = matrices[0]->dims;
  const std::vector<std::int64_t>& key = matrices[1]->dims;
  const bool is_backward = call.name.find("backward") != std::string_view::npos;
  return std::vector{Operator(OperatorKind::kAttention, *matrices[0]->type)
                         .Set(kB, query[0])
                         .Set(kHeads, query[1])
                         .Set(kKvHeads, key[1])
                         .Set(kQueryLength, query[2])
                         .Set(kKeyLength, key[2])
                         .Set(kHeadSize, query[3])
                         .Set(kCausal, has_mask ? 1 : 0)
                         .Set(kBackend, "flex")
                         .Set(kPass, is_backward ? "bwd" : "fwd")};
}

// Two tensors whose inner sizes agree are the factors of a product.
MappedOperators TemplateGemm(const Tensors& tensors) {
  for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
    const AtenTensor& lhs = *tensors[i];
    const AtenTensor& rhs = *tensors[i + 1];
    const std::size_t rank = lhs.dims.size();
    if (lhs.type && rhs.dims.size() == rank && (rank == 2 || rank == 3) &&
        lhs.dims[rank - 1] == rhs.dims[rank - 2]) {
      Operator op(rank == 2 ? OperatorKind::kGemm : OperatorKind::kBatchedGemm, *lhs.type);
      op.Set(kM, lhs.dims[rank - 2]).Set(kN, rhs.dims[rank - 1]).Set(kK, lhs.dims[rank - 1]);
      const std::string_view layouts[] = {"nn", "nt", "tn", "tt"};
      const std::size_t turned = (lhs.Stride(rank - 1) == 1 ? 0 : 2) +
                                 (rhs.Stride(rank - 1) == 1 || rhs.dims[rank - 1] == 1 ? 0 : 1);
      op.Set(kLayout, layouts[turned]);
      return std::vector{rank == 2 ? op : op.Set(kB, lhs.dims[0])};
    }
  }
  return std::nullopt;
}

std::string_view FormOf(std::string_view name) {
  return name.starts_with("triton_red_")   ? "reduction"
         : name.starts_with("triton_per_") ? "persistent"
                                           : "pointwise";
}

/// The counts of a loop, which follow its tensors: elements (of one or two dimensions), then, of a
/// reduction, elements of a row that is reduced. The stream comes last.
std::vector<std::int64_t> CountsOf(const AtenCall& call) {
  constexpr auto kLoops =
      std::to_array<std::string_view>({"triton_poi_", "triton_red_", "triton_per_"});
  std::vector<std::int64_t> counts;
  if (std::ranges::none_of(kLoops, [&](auto prefix) { return call.name.starts_with(prefix); })) {
    return counts;  // integers that a user's kernel takes may mean anything
  }
  for (std::size_t i = 0; i + 1 < call.inputs.size(); ++i) {
    const std::int64_t value = call.IntegerAt(i).value_or(0);
    if (value > 0) {
      counts.push_back(value);
    }
  }
  return counts;
}

struct LoopSize {
  std::int64_t elements = 1;
  std::int64_t row = 1;  // elements that become one
};

LoopSize SizeOf(const AtenCall& call, const AtenTensor& largest, bool is_reduction) {
  const std::vector<std::int64_t> counts = CountsOf(call);
  LoopSize size;
  for (const std::int64_t count : counts) {
    size.elements = Times(size.elements, count);
  }
  if (counts.empty() || size.elements > Times(largest.Elements(), 2)) {
    size.elements = std::max<std::int64_t>(largest.Elements(), 1);
  }
  size.row = !is_reduction          ? size.elements
             : counts.size() >= 2   ? counts.back()
             : largest.dims.empty() ? 1
                                    : largest.dims.back();
  size.row = std::clamp<std::int64_t>(size.row, 1, size.elements);
  return size;
}

// A tensor with more elements than the loop is a table, of which the loop reads some rows.
MappedOperators Loop(const AtenCall& call, const Tensors& tensors) {
  const AtenTensor& largest =
      **std::ranges::max_element(tensors, {}, [](const AtenTensor* t) { return t->Elements(); });
  const std::string_view form = FormOf(call.name);
  const LoopSize size = SizeOf(call, largest, form != "pointwise");
  double bytes = 0;
  for (const AtenTensor* tensor : tensors) {
    bytes += static_cast<double>(std::min(tensor->Elements(), size.elements)) *
             ElementBytes(tensor->type.value_or(DataType::kFp32));
  }
  return std::vector{Operator(OperatorKind::kTriton, largest.type.value_or(DataType::kFp32))
                         .Set(kFunction, form)
                         .Set(kRows, std::max<std::int64_t>(size.elements / size.row, 1))
                         .Set(kCols, size.row)
                         .Set(kBytes, std::max<std::int64_t>(std::llround(bytes), 1))
                         .Set(kTensors, static_cast<std::int64_t>(tensors.size()))};
}

}  // namespace

MappedOperators TritonKernel(const AtenCall& call) {
  Tensors tensors = call.InputTensors();
  std::erase_if(tensors, [](const AtenTensor* tensor) { return !tensor->on_gpu; });
  if (tensors.empty()) {
    return std::nullopt;
  }
  if (call.name.starts_with("triton_tem_")) {
    const bool is_flex = call.name.find("flex_attention") != std::string_view::npos;
    auto product = is_flex ? FlexAttention(call, tensors) : TemplateGemm(tensors);
    if (product) {
      return product;
    }
  }
  return Loop(call, tensors);
}

}  // namespace orrery::kernel
