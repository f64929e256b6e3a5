#pragma once

#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// Builds a network of convolutions for images of ImageNet as a list of layers, on elements of
/// `type`: "alexnet", "vgg16", "resnet50", "inception_v3". Another name fails with the known ones.
[[nodiscard]] Result<LayerList> ConvolutionalNetwork(std::string_view name, kernel::DataType type);

[[nodiscard]] const std::vector<std::string_view>& ConvolutionalNetworks();

}  // namespace orrery::workload
