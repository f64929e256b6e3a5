// Softmax and the losses over classes.
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

// `dim_at` is the position of the dimension over which the exponentials are summed.
MappedOperators MapSoftmax(const AtenCall& call, std::size_t dim_at, bool is_log) {
  const AtenTensor* input = call.TensorAt(0);
  if (input == nullptr || !input->type || input->dims.empty()) {
    return std::nullopt;
  }
  const std::size_t dim = DimensionIndex(call.IntegerAt(dim_at).value_or(-1), input->dims.size());
  Operator op(OperatorKind::kSoftmax, *input->type);
  op.Set(Key::kCols, input->dims[dim]);
  op.Set(Key::kRows,
         Times(Product(input->dims, 0, dim), Product(input->dims, dim + 1, input->dims.size())));
  op.Set(Key::kLog, is_log ? 1 : 0).Set(Key::kPass, dim_at == 1 ? "fwd" : "bwd");
  return std::vector{op};
}

MappedOperators MapSoftmaxForward(const AtenCall& call) {
  return MapSoftmax(call, 1, false);
}

MappedOperators MapSoftmaxBackward(const AtenCall& call) {
  return MapSoftmax(call, 2, false);
}

MappedOperators MapLogSoftmaxForward(const AtenCall& call) {
  return MapSoftmax(call, 1, true);
}

MappedOperators MapLogSoftmaxBackward(const AtenCall& call) {
  return MapSoftmax(call, 2, true);
}

// Classes are the second dimension; images of classes have more behind.
MappedOperators MapLoss(const AtenCall& call, OperatorKind kind, std::size_t scores_at) {
  const AtenTensor* scores = call.TensorAt(scores_at);
  if (scores == nullptr || !scores->type || scores->dims.empty()) {
    return std::nullopt;
  }
  const std::size_t classes = scores->dims.size() == 1 ? 0 : 1;
  Operator op(kind, *scores->type);
  op.Set(Key::kCols, scores->dims[classes]);
  op.Set(Key::kRows, Times(Product(scores->dims, 0, classes),
                           Product(scores->dims, classes + 1, scores->dims.size())));
  op.Set(Key::kPass, scores_at == 0 ? "fwd" : "bwd");
  return std::vector{op};
}

MappedOperators MapNll(const AtenCall& call) {
  return MapLoss(call, OperatorKind::kNll, 0);
}

MappedOperators MapNllBackward(const AtenCall& call) {
  return MapLoss(call, OperatorKind::kNll, 1);
}

MappedOperators MapCrossEntropy(const AtenCall& call) {
  return MapLoss(call, OperatorKind::kCrossEntropy, 0);
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"_softmax", MapSoftmaxForward},
    {"_softmax_backward_data", MapSoftmaxBackward},
    {"_log_softmax", MapLogSoftmaxForward},
    {"_log_softmax_backward_data", MapLogSoftmaxBackward},
    {"nll_loss_forward", MapNll},
    {"nll_loss2d_forward", MapNll},
    {"nll_loss_backward", MapNllBackward},
    {"nll_loss2d_backward", MapNllBackward},
    {"cross_entropy_loss", MapCrossEntropy, true},
});

}  // namespace

std::span<const Mapping> ClassificationMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
