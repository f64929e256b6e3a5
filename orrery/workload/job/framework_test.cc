#include "orrery/workload/job/framework.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

std::string Catalogue(std::string_view lines = "") {
  return "frameworks:\n  - name: test\n    match: [[test]]\n    origin: a paper\n" +
         std::string(lines);
}

std::string ErrorOf(const std::string& yaml) {
  const auto frameworks = ReadFrameworks(yaml);
  return frameworks ? "no error" : frameworks.error().message();
}

TEST(FrameworkTest, WhatIsLeftOutHasItsDefault) {
  const auto frameworks = ReadFrameworks(Catalogue());
  ASSERT_TRUE(frameworks) << frameworks.error().message();
  Framework expected;
  expected.name = "test";
  expected.match = {{"test"}};
  expected.origin = "a paper";
  EXPECT_THAT(*frameworks, testing::ElementsAre(expected));
}

TEST(FrameworkTest, DeclaredAndFittedPropertiesAreRead) {
  const auto frameworks = ReadFrameworks(
      Catalogue("    attention: materialised\n    tensor_overlap: pipelined\n"
                "    data_overlap: buckets\n    uses_graphs: true\n    bucket_bytes: 1000\n"
                "    vocabulary_multiple: 64\n    guessed: [attention, bucket_bytes]\n"
                "    gemm_rate: 0.9\n    launch_us: 0\n    spread: 0.15\n"));
  ASSERT_TRUE(frameworks) << frameworks.error().message();
  const Framework& framework = frameworks->front();
  EXPECT_EQ(framework.attention, AttentionKernel::kMaterialised);
  EXPECT_EQ(framework.tensor_overlap, TensorOverlap::kPipelined);
  EXPECT_EQ(framework.data_overlap, DataOverlap::kBuckets);
  EXPECT_EQ(framework.graphs, CudaGraphs::kStep);
  EXPECT_EQ(framework.bucket_bytes, 1000);
  EXPECT_EQ(framework.vocabulary_multiple, 64);
  EXPECT_THAT(framework.guessed, testing::ElementsAre("attention", "bucket_bytes"));
  EXPECT_EQ(framework.gemm_rate, 0.9);
  EXPECT_EQ(framework.launch_us, 0);
  EXPECT_EQ(framework.spread, 0.15);
}

TEST(FrameworkTest, FittedScalarsStayWithinWhatIsPlausible) {
  EXPECT_EQ(FittedScalars().size(), 6u);
  EXPECT_EQ(ErrorOf(Catalogue("    gemm_rate: 0.3\n")),
            "framework 'test': gemm_rate must be a number of at least 0.4, not '0.3'");
  EXPECT_EQ(ErrorOf(Catalogue("    gemm_rate: 1.6\n")),
            "framework 'test': gemm_rate must be a number of at most 1.5, not '1.6'");
  EXPECT_EQ(ErrorOf(Catalogue("    memory_rate: 2.1\n")),
            "framework 'test': memory_rate must be a number of at most 2, not '2.1'");
  EXPECT_EQ(ErrorOf(Catalogue("    communication_rate: 0.2\n")),
            "framework 'test': communication_rate must be a number of at least 0.3, not '0.2'");
  EXPECT_EQ(ErrorOf(Catalogue("    launch_us: 201\n")),
            "framework 'test': launch_us must be a number of at most 200, not '201'");
  EXPECT_EQ(ErrorOf(Catalogue("    launch_us: -1\n")),
            "framework 'test': launch_us must be a number of at least 0, not '-1'");
  EXPECT_EQ(ErrorOf(Catalogue("    spread: 0.2\n")),
            "framework 'test': spread must be a number of at most 0.15, not '0.2'");
}

TEST(FrameworkTest, ErrorsNameTheEntryAndTheField) {
  EXPECT_EQ(
      ErrorOf(Catalogue("    attention: slow\n")),
      "framework 'test': attention must be one of flash, flash2, flash1, materialised, not 'slow'");
  EXPECT_EQ(ErrorOf(Catalogue("    guessed: [launch_us]\n")),
            "framework 'test': guessed must be a list of declared properties, not 'launch_us'");
  EXPECT_EQ(ErrorOf(Catalogue("    use_graphs: true\n")),
            "framework 'test': use_graphs is not a field that is known here; the nearest is "
            "uses_graphs");
  EXPECT_EQ(ErrorOf(Catalogue() + Catalogue().substr(Catalogue().find("  - name"))),
            "framework 'test': name is used twice");
  EXPECT_EQ(ErrorOf("frameworks: 3"),
            "catalogue of frameworks: frameworks must be a list of frameworks, not 'something "
            "else'");
  EXPECT_EQ(ErrorOf("frameworks: ["),
            "catalogue of frameworks: line 1: end of sequence flow not found");
}

TEST(FrameworkTest, ADeclaredPropertyIsSetByItsKey) {
  Framework framework;
  EXPECT_TRUE(SetDeclared("framework.module_calls=7", framework));
  EXPECT_EQ(framework.module_calls, 7);
  EXPECT_EQ(SetDeclared("plan.tp=7", framework).error().message(),
            "--set plan.tp=7: write framework.KEY=VALUE (orrery list job-keys)");
  EXPECT_EQ(SetDeclared("framework.module_calls=-1", framework).error().message(),
            "--set: module_calls must be a whole number of at least 0, not '-1'");
}

TEST(FrameworkTest, EveryEntryIsFoundByItsName) {
  EXPECT_GE(Frameworks().size(), 9u);
  for (const Framework& framework : Frameworks()) {
    EXPECT_EQ(FindFramework(framework.name), &framework);
    EXPECT_NE(framework.origin, "");
  }
  EXPECT_EQ(FindFramework("abacus"), nullptr);
}

TEST(FrameworkTest, NamesOfPublishedRunsFindTheirProfile) {
  const auto found = [](std::string_view name, std::string_view release = {}) {
    const Framework* const framework = FindFramework(name, release);
    return framework == nullptr ? "none" : framework->name;
  };
  EXPECT_EQ(found("Megatron-DeepSpeed 2021"), "megatron-deepspeed");
  EXPECT_EQ(found("Megatron-LM + DeepSpeed ZeRO-3", "2021"), "megatron-deepspeed");
  EXPECT_EQ(found("Megatron-LM / NeMo-Megatron", "2022"), "megatron-2021");
  EXPECT_EQ(found("Megatron-LM", "2021-01"), "megatron-2021");
  EXPECT_EQ(found("Megatron-LM (commit 285068c8) 2023"), "megatron-lm");
  EXPECT_EQ(found("NeMo / Megatron-Core dgxc release 25.04"), "nemo");
  EXPECT_EQ(found("Megatron-Core (MCore w/ Folding) v0.9+/2025"), "megatron-lm");
  EXPECT_EQ(found("MosaicML Composer + PyTorch FSDP"), "composer-fsdp");
  EXPECT_EQ(found("PyTorch FSDP + torch.compile 2024"), "torch-fsdp");
  EXPECT_EQ(found("nanotron ~v0.5 (Dec 2024-Feb 2025)"), "nanotron");
  EXPECT_EQ(found("PaxML (JAX/XLA) 2023-2024"), "maxtext");
  EXPECT_EQ(found("HAI-LLM (DualPipe) 2024"), "hai-llm");
  EXPECT_EQ(found("PyTorch"), "pytorch");
}

}  // namespace
}  // namespace orrery::workload
