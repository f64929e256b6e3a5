#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/kernel_shapes.h"
#include "bench/program_recorder.h"
#include "bench/step_builder.h"
#include "bench/training_step.h"

namespace orrery::bench {

namespace {

constexpr std::int64_t kTokens = 4096;
constexpr std::int64_t kHidden = 8192;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kVocabulary = 16032;
constexpr std::int64_t kActivationBytes = kTokens * kHidden * 2;

/// Writes one step as a program would run it.
class TransformerStep {
 public:
  TransformerStep(int num_layers, std::uint64_t seed) : num_layers_(num_layers), builder_(seed) {}

  TrainingStep Make() {
    const int step = builder_.BeginAnnotation("ProfilerStep#");
    program_.InPython("/workspace/megatron-lm/megatron/training/training.py(1523): train", [&] {
      program_.InPython("/workspace/megatron-lm/megatron/training/training.py(772): train_step",
                        [&] {
                          Forward();
                          Backward();
                          Optimizer();
                          ReadLoss();
                        });
    });
    builder_.EndOp(step);
    builder_.MirrorOnDevice(step);
    return builder_.Finish();
  }

 private:
  void Empty(std::int64_t bytes) {
    program_.InOp(
        "aten::empty",
        {IntList("[4096, 8192]"), Scalar("15"), Scalar("0"), None(), Scalar("False"), None()},
        [&] { builder_.Allocate(bytes); });
  }

  void View() {
    program_.Op("aten::view", {Tensor({kTokens, 1, kHidden}), IntList("[4096, 8192]")});
  }

  void Transpose(std::int64_t rows) {
    program_.InOp("aten::t", {Tensor({rows, kHidden})}, [&] {
      program_.InOp("aten::transpose", {Tensor({rows, kHidden}), Scalar("0"), Scalar("1")}, [&] {
        program_.Op("aten::as_strided", {Tensor({rows, kHidden}), IntList("[8192, 3072]"),
                                         IntList("[1, 8192]"), None()});
      });
    });
  }

  void Gemm(std::int64_t columns) {
    program_.InOp("aten::mm", {Tensor({kTokens, kHidden}), Tensor({kHidden, columns})}, [&] {
      builder_.Allocate(kTokens * columns * 2);
      builder_.Call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 217);
      builder_.LaunchKernel(kGemm);
    });
  }

  void Linear(std::int64_t columns) {
    program_.InModule("ColumnParallelLinear", "tensor_parallel/layers.py", 1013, [&] {
      program_.GetAttribute();
      program_.GetAttribute();
      program_.InPython(
          "/workspace/megatron-lm/megatron/core/tensor_parallel/layers.py(634): "
          "linear_with_grad_accumulation_and_async_allreduce",
          [&] {
            program_.BuiltIn("<built-in method apply of FunctionMeta object at 0x55d0c1b2e8a0>");
            program_.GradOp(
                "LinearWithGradAccumulationAndAsyncCommunication",
                {Tensor({kTokens, 1, kHidden}), Tensor({columns, kHidden}), None(), Scalar("True"),
                 Scalar("False"), Scalar("False"), Scalar("False"), None(), Scalar("True")},
                "LinearWithGradAccumulationAndAsyncCommunicationBackward",
                [&] {
                  program_.InOp("aten::matmul",
                                {Tensor({kTokens, 1, kHidden}), Tensor({kHidden, columns})}, [&] {
                                  Transpose(columns);
                                  View();
                                  Gemm(columns);
                                  program_.Op("aten::_unsafe_view", {Tensor({kTokens, columns}),
                                                                     IntList("[4096, 1, 3072]")});
                                });
                },
                [this, columns] { UndoLinear(columns); });
          });
    });
  }

  void UndoLinear(std::int64_t columns) {
    program_.InOp("aten::matmul", {Tensor({kTokens, 1, columns}), Tensor({columns, kHidden})}, [&] {
      View();
      Gemm(kHidden);
    });
    Transpose(kTokens);
    Gemm(columns);
    builder_.FreeOldest();
    builder_.FreeOldest();
    program_.InOp("aten::add_",
                  {Tensor({columns, kHidden}), Tensor({columns, kHidden}), Scalar("1")},
                  [&] { builder_.LaunchKernel(kAdd); });
  }

  void Norm() {
    program_.InModule("FusedLayerNorm", "fusions/fused_layer_norm.py", 145, [&] {
      program_.GetAttribute();
      program_.BuiltIn("<built-in method layer_norm of type object at 0x7bcd86e1df60>");
      program_.InOp(
          "aten::layer_norm",
          {Tensor({kTokens, 1, kHidden}), IntList("[8192]"), Tensor({kHidden}), Tensor({kHidden}),
           Scalar("1.0000000000000001e-05"), Scalar("True")},
          [&] {
            program_.GradOp(
                "aten::native_layer_norm",
                {Tensor({kTokens, 1, kHidden}), IntList("[8192]"), Tensor({kHidden}),
                 Tensor({kHidden}), Scalar("1.0000000000000001e-05")},
                "NativeLayerNormBackward0",
                [&] {
                  Empty(kActivationBytes);
                  Empty(kTokens * 4);
                  Empty(kTokens * 4);
                  builder_.LaunchKernel(kNorm);
                  View();
                },
                [this] {
                  program_.InOp(
                      "aten::native_layer_norm_backward",
                      {Tensor({kTokens, 1, kHidden}), Tensor({kTokens, 1, kHidden}),
                       IntList("[8192]"), Tensor({kTokens, 1, 1}), Tensor({kTokens, 1, 1}),
                       Tensor({kHidden}), Tensor({kHidden}), IntList("[True, True, True]")},
                      [&] {
                        Empty(kActivationBytes);
                        builder_.LaunchKernel(kNorm);
                        builder_.LaunchKernel(kReduce);
                        builder_.FreeOldest();
                        builder_.FreeOldest();
                        builder_.FreeOldest();
                      });
                });
          });
    });
  }

  void Elementwise(const std::string& name, const std::string& backward,
                   const KernelShape& kernel) {
    program_.BuiltIn(fmt::format("<built-in method {} of Tensor object at 0x7bc8d80b5c20>",
                                 name.substr(name.find(':') + 2)));
    program_.GradOp(
        name, {Tensor({kTokens, 1, kHidden}), Tensor({kTokens, 1, kHidden}), Scalar("1")}, backward,
        [&] {
          builder_.Allocate(kActivationBytes);
          builder_.LaunchKernel(kernel);
        },
        [this, kernel] {
          program_.InOp("aten::mul", {Tensor({kTokens, 1, kHidden}), Tensor({kTokens, 1, kHidden})},
                        [&] { builder_.LaunchKernel(kernel); });
          builder_.FreeOldest();
        });
  }

  // Cutting and turning of tensors: most operators of a real trace launch nothing.
  void RotaryEmbedding() {
    program_.InPython(
        "/workspace/megatron-lm/megatron/core/models/common/embeddings/rope_utils.py(232): "
        "apply_rotary_pos_emb",
        [&] {
          const OpInput heads = Tensor({kTokens, 1, kHeads, 128});
          for (int half = 0; half < 2; ++half) {
            program_.BuiltIn("<built-in method chunk of type object at 0x7bcd86e1df60>");
            program_.InOp("aten::chunk", {heads, Scalar("2"), Scalar("-1")}, [&] {
              program_.InOp("aten::split", {heads, Scalar("64"), Scalar("-1")}, [&] {
                for (int part = 0; part < 2; ++part) {
                  program_.InOp(
                      "aten::narrow", {heads, Scalar("-1"), Scalar("64"), Scalar("64")}, [&] {
                        program_.InOp(
                            "aten::slice",
                            {heads, Scalar("-1"), Scalar("64"), Scalar("128"), Scalar("1")}, [&] {
                              program_.Op("aten::as_strided",
                                          {heads, IntList("[4096, 1, 8, 64]"),
                                           IntList("[1024, 1024, 128, 1]"), Scalar("64")});
                            });
                      });
                }
              });
            });
            program_.BuiltIn("<built-in method reshape of Tensor object at 0x7bc8d80b5c20>");
            program_.InOp("aten::reshape", {heads, IntList("[4096, 1, 8, 2, 64]")}, [&] {
              program_.Op("aten::_reshape_alias", {heads, IntList("[4096, 1, 8, 2, 64]"),
                                                   IntList("[8192, 8192, 1024, 64, 1]")});
            });
            program_.BuiltIn("<built-in method expand_as of Tensor object at 0x7bc8d80b6170>");
            program_.InOp("aten::expand_as", {Tensor({kTokens, 1, 1, 128}), heads}, [&] {
              program_.InOp(
                  "aten::expand",
                  {Tensor({kTokens, 1, 1, 128}), IntList("[4096, 1, 8, 128]"), Scalar("False")},
                  [&] {
                    program_.Op("aten::as_strided",
                                {Tensor({kTokens, 1, 1, 128}), IntList("[4096, 1, 8, 128]"),
                                 IntList("[128, 128, 0, 1]"), None()});
                  });
            });
          }
          Elementwise("aten::mul", "MulBackward0", kMultiply);
          Elementwise("aten::add", "AddBackward0", kAdd);
        });
  }

  void Attention() {
    program_.InModule("DotProductAttention", "transformer/dot_product_attention.py", 153, [&] {
      for (int part = 0; part < 3; ++part) {
        program_.GetAttribute();
        program_.BuiltIn("<built-in method permute of Tensor object at 0x7bc8d80b5b30>");
        program_.Op("aten::permute", {Tensor({1, kTokens, kHeads, 128}), IntList("[1, 0, 2, 3]")});
        program_.InOp("aten::contiguous", {Tensor({1, kHeads, kTokens, 128}), Scalar("0")}, [&] {
          program_.InOp("aten::clone", {Tensor({1, kHeads, kTokens, 128}), Scalar("0")}, [&] {
            Empty(kActivationBytes / 8);
            program_.InOp("aten::copy_",
                          {Tensor({1, kHeads, kTokens, 128}), Tensor({1, kHeads, kTokens, 128}),
                           Scalar("False")},
                          [&] { builder_.LaunchKernel(kCopyKernel); });
          });
        });
      }
      program_.BuiltIn("<built-in function scaled_dot_product_attention>");
      program_.GradOp(
          "aten::scaled_dot_product_attention",
          {Tensor({1, kHeads, kTokens, 128}), Tensor({1, kHeads, kTokens, 128}),
           Tensor({1, kHeads, kTokens, 128}), None(), Scalar("0."), Scalar("True"), None(),
           Scalar("False")},
          "ScaledDotProductFlashAttentionBackward0", [&] { FlashForward(); },
          [this] { FlashBackward(); });
    });
  }

  void FlashForward() {
    const std::vector<OpInput> inputs{Tensor({1, kHeads, kTokens, 128}),
                                      Tensor({1, kHeads, kTokens, 128}),
                                      Tensor({1, kHeads, kTokens, 128}),
                                      Scalar("0."),
                                      Scalar("True"),
                                      Scalar("False"),
                                      Scalar("0.088388347648318447")};
    program_.InOp("aten::_scaled_dot_product_flash_attention", inputs, [&] {
      program_.InOp("aten::_flash_attention_forward", inputs, [&] {
        Empty(kActivationBytes / 8);
        Empty(kHeads * kTokens * 4);
        builder_.LaunchKernel(kFlash);
      });
    });
  }

  void FlashBackward() {
    program_.InOp("aten::_flash_attention_backward",
                  {Tensor({1, kTokens, kHeads, 128}), Tensor({1, kTokens, kHeads, 128}),
                   Tensor({1, kTokens, kHeads, 128}), Tensor({1, kTokens, kHeads, 128}),
                   Tensor({1, kHeads, kTokens}), Scalar("4096"), Scalar("4096"), Scalar("0."),
                   Scalar("True")},
                  [&] {
                    for (int part = 0; part < 3; ++part) {
                      Empty(kActivationBytes / 8);
                    }
                    builder_.LaunchSet(kActivationBytes / 4);
                    builder_.LaunchKernel(kFlash);
                    builder_.LaunchKernel(kCopyKernel);
                  });
    for (int block = 0; block < 6; ++block) {
      builder_.FreeOldest();
    }
  }

  void AllReduce() {
    const std::int64_t elements = kTokens * kHidden;
    program_.BuiltIn(
        "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py(2806): "
        "all_reduce");
    program_.InOp(
        "c10d::allreduce_",
        {OpInput{{}, "TensorList", ""}, None(), None(), None(), Scalar("False"), Scalar("-1")},
        [&] {
          const int record = builder_.BeginOp(
              "record_param_comms",
              {Tensor({kTokens, 1, kHidden}), Scalar("337"), None(), Scalar("0"),
               Scalar("allreduce"), None(), None(), Scalar("0"), Scalar("1"), Scalar("8")});
          builder_.op(record).arguments += fmt::format(
              "\"Process Group Name\": \"1\", \"Global rank stride\": 1, \"Out msg nelems\": {0}, "
              "\"Process Group Ranks\": \"[0, 1, 2, 3, 4, 5, 6, 7]\", \"Group size\": 8, \"Global "
              "rank "
              "start\": 0, \"In msg nelems\": {0}, \"In split size\": \"[]\", \"Out split size\": "
              "\"[]\", \"dtype\": \"BFloat16\", \"Process Group Description\": "
              "\"tensor_parallel\", "
              "\"Collective name\": \"allreduce\", ",
              elements);
          builder_.Call("cudaStreamIsCapturing", 317);
          builder_.Call("cudaEventRecord", 135);
          builder_.Call("cudaStreamWaitEvent", 147);
          builder_.LaunchCollective(
              "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
              "allreduce", elements, 310'000);
          builder_.Call("cudaEventRecord", 135);
          builder_.EndOp(record);
        });
    // The caller waits for the result: later kernels of the compute stream come after it.
    builder_.Call("cudaStreamWaitEvent", 147);
  }

  void Layer() {
    program_.InModule("TransformerLayer", "transformer/transformer_layer.py", 381, [&] {
      Norm();
      program_.InModule("SelfAttention", "transformer/attention.py", 296, [&] {
        Linear(3072);
        RotaryEmbedding();  // of the queries
        RotaryEmbedding();  // of the keys
        Attention();
        Linear(1024);
        AllReduce();
      });
      Elementwise("aten::add", "AddBackward0", kAdd);
      Norm();
      program_.InModule("MLP", "transformer/mlp.py", 98, [&] {
        Linear(4096);
        Elementwise("aten::gelu", "GeluBackward0", kGelu);
        Linear(1024);
        AllReduce();
      });
      Elementwise("aten::add", "AddBackward0", kAdd);
    });
  }

  void Forward() {
    const int range = builder_.BeginAnnotation("forward");
    program_.InOp("aten::to", {Tensor({1, kTokens}), Scalar("cuda:0")}, [&] {
      program_.InOp("aten::copy_", {Tensor({1, kTokens}), Tensor({1, kTokens}), Scalar("True")},
                    [&] { builder_.LaunchCopy("Memcpy HtoD (Pinned -> Device)", kTokens * 8); });
    });
    program_.InModule("GPTModel", "models/gpt/gpt_model.py", 190, [&] {
      for (int layer = 0; layer < num_layers_; ++layer) {
        Layer();
      }
      Linear(kVocabulary);
    });
    builder_.EndOp(range);
    builder_.MirrorOnDevice(range);
  }

  void Backward() {
    const int range = builder_.BeginAnnotation("backward");
    program_.InPython("/usr/local/lib/python3.12/dist-packages/torch/_tensor.py(570): backward",
                      [&] { program_.UndoAll(); });
    builder_.EndOp(range);
    builder_.MirrorOnDevice(range);
  }

  void Optimizer() {
    const int range = builder_.BeginAnnotation("Optimizer.step#AdamW.step");
    for (int group = 0; group < num_layers_ / 4 + 1; ++group) {
      std::vector<OpInput> inputs(6, OpInput{{}, "TensorList", ""});
      for (const char* value : {"1.0000000000000001e-05", "0.90000000000000002", "0.999", "0.01",
                                "1e-08", "False", "False"}) {
        inputs.push_back(Scalar(value));
      }
      program_.InOp("aten::_fused_adamw_", inputs, [&] { builder_.LaunchKernel(kAdam); });
    }
    builder_.EndOp(range);
    builder_.MirrorOnDevice(range);
  }

  void ReadLoss() {
    program_.InOp("aten::item", {Tensor({})}, [&] {
      program_.InOp("aten::_local_scalar_dense", {Tensor({})}, [&] {
        builder_.LaunchCopy("Memcpy DtoH (Device -> Pinned)", 2);
        builder_.WaitForDevice();
      });
    });
  }

  int num_layers_;
  StepBuilder builder_;
  ProgramRecorder program_{builder_};
};

}  // namespace

TrainingStep MakeTransformerStep(int num_layers, std::uint64_t seed) {
  return TransformerStep(num_layers, seed).Make();
}

}  // namespace orrery::bench
