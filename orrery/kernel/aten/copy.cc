// Copies, casts, concatenations and fills.
// Embeddings and other reads and writes of rows by index.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

std::int64_t BytesOf(const AtenTensor& tensor) {
  return Times(tensor.Elements(), static_cast<std::int64_t>(ElementBytes(*tensor.type)));
}

// Between host and GPU bytes are copied unchanged; a cast happens before or after. Calls do not say
// whether memory is pinned: who asks a copy not to block has pinned it, since others block anyway.
Operator Transfer(const AtenTensor& source, bool to_gpu, bool non_blocking) {
  Operator op(OperatorKind::kMemcpy, DataType::kInt8);
  op.Set(kBytes, BytesOf(source)).Set(kDirection, to_gpu ? "h2d" : "d2h");
  op.Set(kPinned, non_blocking ? 1 : 0);
  return op;
}

/// Matrices that are written row-major and read column-major.
struct Transposition {
  std::int64_t batch = 1;
  std::int64_t rows = 1;  // of the source
  std::int64_t columns = 1;
};

struct Axis {
  std::int64_t size;
  std::int64_t stride;
};

// Adjacent dimensions that are contiguous in memory count as one.
std::vector<Axis> MergedAxes(const AtenTensor& tensor) {
  std::vector<Axis> axes;
  for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
    const Axis axis{tensor.dims[dim], tensor.Stride(dim)};
    if (axis.size == 1) {
      continue;
    }
    if (!axes.empty() && axes.back().stride == Times(axis.stride, axis.size)) {
      axes.back() = {Times(axes.back().size, axis.size), axis.stride};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

std::optional<Transposition> FindTransposition(const AtenTensor& target, const AtenTensor& source) {
  const std::vector<Axis> axes = MergedAxes(source);
  const std::size_t num_axes = axes.size();
  if (!IsRowMajor(target) || (num_axes != 2 && num_axes != 3)) {
    return std::nullopt;
  }
  const Axis& columns = axes[num_axes - 2];
  const Axis& rows = axes[num_axes - 1];
  const bool is_turned = columns.stride == 1 && rows.stride == columns.size;
  const bool is_packed = num_axes == 2 || axes[0].stride == Times(rows.size, columns.size);
  if (!is_turned || !is_packed) {
    return std::nullopt;
  }
  return Transposition{num_axes == 2 ? 1 : axes[0].size, rows.size, columns.size};
}

Operator DeviceCopy(const AtenTensor& target, const AtenTensor& source) {
  const auto transposition = FindTransposition(target, source);
  if (transposition && target.type == source.type) {
    Operator op(OperatorKind::kTranspose, *source.type);
    op.Set(kB, transposition->batch).Set(kM, transposition->rows);
    return op.Set(kN, transposition->columns);
  }
  Operator op(OperatorKind::kCopy, *source.type);
  op.Set(kN, target.Elements());
  if (target.type != source.type) {
    op.Set(kTo, DataTypeName(*target.type));
  }
  const bool is_repeated = source.Elements() != target.Elements() || IsExpanded(source);
  const bool is_plain = !is_repeated && IsDense(target) && HaveSameLayout(target, source);
  op.Set(kMode, is_plain        ? "contiguous"
                : is_repeated   ? "broadcast"
                : transposition ? "transposed"
                                : "strided");
  return op;
}

// The framework omits a copy of a tensor to itself.
bool IsSame(const AtenTensor& target, const AtenTensor& source) {
  return target.storage && target.storage == source.storage && target.offset == source.offset &&
         target.type == source.type && HaveSameLayout(target, source);
}

// The framework passes the target, or returns a new one.
template <bool kIsNew>
MappedOperators MapCopy(const AtenCall& call) {
  const AtenTensor* target = kIsNew ? call.Output() : call.TensorAt(0);
  const AtenTensor* source = call.TensorAt(kIsNew ? 0 : 1);
  if (target == nullptr || source == nullptr || !target->type || !source->type) {
    return std::nullopt;
  }
  if (IsSame(*target, *source)) {
    return std::vector<Operator>{};
  }
  if (target->on_gpu != source->on_gpu) {
    constexpr std::size_t kNonBlocking = kIsNew ? 5 : 2;  // of _to_copy, of copy_
    return std::vector{Transfer(*source, target->on_gpu, call.IsTrueAt(kNonBlocking))};
  }
  return std::vector{DeviceCopy(*target, *source)};
}

MappedOperators MapItem(const AtenCall& call) {
  const AtenTensor* element = call.TensorAt(0);
  if (element == nullptr || !element->type) {
    return std::nullopt;
  }
  return std::vector{Transfer(*element, false, false)};
}

// The framework passes the tensor to fill, or returns a new one.
template <OperatorKind kKind, bool kIsNew>
MappedOperators MapWrite(const AtenCall& call) {
  const AtenTensor* target = kIsNew ? call.Output() : call.TensorAt(0);
  if (target == nullptr || !target->type) {
    return std::nullopt;
  }
  return std::vector{Operator(kKind, *target->type).Set(kN, target->Elements())};
}

Operator Join(DataType type, std::int64_t n, std::int64_t parts, std::int64_t run) {
  Operator op(OperatorKind::kConcat, type);
  op.Set(kN, n).Set(kParts, parts);
  return op.Set(kRun, std::max<std::int64_t>(run, 1));
}

// A run ends where the part ends in the result. The longest run represents all.
MappedOperators MapConcat(const AtenCall& call) {
  std::int64_t elements = 0;
  std::int64_t parts = 0;
  std::int64_t run = 0;
  bool is_strided = false;
  std::optional<DataType> type;
  for (const AtenTensor& part : call.TensorsAt(0)) {
    if (!part.is_defined || part.Elements() == 0 || !part.type) {
      continue;
    }
    const std::size_t dim = DimensionIndex(call.IntegerAt(1).value_or(0), part.dims.size());
    type = part.type;
    elements += part.Elements();
    ++parts;
    is_strided = is_strided || ContiguousRun(part) < part.Elements();
    run = std::max(run, Product(part.dims, dim, part.dims.size()));
  }
  if (!type) {
    return std::nullopt;
  }
  Operator joined = Join(*type, elements, parts, run);
  return std::vector{joined.Set(kMode, is_strided ? "strided" : "contiguous")};
}

// The inverse of a concatenation, with the lengths of the parts along the dimension.
MappedOperators MapSplitCopy(const AtenCall& call) {
  const AtenTensor* whole = call.TensorAt(0);
  const std::vector<std::int64_t> lengths = call.IntegersAt(1);
  if (whole == nullptr || !whole->type || whole->dims.empty() || lengths.empty()) {
    return std::nullopt;
  }
  const std::size_t dim = DimensionIndex(call.IntegerAt(2).value_or(0), whole->dims.size());
  const auto parts = static_cast<std::int64_t>(lengths.size());
  const std::int64_t run = Product(whole->dims, dim, whole->dims.size()) / parts;
  return std::vector{Join(*whole->type, whole->Elements(), parts, run)};
}

// Each part is split into chunks along the dimension, and the chunks of all parts are concatenated.
MappedOperators MapChunkConcat(const AtenCall& call) {
  const auto parts = static_cast<std::int64_t>(call.TensorsAt(0).size());
  const AtenTensor* result = call.Output();
  const std::int64_t chunks = std::max<std::int64_t>(call.IntegerAt(2).value_or(1), 1);
  if (result == nullptr || !result->type || parts == 0) {
    return std::nullopt;
  }
  const std::int64_t run = result->Elements() / Times(parts, chunks);
  return std::vector{Join(*result->type, result->Elements(), parts, run)};
}

constexpr auto kCopyMappings = std::to_array<Mapping>({
    {"copy", MapCopy<false>},
    {"clone _to_copy", MapCopy<true>, true},
    {"_local_scalar_dense", MapItem},
    {"fill zero", MapWrite<OperatorKind::kFill, false>},
    {"zeros zeros_like new_zeros ones ones_like full full_like",
     MapWrite<OperatorKind::kFill, true>, true},
    {"arange linspace eye tril_indices triu_indices normal uniform random exponential",
     MapWrite<OperatorKind::kArange, true>},
    {"rand randn randint", MapWrite<OperatorKind::kArange, true>, true},
    {"cat", MapConcat},
    {"split_with_sizes_copy", MapSplitCopy},
    {"_chunk_cat", MapChunkConcat},
});

MappedOperators MapEmbedding(const AtenCall& call) {
  const AtenTensor* weight = call.TensorAt(0, 2);
  const AtenTensor* indices = call.TensorAt(1);
  if (weight == nullptr || indices == nullptr || !weight->type) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kEmbedding, *weight->type);
  op.Set(kRows, weight->dims[0]).Set(kDim, weight->dims[1]);
  op.Set(kLookups, indices->Elements());
  return std::vector{op};
}

MappedOperators MapEmbeddingBackward(const AtenCall& call) {
  const AtenTensor* gradient = call.TensorAt(0);
  const AtenTensor* indices = call.TensorAt(1);
  const auto rows = call.IntegerAt(2);
  if (gradient == nullptr || indices == nullptr || !rows || !gradient->type ||
      gradient->dims.empty()) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kEmbedding, *gradient->type);
  op.Set(kRows, *rows).Set(kDim, gradient->dims.back());
  op.Set(kLookups, indices->Elements()).Set(kPass, "bwd");
  return std::vector{op};
}

Operator Bags(DataType type, std::int64_t bags, std::int64_t lookups) {
  Operator op(OperatorKind::kEmbeddingBag, type);
  op.Set(kBags, bags);
  op.Set(kPool, std::max<std::int64_t>(lookups / std::max<std::int64_t>(bags, 1), 1));
  return op;
}

MappedOperators MapBags(const AtenCall& call) {
  constexpr std::size_t kHasLastOffset = 7;
  const AtenTensor* weight = call.TensorAt(0, 2);
  const AtenTensor* indices = call.TensorAt(1);
  const AtenTensor* offsets = call.TensorAt(2);
  if (weight == nullptr || indices == nullptr || offsets == nullptr || !weight->type) {
    return std::nullopt;
  }
  const std::int64_t bags = offsets->Elements() - (call.IsTrueAt(kHasLastOffset) ? 1 : 0);
  Operator op = Bags(*weight->type, bags, indices->Elements());
  op.Set(kRows, weight->dims[0]).Set(kDim, weight->dims[1]);
  return std::vector{op};
}

MappedOperators MapBagsBackward(const AtenCall& call) {
  constexpr std::size_t kNumWeights = 5;
  const AtenTensor* gradient = call.TensorAt(0, 2);
  const AtenTensor* indices = call.TensorAt(1);
  const auto rows = call.IntegerAt(kNumWeights);
  if (gradient == nullptr || indices == nullptr || !rows || !gradient->type) {
    return std::nullopt;
  }
  Operator op = Bags(*gradient->type, gradient->dims[0], indices->Elements());
  op.Set(kRows, *rows).Set(kDim, gradient->dims[1]).Set(kPass, "bwd");
  return std::vector{op};
}

Operator Rows(DataType type, std::int64_t rows, std::int64_t dim, std::int64_t lookups) {
  Operator op(OperatorKind::kIndex, type);
  op.Set(kRows, rows).Set(kDim, dim).Set(kLookups, lookups);
  return op;
}

// `tensor[:, index, :]`: each row of the dimensions before `dim` is a table of its own.
template <bool kIsBackward>
MappedOperators MapAlongDimension(const AtenCall& call) {
  const AtenTensor* table = call.TensorAt(0);
  const AtenTensor* index = call.TensorAt(2);
  if (table == nullptr || index == nullptr || !table->type || table->dims.empty()) {
    return std::nullopt;
  }
  const std::size_t dim = DimensionIndex(call.IntegerAt(1).value_or(0), table->dims.size());
  const std::int64_t tables = Product(table->dims, 0, dim);
  Operator op =
      Rows(*table->type, Times(tables, table->dims[dim]),
           Product(table->dims, dim + 1, table->dims.size()), Times(tables, index->Elements()));
  return std::vector{op.Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

MappedOperators Elements(const AtenTensor& tensor, std::int64_t lookups) {
  Operator op(OperatorKind::kScatter, *tensor.type);
  op.Set(kN, tensor.Elements()).Set(kLookups, lookups);
  return std::vector{op};
}

// One index for each element, unless the index is broadcast over whole rows.
MappedOperators MapGather(const AtenCall& call) {
  const AtenTensor* table = call.TensorAt(0);
  const AtenTensor* index = call.TensorAt(2);
  if (table == nullptr || index == nullptr || !table->type || table->dims.empty()) {
    return std::nullopt;
  }
  const bool takes_rows = index->dims.size() == 2 && table->dims.size() == 2 &&
                          call.IntegerAt(1) == 0 && index->Stride(1) == 0 &&
                          index->dims[1] == table->dims[1];
  if (takes_rows) {
    return std::vector{Rows(*table->type, table->dims[0], table->dims[1], index->dims[0])};
  }
  return Elements(*table, index->Elements());
}

/// Dimensions that a list of index tensors covers; undefined ones before them are kept.
struct IndexedDims {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t lookups = 1;
};

std::optional<IndexedDims> FindIndexed(const AtenTensor& table,
                                       std::span<const AtenTensor> indices) {
  const auto first = std::find_if(indices.begin(), indices.end(),
                                  [](const AtenTensor& index) { return index.is_defined; });
  if (first == indices.end() || indices.size() > table.dims.size()) {
    return std::nullopt;
  }
  IndexedDims indexed{.begin = static_cast<std::size_t>(first - indices.begin()),
                      .end = indices.size()};
  for (const AtenTensor& index : indices) {
    indexed.lookups =
        index.is_defined ? std::max(indexed.lookups, index.Elements()) : indexed.lookups;
  }
  return indexed;
}

// The pairs below the diagonal of square matrices, as DLRM takes them: n(n-1)/2 of n × n, or
// n(n+1)/2 with the diagonal.
std::optional<Operator> LowerTriangle(const AtenTensor& table, const IndexedDims& indexed) {
  if (table.dims.size() != 3 || indexed.begin != 1 || indexed.end != 3 ||
      table.dims[1] != table.dims[2]) {
    return std::nullopt;
  }
  const std::int64_t edge = table.dims[1];
  const bool with_diagonal = indexed.lookups == Times(edge, edge + 1) / 2;
  if (!with_diagonal && indexed.lookups != Times(edge, edge - 1) / 2) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kTril, *table.type);
  op.Set(kB, table.dims[0]).Set(kM, edge).Set(kN, edge);
  op.Set(kDiagonal, with_diagonal ? 0 : -1);
  return op;
}

template <bool kIsBackward>
MappedOperators MapIndexList(const AtenCall& call) {
  const AtenTensor* table = call.TensorAt(0);
  if (table == nullptr || !table->type) {
    return std::nullopt;
  }
  const auto indexed = FindIndexed(*table, call.TensorsAt(1));
  if (!indexed) {
    return std::nullopt;
  }
  auto op = LowerTriangle(*table, *indexed);
  if (!op) {
    const std::int64_t tables = Product(table->dims, 0, indexed->begin);
    op = Rows(*table->type, Product(table->dims, 0, indexed->end),
              Product(table->dims, indexed->end, table->dims.size()),
              Times(tables, indexed->lookups));
    op->Set(kPut, kIsBackward ? 1 : 0);
  }
  return std::vector{op->Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

constexpr auto kLookupMappings = std::to_array<Mapping>({
    {"embedding", MapEmbedding},
    {"embedding_dense_backward", MapEmbeddingBackward},
    {"_embedding_bag _embedding_bag_forward_only", MapBags},
    {"_embedding_bag_dense_backward", MapBagsBackward},
    {"index_select", MapAlongDimension<false>},
    {"index_add", MapAlongDimension<true>},
    {"gather scatter scatter_add scatter_reduce", MapGather},
    {"index", MapIndexList<false>},
    {"_index_put_impl", MapIndexList<true>},
    {"index_put", MapIndexList<true>, true},
});

}  // namespace

std::span<const Mapping> CopyMappings() {
  return kCopyMappings;
}

std::span<const Mapping> LookupMappings() {
  return kLookupMappings;
}

}  // namespace orrery::kernel
