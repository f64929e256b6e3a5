#include "orrery/workload/generate/scene.h"

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

std::int64_t Scene::product_bytes() const {
  return is_fp8() ? BytesOf(products) : element_bytes;
}

Scene SceneOf(const Job& job) {
  Scene scene;
  scene.job = &job;
  scene.batch = job.training.micro_batch;
  scene.tokens = scene.batch;
  scene.sharded_tokens = scene.batch;
  scene.tp = job.plan.tp;
  scene.type = job.training.precision.compute;
  scene.products = job.training.precision.products;
  scene.element = ElementOf(scene.type);
  scene.element_bytes = BytesOf(scene.type);
  return scene;
}

Scene SceneOf(const Job& job, const Transformer& model) {
  Scene scene = SceneOf(job);
  // A ViT sees a token for each patch and one for the class.
  const std::int64_t side = model.patch > 0 ? model.image / model.patch : 0;
  scene.sequence = side > 0 ? side * side + 1 : job.training.sequence;
  scene.tokens = scene.batch * scene.sequence / job.plan.cp;
  scene.sharded_tokens = job.plan.sequence_parallel ? scene.tokens / scene.tp : scene.tokens;
  scene.hidden = model.hidden;
  return scene;
}

}  // namespace orrery::workload
