#include "orrery/workload/model/convolutional.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

LayerList Network(std::string_view name) {
  return *ConvolutionalNetwork(name, DataType::kFp32);
}

std::int64_t Parameters(std::string_view name) {
  return TotalParameters({.name = "", .body = Network(name)});
}

// As torchvision prints them; inception without its second head.
TEST(Convolutional, HasThePublishedParameters) {
  EXPECT_EQ(Parameters("alexnet"), 61'100'840);
  EXPECT_EQ(Parameters("vgg16"), 138'357'544);
  EXPECT_EQ(Parameters("resnet50"), 25'557'032);
  EXPECT_EQ(Parameters("vgg19"), 143'667'240);
  EXPECT_EQ(Parameters("resnet152"), 60'192'808);
  EXPECT_EQ(Parameters("inception_v3"), 23'834'568);
}

double ForwardGemms(std::string_view name) {
  double sum = 0;
  for (const ListedLayer& layer : Network(name).layers) {
    for (const kernel::Operator& op : layer.forward) {
      sum += kernel::IsGemm(op.kind()) ? kernel::WorkOf(op).flops : 0;
    }
  }
  return sum;
}

// torchvision's pages print 0.71, 15.47, 4.09, 19.63, 11.51 and 5.71 billion multiply-adds.
TEST(Convolutional, HasThePublishedWork) {
  EXPECT_NEAR(ForwardGemms("alexnet") / 2e9, 0.71, 0.01);
  EXPECT_NEAR(ForwardGemms("vgg16") / 2e9, 15.47, 0.01);
  EXPECT_NEAR(ForwardGemms("resnet50") / 2e9, 4.09, 0.01);
  EXPECT_NEAR(ForwardGemms("vgg19") / 2e9, 19.63, 0.01);
  EXPECT_NEAR(ForwardGemms("resnet152") / 2e9, 11.51, 0.01);
  EXPECT_NEAR(ForwardGemms("inception_v3") / 2e9, 5.71, 0.01);
}

// The first convolution needs no gradient of the image: 2·112·112·64·3·49 less than three passes.
TEST(Convolutional, BackwardIsTwiceForwardButForTheImage) {
  EXPECT_DOUBLE_EQ(ModelFlops(Network("resnet50"), 1),
                   3 * ForwardGemms("resnet50") - 2.0 * 112 * 112 * 64 * 3 * 49);
}

TEST(Convolutional, NamesTheKnownNetworks) {
  EXPECT_EQ(ConvolutionalNetwork("lenet", DataType::kFp32).error().message(),
            "'lenet' is not a known convolutional network: choose one of alexnet, "
            "inception_v3, resnet50, resnet152, vgg16, vgg19");
}

TEST(ListedLayers, GrowWithTheBatch) {
  const auto grown = [](std::string_view text) {
    return kernel::Text(*ForSamples(*kernel::ParseOperator(text), 8));
  };
  EXPECT_EQ(grown("gemm m=1 n=10 k=20 layout=nt fp32"), "gemm m=8 n=10 k=20 layout=nt fp32");
  EXPECT_EQ(grown("gemm m=10 n=20 k=1 layout=tn fp32"), "gemm m=10 n=20 k=8 layout=tn fp32");
  EXPECT_EQ(grown("conv b=1 c=3 oc=4 h=8 w=8 kh=3 kw=3 fp32"),
            "conv b=8 c=3 oc=4 h=8 w=8 kh=3 kw=3 fp32");
  EXPECT_EQ(grown("embedding rows=10 dim=4 lookups=3 fp32"),
            "embedding rows=10 dim=4 lookups=24 fp32");
  EXPECT_EQ(grown("layernorm rows=3 cols=4 fp32"), "layernorm rows=24 cols=4 fp32");
}

// A product of n × k weights: the input's gradient sums over n, the weights' over samples.
TEST(ListedLayers, AGemmAloneIsALayer) {
  const ListedLayer layer = LayerOf(*kernel::ParseOperator("gemm m=1 n=10 k=20 layout=nt fp32"));
  EXPECT_EQ(layer.backward, (std::vector<kernel::Operator>{
                                *kernel::ParseOperator("gemm m=1 n=20 k=10 fp32"),
                                *kernel::ParseOperator("gemm m=10 n=20 k=1 layout=tn fp32")}));
  EXPECT_EQ(layer.parameters, (std::vector<std::int64_t>{200}));
  EXPECT_EQ(layer.output_elements, 10);
}

TEST(ListedLayers, AConvolutionAloneIsALayer) {
  const ListedLayer layer =
      LayerOf(*kernel::ParseOperator("conv b=1 c=4 oc=8 h=6 w=6 kh=3 kw=3 pad=1 groups=2 fp32"));
  EXPECT_EQ(kernel::Text(layer.backward[0]),
            "conv b=1 c=4 oc=8 h=6 w=6 kh=3 kw=3 pad=1 groups=2 pass=bwd fp32");
  EXPECT_EQ(layer.parameters, (std::vector<std::int64_t>{8 * 2 * 9}));
  EXPECT_EQ(layer.output_elements, 8 * 6 * 6);
}

TEST(ListedLayers, EveryLayerOfANetworkGrows) {
  for (const std::string_view name :
       {"alexnet", "inception_v3", "resnet50", "resnet152", "vgg16", "vgg19"}) {
    for (const ListedLayer& layer : Network(name).layers) {
      for (const kernel::Operator& op : layer.forward) {
        EXPECT_TRUE(ForSamples(op, 2)) << layer.name;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::workload
