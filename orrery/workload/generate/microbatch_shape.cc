#include "orrery/workload/generate/microbatch_shape.h"

#include <cmath>

namespace orrery::workload {

std::int64_t BytesOf(kernel::DataType type) {
  return static_cast<std::int64_t>(std::ceil(kernel::ElementBytes(type)));
}

collective::Element ElementOf(kernel::DataType type) {
  switch (type) {
    case kernel::DataType::kFp16:
      return collective::Element::kHalf;
    case kernel::DataType::kFp32:
    case kernel::DataType::kTf32:
      return collective::Element::kFloat;
    case kernel::DataType::kFp8:
    case kernel::DataType::kFp8Block:
      return collective::Element::kFp8;
    default:
      return collective::Element::kBfloat16;
  }
}

std::int64_t MicrobatchShape::gemm_bytes() const {
  return is_fp8() ? BytesOf(products) : element_bytes;
}

MicrobatchShape MicrobatchShapeOf(const Job& job) {
  MicrobatchShape shape;
  shape.job = &job;
  shape.batch = job.training.micro_batch;
  shape.tokens = shape.batch;
  shape.sharded_tokens = shape.batch;
  shape.tp = job.plan.tp;
  shape.type = job.training.precision.compute;
  shape.products = job.training.precision.products;
  shape.element = ElementOf(shape.type);
  shape.element_bytes = BytesOf(shape.type);
  return shape;
}

MicrobatchShape MicrobatchShapeOf(const Job& job, const Transformer& model) {
  MicrobatchShape shape = MicrobatchShapeOf(job);
  // A ViT sees a token for each patch and one for the class.
  const std::int64_t side = model.patch > 0 ? model.image / model.patch : 0;
  shape.sequence = side > 0 ? side * side + 1 : job.training.sequence;
  shape.tokens = shape.batch * shape.sequence / job.plan.cp;
  shape.sharded_tokens = job.plan.sequence_parallel ? shape.tokens / shape.tp : shape.tokens;
  shape.hidden = model.hidden;
  return shape;
}

}  // namespace orrery::workload
