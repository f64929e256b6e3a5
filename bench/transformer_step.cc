#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/kernel_shapes.h"
#include "bench/step_builder.h"
#include "bench/training_step.h"

namespace orrery::bench {

namespace {

constexpr std::int64_t kTokens = 4096;
constexpr std::int64_t kHidden = 8192;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kVocabulary = 16032;
constexpr std::int64_t kActivationBytes = kTokens * kHidden * 2;

constexpr std::string_view kBf16 = "c10::BFloat16";

OpInput Tensor(std::vector<std::int64_t> dims) {
  return {std::move(dims), kBf16, ""};
}

OpInput Scalar(std::string_view value) {
  return {{}, "Scalar", value};
}

OpInput IntList(std::string_view value) {
  return {{}, "ScalarList", value};
}

OpInput None() {
  return {{}, "", ""};
}

/// Writes one step as a program would run it, remembering what autograd has to undo.
class TransformerStep {
 public:
  TransformerStep(int num_layers, std::uint64_t seed) : num_layers_(num_layers), builder_(seed) {}

  TrainingStep Make() {
    const int step = builder_.BeginAnnotation("ProfilerStep#");
    InPython("/workspace/megatron-lm/megatron/training/training.py(1523): train", -1, [&] {
      InPython("/workspace/megatron-lm/megatron/training/training.py(772): train_step", -1, [&] {
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
  using Body = std::function<void()>;

  struct TapeEntry {
    std::string name;
    int sequence;
    Body undo;
  };

  void InPython(std::string name, int module_id, const Body& body) {
    const int call = builder_.BeginPython(std::move(name), module_id);
    body();
    builder_.EndPython(call);
  }

  void InOp(std::string name, const std::vector<OpInput>& inputs, const Body& body) {
    const int op = builder_.BeginOp(std::move(name), inputs);
    body();
    builder_.EndOp(op);
  }

  void Op(std::string name, const std::vector<OpInput>& inputs) {
    InOp(std::move(name), inputs, [] {});
  }

  // An operator that autograd records: its backward runs `undo`.
  void GradOp(const std::string& name, const std::vector<OpInput>& inputs, std::string backward,
              const Body& body, Body undo) {
    const int op = builder_.BeginOp(name, inputs);
    builder_.op(op).sequence = builder_.NextSequence();
    builder_.op(op).arrow = ArrowEnd::kForward;
    tape_.push_back({std::move(backward), builder_.op(op).sequence, std::move(undo)});
    body();
    builder_.EndOp(op);
  }

  // The frames around each nn.Module call.
  void InModule(std::string_view type, std::string_view file, int line, const Body& body) {
    const int id = num_modules_++;
    InPython(fmt::format("nn.Module: {}_{}", type, id), id, [&] {
      InPython(
          "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py(1769): "
          "_wrapped_call_impl",
          -1, [&] {
            InPython(
                "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py(1780): "
                "_call_impl",
                -1, [&] {
                  BuiltIn(
                      "<built-in method _get_tracing_state of PyCapsule object at 0x7bcd0476bb40>");
                  InPython(fmt::format("/workspace/megatron-lm/megatron/core/{}({}): forward", file,
                                       line),
                           -1, body);
                });
          });
    });
  }

  void BuiltIn(std::string name) {
    InPython(std::move(name), -1, [] {});
  }

  void GetAttribute() {
    BuiltIn(
        "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py(1952): "
        "__getattr__");
  }

  void Empty(std::int64_t bytes) {
    InOp("aten::empty",
         {IntList("[4096, 8192]"), Scalar("15"), Scalar("0"), None(), Scalar("False"), None()},
         [&] { builder_.Allocate(bytes); });
  }

  void View() { Op("aten::view", {Tensor({kTokens, 1, kHidden}), IntList("[4096, 8192]")}); }

  void Transpose(std::int64_t rows) {
    InOp("aten::t", {Tensor({rows, kHidden})}, [&] {
      InOp("aten::transpose", {Tensor({rows, kHidden}), Scalar("0"), Scalar("1")}, [&] {
        Op("aten::as_strided",
           {Tensor({rows, kHidden}), IntList("[8192, 3072]"), IntList("[1, 8192]"), None()});
      });
    });
  }

  void MatrixProduct(std::int64_t columns) {
    InOp("aten::mm", {Tensor({kTokens, kHidden}), Tensor({kHidden, columns})}, [&] {
      builder_.Allocate(kTokens * columns * 2);
      builder_.Call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 217);
      builder_.LaunchKernel(kGemm);
    });
  }

  void Linear(std::int64_t columns) {
    InModule("ColumnParallelLinear", "tensor_parallel/layers.py", 1013, [&] {
      GetAttribute();
      GetAttribute();
      InPython(
          "/workspace/megatron-lm/megatron/core/tensor_parallel/layers.py(634): "
          "linear_with_grad_accumulation_and_async_allreduce",
          -1, [&] {
            BuiltIn("<built-in method apply of FunctionMeta object at 0x55d0c1b2e8a0>");
            GradOp(
                "LinearWithGradAccumulationAndAsyncCommunication",
                {Tensor({kTokens, 1, kHidden}), Tensor({columns, kHidden}), None(), Scalar("True"),
                 Scalar("False"), Scalar("False"), Scalar("False"), None(), Scalar("True")},
                "LinearWithGradAccumulationAndAsyncCommunicationBackward",
                [&] {
                  InOp("aten::matmul", {Tensor({kTokens, 1, kHidden}), Tensor({kHidden, columns})},
                       [&] {
                         Transpose(columns);
                         View();
                         MatrixProduct(columns);
                         Op("aten::_unsafe_view",
                            {Tensor({kTokens, columns}), IntList("[4096, 1, 3072]")});
                       });
                },
                [this, columns] { UndoLinear(columns); });
          });
    });
  }

  void UndoLinear(std::int64_t columns) {
    InOp("aten::matmul", {Tensor({kTokens, 1, columns}), Tensor({columns, kHidden})}, [&] {
      View();
      MatrixProduct(kHidden);
    });
    Transpose(kTokens);
    MatrixProduct(columns);
    builder_.FreeOldest();
    builder_.FreeOldest();
    InOp("aten::add_", {Tensor({columns, kHidden}), Tensor({columns, kHidden}), Scalar("1")},
         [&] { builder_.LaunchKernel(kAdd); });
  }

  void Norm() {
    InModule("FusedLayerNorm", "fusions/fused_layer_norm.py", 145, [&] {
      GetAttribute();
      BuiltIn("<built-in method layer_norm of type object at 0x7bcd86e1df60>");
      InOp("aten::layer_norm",
           {Tensor({kTokens, 1, kHidden}), IntList("[8192]"), Tensor({kHidden}), Tensor({kHidden}),
            Scalar("1.0000000000000001e-05"), Scalar("True")},
           [&] {
             GradOp(
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
                   InOp("aten::native_layer_norm_backward",
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
    BuiltIn(fmt::format("<built-in method {} of Tensor object at 0x7bc8d80b5c20>",
                        name.substr(name.find(':') + 2)));
    GradOp(
        name, {Tensor({kTokens, 1, kHidden}), Tensor({kTokens, 1, kHidden}), Scalar("1")}, backward,
        [&] {
          builder_.Allocate(kActivationBytes);
          builder_.LaunchKernel(kernel);
        },
        [this, kernel] {
          InOp("aten::mul", {Tensor({kTokens, 1, kHidden}), Tensor({kTokens, 1, kHidden})},
               [&] { builder_.LaunchKernel(kernel); });
          builder_.FreeOldest();
        });
  }

  // Cutting and turning of tensors: most operators of a real trace launch nothing.
  void RotaryEmbedding() {
    InPython(
        "/workspace/megatron-lm/megatron/core/models/common/embeddings/rope_utils.py(232): "
        "apply_rotary_pos_emb",
        -1, [&] {
          const OpInput heads = Tensor({kTokens, 1, kHeads, 128});
          for (int half = 0; half < 2; ++half) {
            BuiltIn("<built-in method chunk of type object at 0x7bcd86e1df60>");
            InOp("aten::chunk", {heads, Scalar("2"), Scalar("-1")}, [&] {
              InOp("aten::split", {heads, Scalar("64"), Scalar("-1")}, [&] {
                for (int part = 0; part < 2; ++part) {
                  InOp("aten::narrow", {heads, Scalar("-1"), Scalar("64"), Scalar("64")}, [&] {
                    InOp("aten::slice",
                         {heads, Scalar("-1"), Scalar("64"), Scalar("128"), Scalar("1")}, [&] {
                           Op("aten::as_strided", {heads, IntList("[4096, 1, 8, 64]"),
                                                   IntList("[1024, 1024, 128, 1]"), Scalar("64")});
                         });
                  });
                }
              });
            });
            BuiltIn("<built-in method reshape of Tensor object at 0x7bc8d80b5c20>");
            InOp("aten::reshape", {heads, IntList("[4096, 1, 8, 2, 64]")}, [&] {
              Op("aten::_reshape_alias",
                 {heads, IntList("[4096, 1, 8, 2, 64]"), IntList("[8192, 8192, 1024, 64, 1]")});
            });
            BuiltIn("<built-in method expand_as of Tensor object at 0x7bc8d80b6170>");
            InOp("aten::expand_as", {Tensor({kTokens, 1, 1, 128}), heads}, [&] {
              InOp("aten::expand",
                   {Tensor({kTokens, 1, 1, 128}), IntList("[4096, 1, 8, 128]"), Scalar("False")},
                   [&] {
                     Op("aten::as_strided",
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
    InModule("DotProductAttention", "transformer/dot_product_attention.py", 153, [&] {
      for (int part = 0; part < 3; ++part) {
        GetAttribute();
        BuiltIn("<built-in method permute of Tensor object at 0x7bc8d80b5b30>");
        Op("aten::permute", {Tensor({1, kTokens, kHeads, 128}), IntList("[1, 0, 2, 3]")});
        InOp("aten::contiguous", {Tensor({1, kHeads, kTokens, 128}), Scalar("0")}, [&] {
          InOp("aten::clone", {Tensor({1, kHeads, kTokens, 128}), Scalar("0")}, [&] {
            Empty(kActivationBytes / 8);
            InOp("aten::copy_",
                 {Tensor({1, kHeads, kTokens, 128}), Tensor({1, kHeads, kTokens, 128}),
                  Scalar("False")},
                 [&] { builder_.LaunchKernel(kCopyKernel); });
          });
        });
      }
      BuiltIn("<built-in function scaled_dot_product_attention>");
      GradOp(
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
    InOp("aten::_scaled_dot_product_flash_attention", inputs, [&] {
      InOp("aten::_flash_attention_forward", inputs, [&] {
        Empty(kActivationBytes / 8);
        Empty(kHeads * kTokens * 4);
        builder_.LaunchKernel(kFlash);
      });
    });
  }

  void FlashBackward() {
    InOp("aten::_flash_attention_backward",
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
    BuiltIn(
        "/usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py(2806): "
        "all_reduce");
    InOp("c10d::allreduce_",
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
  }

  void Layer() {
    InModule("TransformerLayer", "transformer/transformer_layer.py", 381, [&] {
      Norm();
      InModule("SelfAttention", "transformer/attention.py", 296, [&] {
        Linear(3072);
        RotaryEmbedding();  // of the queries
        RotaryEmbedding();  // of the keys
        Attention();
        Linear(1024);
        AllReduce();
      });
      Elementwise("aten::add", "AddBackward0", kAdd);
      Norm();
      InModule("MLP", "transformer/mlp.py", 98, [&] {
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
    InOp("aten::to", {Tensor({1, kTokens}), Scalar("cuda:0")}, [&] {
      InOp("aten::copy_", {Tensor({1, kTokens}), Tensor({1, kTokens}), Scalar("True")},
           [&] { builder_.LaunchCopy("Memcpy HtoD (Pinned -> Device)", kTokens * 8); });
    });
    InModule("GPTModel", "models/gpt/gpt_model.py", 190, [&] {
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
    InPython("/usr/local/lib/python3.12/dist-packages/torch/_tensor.py(570): backward", -1, [&] {
      builder_.set_thread(Thread::kAutograd);
      for (std::size_t left = tape_.size(); left > 0; --left) {
        Undo(tape_[left - 1]);
      }
      builder_.FreeAll();
      builder_.set_thread(Thread::kMain);
    });
    builder_.EndOp(range);
    builder_.MirrorOnDevice(range);
  }

  void Undo(const TapeEntry& entry) {
    const int engine = builder_.BeginOp("autograd::engine::evaluate_function: " + entry.name, {});
    builder_.op(engine).sequence = entry.sequence;
    builder_.op(engine).arguments.clear();
    const int op = builder_.BeginOp(entry.name, {Tensor({kTokens, 1, kHidden})});
    builder_.op(op).sequence = entry.sequence;
    builder_.op(op).arrow = ArrowEnd::kBackward;
    entry.undo();
    builder_.EndOp(op);
    builder_.EndOp(engine);
  }

  void Optimizer() {
    const int range = builder_.BeginAnnotation("Optimizer.step#AdamW.step");
    for (int group = 0; group < num_layers_ / 4 + 1; ++group) {
      std::vector<OpInput> inputs(6, OpInput{{}, "TensorList", ""});
      for (const char* value : {"1.0000000000000001e-05", "0.90000000000000002", "0.999", "0.01",
                                "1e-08", "False", "False"}) {
        inputs.push_back(Scalar(value));
      }
      InOp("aten::_fused_adamw_", inputs, [&] { builder_.LaunchKernel(kAdam); });
    }
    builder_.EndOp(range);
    builder_.MirrorOnDevice(range);
  }

  void ReadLoss() {
    InOp("aten::item", {Tensor({})}, [&] {
      InOp("aten::_local_scalar_dense", {Tensor({})}, [&] {
        builder_.LaunchCopy("Memcpy DtoH (Device -> Pinned)", 2);
        builder_.WaitForDevice();
      });
    });
  }

  int num_layers_;
  int num_modules_ = 0;
  StepBuilder builder_;
  std::vector<TapeEntry> tape_;
};

}  // namespace

TrainingStep MakeTransformerStep(int num_layers, std::uint64_t seed) {
  return TransformerStep(num_layers, seed).Make();
}

}  // namespace orrery::bench
