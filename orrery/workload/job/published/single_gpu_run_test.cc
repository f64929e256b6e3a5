#include <cstddef>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::workload {
namespace {

using testing::HasSubstr;

using Cells = std::map<std::string, std::string>;

// Pretraining of BERT on one node, as NVIDIA's examples print it.
Cells BertRow() {
  return {{"id", "s1"},
          {"source", "NVIDIA DeepLearningExamples"},
          {"model", "LanguageModeling/BERT"},
          {"gpu", "DGX A100 (8x A100 80GB)"},
          {"n_gpus", "8"},
          {"batch_per_gpu", "126 and 256"},
          {"batch_total", ""},
          {"seq_len", "128"},
          {"precision", "TF32"},
          {"framework", "PyTorch"},
          {"throughput", "2048"},
          {"unit", "Throughput - TF32(sequences/sec)"},
          {"columns_json",
           R"json({"Accumulated Batch size / GPU (TF32 and FP16)": "8192 and 4096",
                   "Accumulation steps (TF32 and FP16)": "64 and 16"})json"}};
}

Table TableOf(const Cells& changes) {
  Cells cells = BertRow();
  for (const auto& [column, value] : changes) {
    cells[column] = value;
  }
  Table table;
  const std::size_t row = table.AddRow();
  for (const auto& [column, value] : cells) {
    const std::size_t index = table.AddColumn(column, Table::Type::kText);
    if (!value.empty()) {
      table.Set(row, index, value);
    }
  }
  return table;
}

PublishedRun Described(const Cells& changes) {
  const Result<PublishedRun> run = ReadSingleGpuRun(TableOf(changes), 0);
  EXPECT_TRUE(run) << run.error().message();
  return run ? *run : PublishedRun{};
}

std::string Refusal(const Cells& changes) {
  const Result<PublishedRun> run = ReadSingleGpuRun(TableOf(changes), 0);
  return run ? "not refused" : run.error().message();
}

TEST(SingleGpuRunTest, TheLayoutIsKnownByItsColumns) {
  EXPECT_TRUE(IsSingleGpuTable(TableOf({})));
  EXPECT_FALSE(IsSingleGpuTable(Table()));
}

TEST(SingleGpuRunTest, APassIsTheAccumulatedBatchOverItsSteps) {
  // 8192 / 64 = 128 a pass, whatever the misprinted 126 says; 8 · 8192 sequences at 2048/s: 32 s.
  const PublishedRun run = Described({});
  EXPECT_EQ(run.job.training.micro_batch, 128);
  EXPECT_EQ(run.job.training.global_batch, 65'536);
  EXPECT_DOUBLE_EQ(run.measured_s, 32);
  EXPECT_EQ(run.job.plan.dp, 8);
  EXPECT_EQ(run.job.model.transformer()->hidden, 1024);
  EXPECT_EQ(run.job.training.precision.gemm_type, DataType::kTf32);
  EXPECT_FALSE(run.job.training.precision.has_master);
}

TEST(SingleGpuRunTest, TheSecondOfTwoNumbersIsForHalfPrecision) {
  const PublishedRun run = Described({{"precision", "mixed precision"}});
  EXPECT_EQ(run.job.training.micro_batch, 256);  // 4096 / 16
  EXPECT_EQ(run.job.training.precision.compute, DataType::kFp16);
}

TEST(SingleGpuRunTest, GpusMayBeNodesTimesGpusOfANode) {
  const PublishedRun run =
      Described({{"n_gpus", ""},
                 {"columns_json", R"json({"Nodes": "4", "GPUs / node": "8"})json"},
                 {"batch_per_gpu", "32"}});
  EXPECT_EQ(run.job.gpus, 32);
  EXPECT_EQ(run.job.training.micro_batch, 32);
  EXPECT_EQ(run.job.training.global_batch, 1024);
}

TEST(SingleGpuRunTest, RecommendationHasItsBatchInThousands) {
  const PublishedRun run = Described({{"model", "Recommendation/DLRM"},
                                      {"seq_len", ""},
                                      {"n_gpus", "1"},
                                      {"batch_per_gpu", "64k"},
                                      {"columns_json", "{}"}});
  EXPECT_NE(run.job.model.dlrm(), nullptr);
  EXPECT_EQ(run.job.training.global_batch, 65'536);
}

TEST(SingleGpuRunTest, SequencesThatTheDataDoesNotFillNeedToSayWhetherPaddingIsComputed) {
  EXPECT_THAT(Refusal({{"seq_len", "512"}}), HasSubstr("does not fill sequences of 512"));
  EXPECT_THAT(Refusal({{"seq_len", "512"}, {"padding", "skipped"}}), HasSubstr("without padding"));
  EXPECT_THAT(Refusal({{"seq_len", "512"}, {"padding", "perhaps"}}), HasSubstr("perhaps"));
  EXPECT_EQ(Described({{"seq_len", "512"}, {"padding", "computed"}}).job.training.sequence, 512);
}

TEST(SingleGpuRunTest, WhatIsNotDescribedIsRefusedWithTheReason) {
  EXPECT_THAT(Refusal({{"model", "phi-1.5 1.3 B"}}), HasSubstr("phi-1.5"));
  EXPECT_THAT(Refusal({{"model", "Segmentation/nnUNet"}}), HasSubstr("nnUNet"));
  EXPECT_THAT(Refusal({{"framework", "MxNet"}}), HasSubstr("MxNet"));
  EXPECT_THAT(Refusal({{"seq_len", ""}}), HasSubstr("sequence length"));
  EXPECT_THAT(Refusal({{"precision", ""}}), HasSubstr("precision"));
  EXPECT_THAT(Refusal({{"gpu", "Voodoo2"}}), HasSubstr("Voodoo2"));
  EXPECT_THAT(Refusal({{"batch_per_gpu", ""}, {"columns_json", "{}"}}), HasSubstr("batch"));
  EXPECT_THAT(Refusal({{"n_gpus", "2 x A100"}}), HasSubstr("number of GPUs"));
  EXPECT_THAT(Refusal({{"throughput", "fast"}}), HasSubstr("throughput"));
  EXPECT_THAT(Refusal({{"columns_json", R"json({"Accumulation steps": "3"})json"},
                       {"batch_per_gpu", "128"}}),
              HasSubstr("does not divide"));
}

}  // namespace
}  // namespace orrery::workload
