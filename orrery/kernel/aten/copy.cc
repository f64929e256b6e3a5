// Copies, casts, concatenations and fills.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

std::int64_t BytesOf(const AtenTensor& tensor) {
  return Times(tensor.Elements(), static_cast<std::int64_t>(ElementBytes(*tensor.type)));
}

// Between host and GPU bytes are copied unchanged; a cast happens before or after.
Operator Transfer(const AtenTensor& source, bool to_gpu) {
  Operator op(OperatorKind::kMemcpy, DataType::kInt8);
  op.Set(Key::kBytes, BytesOf(source)).Set(Key::kDirection, to_gpu ? "h2d" : "d2h");
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

bool IsRepeated(const AtenTensor& target, const AtenTensor& source) {
  return source.Elements() != target.Elements() || IsExpanded(source);
}

Operator DeviceCopy(const AtenTensor& target, const AtenTensor& source) {
  const auto transposition = FindTransposition(target, source);
  if (transposition && target.type == source.type) {
    Operator op(OperatorKind::kTranspose, *source.type);
    op.Set(Key::kB, transposition->batch).Set(Key::kM, transposition->rows);
    return op.Set(Key::kN, transposition->columns);
  }
  Operator op(OperatorKind::kCopy, *source.type);
  op.Set(Key::kN, target.Elements());
  if (target.type != source.type) {
    op.Set(Key::kTo, DataTypeName(*target.type));
  }
  const bool is_repeated = IsRepeated(target, source);
  const bool is_plain = !is_repeated && IsDense(target) && HaveSameLayout(target, source);
  op.Set(Key::kMode, is_plain        ? "contiguous"
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

MappedOperators MapCopyInto(const AtenTensor* target, const AtenTensor* source) {
  if (target == nullptr || source == nullptr || !target->type || !source->type) {
    return std::nullopt;
  }
  if (IsSame(*target, *source)) {
    return std::vector<Operator>{};
  }
  if (target->on_gpu != source->on_gpu) {
    return std::vector{Transfer(*source, target->on_gpu)};
  }
  return std::vector{DeviceCopy(*target, *source)};
}

MappedOperators MapCopy(const AtenCall& call) {
  return MapCopyInto(call.TensorAt(0), call.TensorAt(1));
}

MappedOperators MapClone(const AtenCall& call) {
  return MapCopyInto(call.Output(), call.TensorAt(0));
}

// The host reads one element.
MappedOperators MapItem(const AtenCall& call) {
  const AtenTensor* element = call.TensorAt(0);
  if (element == nullptr || !element->type) {
    return std::nullopt;
  }
  return std::vector{Transfer(*element, false)};
}

MappedOperators WriteOnly(const AtenTensor* target, OperatorKind kind) {
  if (target == nullptr || !target->type) {
    return std::nullopt;
  }
  return std::vector{Operator(kind, *target->type).Set(Key::kN, target->Elements())};
}

MappedOperators MapFill(const AtenCall& call) {
  return WriteOnly(call.TensorAt(0), OperatorKind::kFill);
}

MappedOperators MapFilled(const AtenCall& call) {
  return WriteOnly(call.Output(), OperatorKind::kFill);
}

MappedOperators MapGenerated(const AtenCall& call) {
  return WriteOnly(call.Output(), OperatorKind::kArange);
}

Operator Join(DataType type, std::int64_t n, std::int64_t parts, std::int64_t run) {
  Operator op(OperatorKind::kConcat, type);
  op.Set(Key::kN, n).Set(Key::kParts, parts);
  return op.Set(Key::kRun, std::max<std::int64_t>(run, 1));
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
  return std::vector{joined.Set(Key::kMode, is_strided ? "strided" : "contiguous")};
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

constexpr auto kMappings = std::to_array<Mapping>({
    {"copy", MapCopy},
    {"clone", MapClone, true},
    {"_to_copy", MapClone, true},
    {"_local_scalar_dense", MapItem},
    {"fill", MapFill},
    {"zero", MapFill},
    {"zeros", MapFilled, true},
    {"zeros_like", MapFilled, true},
    {"new_zeros", MapFilled, true},
    {"ones", MapFilled, true},
    {"ones_like", MapFilled, true},
    {"full", MapFilled, true},
    {"full_like", MapFilled, true},
    {"arange", MapGenerated},
    {"linspace", MapGenerated},
    {"eye", MapGenerated},
    {"tril_indices", MapGenerated},
    {"triu_indices", MapGenerated},
    {"normal", MapGenerated},
    {"uniform", MapGenerated},
    {"random", MapGenerated},
    {"exponential", MapGenerated},
    {"rand", MapGenerated, true},
    {"randn", MapGenerated, true},
    {"randint", MapGenerated, true},
    {"cat", MapConcat},
    {"split_with_sizes_copy", MapSplitCopy},
    {"_chunk_cat", MapChunkConcat},
});

}  // namespace

std::span<const Mapping> CopyMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
