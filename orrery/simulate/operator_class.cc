#include "orrery/simulate/operator_class.h"

#include "orrery/kernel/operator.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::simulate {

trace::KernelClass ClassOf(kernel::OperatorKind kind) {
  using enum kernel::OperatorKind;
  using trace::KernelClass;
  switch (kind) {
    case kNll:
    case kCrossEntropy:
      return KernelClass::kSoftmax;
    case kCopy:
    case kFill:
    case kConcat:
    case kIndex:
    case kScatter:
      return KernelClass::kCopyLike;
    case kQuantize:
      return KernelClass::kElementwise;
    case kCumsum:
      return KernelClass::kReduction;
    case kOptimizer:
    case kGradientNorm:
    case kForeach:
      return KernelClass::kOptimizer;
    case kTopK:
    case kMoePermute:
      return KernelClass::kMoeRouting;
    default:  // "gemm", "rmsnorm", …: words of kernels' names
      return trace::ClassifyKernel(SchemaOf(kind).name);
  }
}

}  // namespace orrery::simulate
