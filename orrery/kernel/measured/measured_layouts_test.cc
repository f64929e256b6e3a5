#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

/// The texts of the operators of a table's first row, with their times in µs.
std::vector<std::string> FirstRow(std::string_view csv) {
  const Result<Table> table = ParseCsv(csv);
  EXPECT_TRUE(table.has_value());
  const Result<const Layout*> layout = FindLayout(*table);
  if (!layout) {
    return {layout.error().message()};
  }
  const auto rows = (*layout)->read(*table, 0);
  if (!rows) {
    return {rows.error().message()};
  }
  std::vector<std::string> texts;
  for (const LayoutRow& row : *rows) {
    texts.push_back(fmt::format("{} | {} {:.3f} us", Text(row.op), row.gpu, row.seconds * 1e6));
  }
  return texts;
}

using testing::ElementsAre;

TEST(OurLayout, ARowHasAColdAndAWarmTime) {
  EXPECT_THAT(FirstRow("operator,kernel_us,warm_us,gpu\n"
                       "gemm m=8 n=8 k=8 bf16,3.5,2.5,NVIDIA H200\n"),
              ElementsAre("gemm m=8 n=8 k=8 bf16 | NVIDIA H200 3.500 us",
                          "gemm m=8 n=8 k=8 warm=1 bf16 | NVIDIA H200 2.500 us"));
  EXPECT_THAT(FirstRow("operator,kernel_us,gpu\nfill n=8 bf16,3.5,H200\n"),
              ElementsAre("fill n=8 bf16 | H200 3.500 us"));
}

TEST(OurLayout, TheKernelTellsTheBackendThatTheFrameworkChose) {
  const std::string head = "operator,kernel_us,main_kernel,gpu\n";
  const std::string op = "attention b=1 h=8 kv=8 sq=64 sk=64 d=64";
  EXPECT_THAT(FirstRow(head + op + " bf16,9,cudnn_generated_fort_native_sdpa,H200\n"),
              ElementsAre(op + " backend=cudnn bf16 | H200 9.000 us"));
  EXPECT_THAT(FirstRow(head + op + " bf16,9,flash_fwd_kernel,H200\n"),
              ElementsAre(op + " backend=flash bf16 | H200 9.000 us"));
  EXPECT_THAT(FirstRow(head + op + " fp32,9,fmha_cutlassF_f32,H200\n"),
              ElementsAre(op + " backend=efficient fp32 | H200 9.000 us"));
}

TEST(TunedLayout, RowsAreTheFastestKernelsOfASearch) {
  const std::string head = "device,library,dtype,m,n,k,latency_us,split_k,kernel\n";
  EXPECT_THAT(FirstRow(head + "MI350X,asm,bf16,64,512,4096,5.5,0,name\n"),
              ElementsAre("gemm m=64 n=512 k=4096 layout=nt bf16 | MI350X 5.500 us"));
  EXPECT_THAT(FirstRow(head + "MI350X,asm,fp4_block,64,512,4096,5.5,0,name\n"),
              ElementsAre("gemm m=64 n=512 k=4096 layout=nt nvfp4 | MI350X 5.500 us"));
  EXPECT_THAT(FirstRow(head + "MI300X,ck,fp8_block,64,512,4096,5.5,0,name\n"),
              ElementsAre("gemm m=64 n=512 k=4096 layout=nt fp8_block | MI300X 5.500 us"));
}

TEST(TunedLayout, TypesOfExpertsAreThoseOfWeightsAndTokens) {
  const std::string head =
      "device,dtype,tokens,hidden,inter,experts,topk,gated,act_dtype,weight_dtype,quant,"
      "latency_us\n";
  const std::string sizes = ",1024,4096,384,128,8,1,";
  const std::string op = "moe tokens=1024 hidden=4096 inter=384 k=8 experts=128 ";
  EXPECT_THAT(FirstRow(head + "MI308X,bf16" + sizes + "bfloat16,bfloat16,No,500\n"),
              ElementsAre(op + "bf16 | MI308X 500.000 us"));
  EXPECT_THAT(FirstRow(head + "MI308X,fp8" + sizes + "float8_e4m3fnuz,f,per_Token,500\n"),
              ElementsAre(op + "fp8 | MI308X 500.000 us"));
  EXPECT_THAT(FirstRow(head + "MI308X,fp8" + sizes + "float8_e4m3fnuz,f,per_1x128,500\n"),
              ElementsAre(op + "fp8_block | MI308X 500.000 us"));
  EXPECT_THAT(FirstRow(head + "MI350X,fp8" + sizes + "float8_e4m3fn,f,per_1x32,500\n"),
              ElementsAre(testing::HasSubstr("32 elements is not a known data type")));
  EXPECT_THAT(FirstRow(head + "MI350X,fp4" + sizes + "bfloat16,f,per_1x32,500\n"),
              ElementsAre(op + "mxfp4 | MI350X 500.000 us"));
  EXPECT_THAT(FirstRow(head + "MI350X,fp4" + sizes + "float8_e4m3fn,f,per_1x32,500\n"),
              ElementsAre(op + "mxfp4_fp8 | MI350X 500.000 us"));
  EXPECT_THAT(FirstRow(head + "MI350X,fp4" + sizes + "float4_e2m1fn_x2,f,per_1x32,500\n"),
              ElementsAre(op + "nvfp4 | MI350X 500.000 us"));
  // Without a gate the experts are two products, not three.
  EXPECT_THAT(FirstRow(head + "MI308X,bf16,8,8,8,8,1,0,bfloat16,bfloat16,No,500\n"), ElementsAre());
}

TEST(NeuSightLayout, ReadsGemmsWithTheirNAsTheReduction) {
  EXPECT_THAT(FirstRow("OPName,B,M,N,K,H,Latency,Device\nbmm,2,3,5,7,,0.25,Tesla V100\n"),
              ElementsAre("bgemm b=2 m=3 n=7 k=5 fp32 | Tesla V100 250.000 us"));
  EXPECT_THAT(FirstRow("OPName,B,M,N,K,H,Latency,Device\nlinear,1,3,5,7,,0.25,T4\n"),
              ElementsAre("gemm m=3 n=7 k=5 layout=nt bias=1 fp32 | T4 250.000 us"));
}

TEST(NeuSightLayout, ReadsRowsAndFunctions) {
  const std::string head = "OPName,B,H,Latency,Device\n";
  EXPECT_THAT(FirstRow(head + "softmax,4,8,0.02,T4\n"),
              ElementsAre("softmax rows=4 cols=8 fp32 | T4 20.000 us"));
  EXPECT_THAT(FirstRow(head + "ln,4,8,0.02,T4\n"),
              ElementsAre("layernorm rows=4 cols=8 fp32 | T4 20.000 us"));
  // With a number as the second operand only one tensor is read.
  EXPECT_THAT(FirstRow(head + "addu,4,8,0.02,T4\n"),
              ElementsAre("elementwise n=32 wb=4 fp32 | T4 20.000 us"));
  EXPECT_THAT(FirstRow(head + "mul,4,8,0.02,T4\n"),
              ElementsAre("elementwise fn=mul n=32 rb=8 wb=4 fp32 | T4 20.000 us"));
  EXPECT_THAT(FirstRow(head + "fft,4,8,0.02,T4\n"), ElementsAre("'fft' is not a known OPName"));
}

TEST(ServingLayout, ReadsGemmsAttentionAndExperts) {
  EXPECT_THAT(FirstRow("gemm_dtype,m,n,k,latency_ms,device\nfp8_block,1,128,256,0.01,h200_sxm\n"),
              ElementsAre("gemm m=1 n=128 k=256 layout=nt fp8_block | h200_sxm 10.000 us"));
  EXPECT_THAT(FirstRow("batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,"
                       "attn_dtype,kv_cache_dtype,latency_ms,device\n"
                       "2,64,32,8,128,0,bfloat16,fp8,0.01,h200_sxm\n"),
              ElementsAre("attention b=2 h=32 kv=8 sq=64 sk=64 d=128 causal=1 kv8=1 bf16 | "
                          "h200_sxm 10.000 us"));
  // Two shards of the inner size 512, and the exponent 1.2 as 120.
  EXPECT_THAT(FirstRow("moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,"
                       "moe_ep_size,distribution,latency_ms,device\n"
                       "bfloat16,16,1024,512,2,8,2,4,power_law_1.2,0.1,h200_sxm\n"),
              ElementsAre("moe tokens=16 hidden=1024 inter=256 k=2 experts=8 ep=4 skew=120 bf16 | "
                          "h200_sxm 100.000 us"));
}

TEST(ServingLayout, AttentionOfEncodersIsNotCausalAndSharesNoKeys) {
  EXPECT_THAT(FirstRow("sys,batch_size,isl,num_heads,head_dim,attn_dtype,latency_ms\n"
                       "b200_sxm,2,64,16,64,bfloat16,0.01\n"),
              ElementsAre("attention b=2 h=16 kv=16 sq=64 sk=64 d=64 bf16 | b200_sxm 10.000 us"));
}

TEST(TrainingLayout, PhasesOfALinearLayerAreGemmsOfTheirOwn) {
  const std::string head = "gpu,op,phase,dtype,m,n,k,batch,time_us,how\n";
  EXPECT_THAT(FirstRow(head + "B200,gemm,fwd,bf16,8,16,32,1,5,a loop\n"),
              ElementsAre("gemm m=8 n=16 k=32 layout=nt bf16 | B200 5.000 us"));
  EXPECT_THAT(FirstRow(head + "B200,gemm,dgrad,bf16,8,32,16,1,5,a loop\n"),
              ElementsAre("gemm m=8 n=32 k=16 bf16 | B200 5.000 us"));
  EXPECT_THAT(FirstRow(head + "B200,gemm,wgrad,bf16,16,32,8,1,5,a loop\n"),
              ElementsAre("gemm m=16 n=32 k=8 layout=tn bf16 | B200 5.000 us"));
  // Four groups of 8 rows.
  EXPECT_THAT(FirstRow(head + "B200,grouped_gemm,fwd,bf16,8,16,32,4,5,a loop\n"),
              ElementsAre("groupedgemm g=4 m=32 n=16 k=32 bf16 | B200 5.000 us"));
  // Both gradients together, and what has no operator here.
  EXPECT_THAT(FirstRow(head + "A100,linear,bwd,fp16,8,16,32,1,5,a loop\n"), ElementsAre());
  EXPECT_THAT(FirstRow(head + "A100,RoPE,fwd,fp16,8,16,32,1,5,a loop\n"), ElementsAre());
}

TEST(Layouts, ATableWithoutAColumnIsRejectedByItsName) {
  EXPECT_THAT(FirstRow("operator,kernel_us\nfill n=1 bf16,1\n"),
              ElementsAre("looks like a table of orrery measure kernels, but the column gpu is "
                          "missing"));
  EXPECT_THAT(FirstRow("OPName,B\nbmm,1\n"),
              ElementsAre("looks like a table of NeuSight, but the columns Latency, Device are "
                          "missing"));
  EXPECT_THAT(FirstRow("a,b\n1,2\n"),
              ElementsAre("unknown table of measured kernels; the layouts are in "
                          "docs/formats/measured-kernels.md"));
}

}  // namespace
}  // namespace orrery::kernel
