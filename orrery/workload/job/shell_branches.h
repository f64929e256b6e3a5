#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::workload {

/// Says if a shell runs a statement; unknown where that depends on the environment of a script.
enum class Runs : std::uint8_t { kNo, kUnknown, kYes };

/// The value of "[ A = B ]" and of the other comparisons of two words, or of "-n A" and "-z A";
/// unknown for all else and where a word has no known value ("$NAME").
[[nodiscard]] Runs ConditionValue(std::span<const std::string> words);

/// The branches of `if`, `case` and loops around a statement.
class ShellBranches {
 public:
  /// Takes a keyword at the beginning of a statement; `condition` follows it. False for other
  /// words.
  bool Take(std::string_view keyword, Runs condition);

  /// Says if the next statement runs.
  [[nodiscard]] Runs runs() const;

 private:
  struct Branch {
    Runs runs = Runs::kUnknown;
    Runs earlier = Runs::kNo;  // says if a branch before it ran
  };

  std::vector<Branch> open_;
};

}  // namespace orrery::workload
