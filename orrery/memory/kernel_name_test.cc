#include <gtest/gtest.h>

#include "orrery/memory/names.h"

namespace orrery::memory {
namespace {

TEST(KernelName, TemplateArgumentsParametersAndVoidGo) {
  EXPECT_EQ(ShortKernelName("void at::native::add<float, 4>(float*, int)"), "at::native::add");
  EXPECT_EQ(ShortKernelName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(ShortKernelName("plain(int*)"), "plain");
}

TEST(KernelName, NamesBehindTemplateArgumentsStay) {
  EXPECT_EQ(ShortKernelName("void cub::Device<int, A<B>>::Run<3>(int)"), "cub::Device::Run");
}

TEST(KernelName, AnonymousNamespacesAreNoParameters) {
  EXPECT_EQ(ShortKernelName("void at::(anonymous namespace)::copy<int>(int*)"),
            "at::(anonymous namespace)::copy");
}

TEST(KernelName, OperatorsAndArrowsAreNoBrackets) {
  EXPECT_EQ(ShortKernelName("ns::Less::operator<(int)"), "ns::Less::operator<");
  EXPECT_EQ(ShortKernelName("ns::Call::operator()(int)"), "ns::Call::operator()");
  EXPECT_EQ(ShortKernelName("void run<decltype(a->b), 1>(int)"), "run");
}

TEST(KernelName, WhatIsCutOffStaysReadable) {
  EXPECT_EQ(ShortKernelName("void cutlass::Kernel<Shape<128"), "cutlass::Kernel");
  EXPECT_EQ(ShortKernelName(""), "");
  EXPECT_EQ(ShortKernelName("<lambda>"), "<lambda>");
}

}  // namespace
}  // namespace orrery::memory
