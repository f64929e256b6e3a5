#include "bench/program_recorder.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/step_builder.h"
#include "bench/training_step.h"

namespace orrery::bench {

namespace {

constexpr std::string_view kModulePy =
    "/usr/local/lib/python3.12/dist-packages/torch/nn/modules/module.py";

}  // namespace

OpInput Tensor(std::vector<std::int64_t> dims) {
  return {std::move(dims), "c10::BFloat16", ""};
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

void ProgramRecorder::InPython(std::string name, const Body& body) {
  const int call = builder_.BeginPython(std::move(name));
  body();
  builder_.EndPython(call);
}

void ProgramRecorder::InModule(std::string_view type, std::string_view file, int line,
                               const Body& body) {
  const int id = num_modules_++;
  const int call = builder_.BeginPython(fmt::format("nn.Module: {}_{}", type, id), id);
  InPython(fmt::format("{}(1769): _wrapped_call_impl", kModulePy), [&] {
    InPython(fmt::format("{}(1780): _call_impl", kModulePy), [&] {
      BuiltIn("<built-in method _get_tracing_state of PyCapsule object at 0x7bcd0476bb40>");
      InPython(fmt::format("/workspace/megatron-lm/megatron/core/{}({}): forward", file, line),
               body);
    });
  });
  builder_.EndPython(call);
}

void ProgramRecorder::BuiltIn(std::string name) {
  InPython(std::move(name), [] {});
}

void ProgramRecorder::GetAttribute() {
  BuiltIn(fmt::format("{}(1952): __getattr__", kModulePy));
}

void ProgramRecorder::InOp(std::string name, const std::vector<OpInput>& inputs, const Body& body) {
  const int op = builder_.BeginOp(std::move(name), inputs);
  body();
  builder_.EndOp(op);
}

void ProgramRecorder::Op(std::string name, const std::vector<OpInput>& inputs) {
  InOp(std::move(name), inputs, [] {});
}

void ProgramRecorder::GradOp(std::string name, const std::vector<OpInput>& inputs,
                             std::string backward, const Body& body, Body undo) {
  const int op = builder_.BeginOp(std::move(name), inputs);
  builder_.op(op).sequence = builder_.NextSequence();
  builder_.op(op).arrow = ArrowEnd::kForward;
  tape_.push_back({std::move(backward), builder_.op(op).sequence, std::move(undo)});
  body();
  builder_.EndOp(op);
}

void ProgramRecorder::UndoAll() {
  builder_.set_thread(Thread::kAutograd);
  for (std::size_t left = tape_.size(); left > 0; --left) {
    Undo(tape_[left - 1]);
  }
  builder_.FreeAll();
  builder_.set_thread(Thread::kMain);
}

void ProgramRecorder::Undo(const TapeEntry& entry) {
  const int engine = builder_.BeginOp("autograd::engine::evaluate_function: " + entry.name, {});
  builder_.op(engine).sequence = entry.sequence;
  builder_.op(engine).arguments.clear();
  const int op = builder_.BeginOp(entry.name, {Tensor({4096, 1, 8192})});
  builder_.op(op).sequence = entry.sequence;
  builder_.op(op).arrow = ArrowEnd::kBackward;
  entry.undo();
  builder_.EndOp(op);
  builder_.EndOp(engine);
}

}  // namespace orrery::bench
