// Embeddings and other reads and writes of rows by index.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

MappedOperators MapEmbedding(const AtenCall& call) {
  const AtenTensor* weight = call.TensorAt(0, 2);
  const AtenTensor* indices = call.TensorAt(1);
  if (weight == nullptr || indices == nullptr || !weight->type) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kEmbedding, *weight->type);
  op.Set(Key::kRows, weight->dims[0]).Set(Key::kDim, weight->dims[1]);
  op.Set(Key::kLookups, indices->Elements());
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
  op.Set(Key::kRows, *rows).Set(Key::kDim, gradient->dims.back());
  op.Set(Key::kLookups, indices->Elements()).Set(Key::kPass, "bwd");
  return std::vector{op};
}

Operator Bags(DataType type, std::int64_t bags, std::int64_t lookups) {
  Operator op(OperatorKind::kEmbeddingBag, type);
  op.Set(Key::kBags, bags);
  op.Set(Key::kPool, std::max<std::int64_t>(lookups / std::max<std::int64_t>(bags, 1), 1));
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
  op.Set(Key::kRows, weight->dims[0]).Set(Key::kDim, weight->dims[1]);
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
  op.Set(Key::kRows, *rows).Set(Key::kDim, gradient->dims[1]).Set(Key::kPass, "bwd");
  return std::vector{op};
}

Operator Rows(DataType type, std::int64_t rows, std::int64_t dim, std::int64_t lookups) {
  Operator op(OperatorKind::kIndex, type);
  op.Set(Key::kRows, rows).Set(Key::kDim, dim).Set(Key::kLookups, lookups);
  return op;
}

// `tensor[:, index, :]`: each row of the dimensions before `dim` is a table of its own.
MappedOperators MapAlongDimension(const AtenCall& call, std::string_view pass) {
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
  op.Set(Key::kPass, pass);
  return std::vector{op};
}

MappedOperators MapIndexSelect(const AtenCall& call) {
  return MapAlongDimension(call, "fwd");
}

MappedOperators MapIndexAdd(const AtenCall& call) {
  return MapAlongDimension(call, "bwd");
}

MappedOperators Elements(const AtenTensor& tensor, std::int64_t lookups) {
  Operator op(OperatorKind::kScatter, *tensor.type);
  op.Set(Key::kN, tensor.Elements()).Set(Key::kLookups, lookups);
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
  op.Set(Key::kB, table.dims[0]).Set(Key::kM, edge).Set(Key::kN, edge);
  op.Set(Key::kDiagonal, with_diagonal ? 0 : -1);
  return op;
}

MappedOperators MapIndexList(const AtenCall& call, std::string_view pass) {
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
    op->Set(Key::kPut, pass == "bwd" ? 1 : 0);
  }
  op->Set(Key::kPass, pass);
  return std::vector{*op};
}

MappedOperators MapIndex(const AtenCall& call) {
  return MapIndexList(call, "fwd");
}

MappedOperators MapIndexPut(const AtenCall& call) {
  return MapIndexList(call, "bwd");
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"embedding", MapEmbedding},
    {"embedding_dense_backward", MapEmbeddingBackward},
    {"_embedding_bag", MapBags},
    {"_embedding_bag_forward_only", MapBags},
    {"_embedding_bag_dense_backward", MapBagsBackward},
    {"index_select", MapIndexSelect},
    {"index_add", MapIndexAdd},
    {"gather", MapGather},
    {"scatter", MapGather},
    {"scatter_add", MapGather},
    {"scatter_reduce", MapGather},
    {"index", MapIndex},
    {"_index_put_impl", MapIndexPut},
    {"index_put", MapIndexPut, true},
});

}  // namespace

std::span<const Mapping> LookupMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
