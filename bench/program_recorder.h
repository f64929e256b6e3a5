#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/step_builder.h"

namespace orrery::bench {

/// Records a step the way a PyTorch program runs: frames of Python around operators, and a tape of
/// what autograd has to undo.
class ProgramRecorder {
 public:
  using Body = std::function<void()>;

  explicit ProgramRecorder(StepBuilder& builder) : builder_(builder) {}

  void InPython(std::string name, const Body& body);

  /// The frames around the call of an nn.Module.
  void InModule(std::string_view type, std::string_view file, int line, const Body& body);

  /// A Python function that calls nothing.
  void BuiltIn(std::string name);
  void GetAttribute();

  void InOp(std::string name, const std::vector<OpInput>& inputs, const Body& body);
  void Op(std::string name, const std::vector<OpInput>& inputs);

  /// An operator that autograd records; the backward pass runs `undo` under the name `backward`.
  void GradOp(std::string name, const std::vector<OpInput>& inputs, std::string backward,
              const Body& body, Body undo);

  /// The backward pass: the tape from its end, on the autograd thread.
  void UndoAll();

 private:
  struct TapeEntry {
    std::string name;
    int sequence;
    Body undo;
  };

  void Undo(const TapeEntry& entry);

  StepBuilder& builder_;
  int num_modules_ = 0;
  std::vector<TapeEntry> tape_;
};

[[nodiscard]] OpInput Tensor(std::vector<std::int64_t> dims);
[[nodiscard]] OpInput Scalar(std::string_view value);
[[nodiscard]] OpInput IntList(std::string_view value);
[[nodiscard]] OpInput None();

}  // namespace orrery::bench
