#include "orrery/kernel/aten/layout.h"

#include <algorithm>

namespace orrery::kernel {

std::int64_t Times(std::int64_t lhs, std::int64_t rhs) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t product = 0;
  return __builtin_mul_overflow(lhs, rhs, &product) ? kMost : std::min(product, kMost);
}

std::vector<std::size_t> MemoryOrder(const AtenTensor& tensor) {
  std::vector<std::size_t> order;
  for (std::size_t dim = 0; dim < tensor.dims.size(); ++dim) {
    if (tensor.dims[dim] > 1) {
      order.push_back(dim);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    return tensor.Stride(lhs) > tensor.Stride(rhs);
  });
  return order;
}

bool IsDense(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  std::int64_t packed = 1;
  return std::all_of(order.rbegin(), order.rend(), [&](std::size_t dim) {
    const bool fits = tensor.Stride(dim) == packed;
    packed = fits ? Times(packed, tensor.dims[dim]) : packed;
    return fits;
  });
}

bool IsRowMajor(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  return IsDense(tensor) && std::is_sorted(order.begin(), order.end());
}

bool IsExpanded(const AtenTensor& tensor) {
  const std::vector<std::size_t> order = MemoryOrder(tensor);
  return !order.empty() && tensor.Stride(order.back()) == 0;
}

bool HaveSameLayout(const AtenTensor& lhs, const AtenTensor& rhs) {
  if (lhs.dims != rhs.dims) {
    return false;
  }
  for (std::size_t dim = 0; dim < lhs.dims.size(); ++dim) {
    if (lhs.dims[dim] > 1 && lhs.Stride(dim) != rhs.Stride(dim)) {
      return false;
    }
  }
  return true;
}

bool IsChannelsLast(const AtenTensor& images) {
  constexpr std::size_t kImageDims = 4;
  return images.dims.size() == kImageDims && images.dims[1] > 1 && images.Stride(1) == 1 &&
         images.Stride(3) >= images.dims[1];
}

std::int64_t ContiguousRun(const AtenTensor& tensor) {
  std::int64_t run = 1;
  for (std::size_t dim = tensor.dims.size(); dim-- > 0;) {
    if (tensor.dims[dim] > 1 && tensor.Stride(dim) != run) {
      return run;
    }
    run = Times(run, std::max<std::int64_t>(tensor.dims[dim], 1));
  }
  return run;
}

std::int64_t Product(const std::vector<std::int64_t>& dims, std::size_t begin, std::size_t end) {
  end = std::min(end, dims.size());
  begin = std::min(begin, end);
  return AtenTensor{.dims = {dims.begin() + static_cast<std::ptrdiff_t>(begin),
                             dims.begin() + static_cast<std::ptrdiff_t>(end)}}
      .Elements();
}

std::size_t DimensionIndex(std::int64_t dim, std::size_t num_dims) {
  const std::int64_t index = dim < 0 ? dim + static_cast<std::int64_t>(num_dims) : dim;
  return index < 0 || index >= static_cast<std::int64_t>(num_dims)
             ? 0
             : static_cast<std::size_t>(index);
}

}  // namespace orrery::kernel
