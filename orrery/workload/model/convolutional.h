#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// Builds a network of convolutions for images of ImageNet as a list of layers, on elements of
/// `type`: "alexnet", "vgg16", "resnet50", "inception_v3". Another name fails with the known ones.
[[nodiscard]] Result<LayerList> ConvolutionalNetwork(std::string_view name, DataType type);

/// The operator of one sample for `samples` of them. Which size grows depends on the kind: the
/// batch, the rows, the elements; of a product the rows of the result, except in a weight's
/// gradient (layout tn), which sums over samples. Fails for kinds that have no such size.
[[nodiscard]] Result<kernel::Operator> ForSamples(const kernel::Operator& op, std::int64_t samples);

/// The layer that an operator alone is: its backward pass, its parameters and its result follow
/// from the kind, for the kinds of layers (products, convolutions, embeddings, norms); others have
/// no parameters and run once more backward.
[[nodiscard]] ListedLayer LayerOf(const kernel::Operator& op);

}  // namespace orrery::workload
