#include "orrery/report/kernel_name.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/text.h"
#include "orrery/draw/format.h"

namespace orrery::report {
namespace {

constexpr int kDeepest = 48;  // of template arguments; names come from files

/// Templates that run whatever functor or kernel they are given, and what is said of them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kLaunchers{
    {{"elementwise_kernel", ""},
     {"vectorized_elementwise_kernel", "vectorized"},
     {"unrolled_elementwise_kernel", "unrolled"},
     {"multi_tensor_apply_kernel", "multi-tensor"},
     {"reduce_kernel", "reduce"},
     {"gpu_kernel_impl", ""},
     {"gpu_kernel_impl_nocast", ""},
     {"ReduceOp", ""},
     {"func_wrapper_t", ""},
     {"Kernel", ""},
     {"Kernel2", ""}}};

/// Arguments that every instance of a launcher has, by their names.
constexpr std::string_view kSameForAll =
    " array Array TrivialOffsetCalculator OffsetCalculator LoadWithoutCast StoreWithoutCast ";

bool IsSameForAll(std::string_view argument) {
  const std::string stem(argument.substr(0, argument.find('<')));
  return argument.ends_with('*') || argument.ends_with('&') || stem.ends_with("ListMetadata") ||
         kSameForAll.find(" " + stem + " ") != std::string_view::npos;
}

bool IsNumber(std::string_view argument) {
  return argument == "true" || argument == "false" ||
         (!argument.empty() && (argument[0] == '-' || (argument[0] >= '0' && argument[0] <= '9')));
}

/// Reads a C++ name from left to right, and keeps of each qualified name its last component: that
/// around a lambda, if there is one.
class NameReader {
 public:
  NameReader(std::string_view text, bool keeps_numbers)
      : text_(text), keeps_numbers_(keeps_numbers) {}

  /// Returns nothing (empty) where the text is no such name.
  std::string ReadAll() {
    std::string name = Read(0);
    return at_ == text_.size() && !is_wrong_ ? name : std::string();
  }

 private:
  // Up to a ',' or '>' that belongs to a template around it.
  std::string Read(int depth) {
    is_wrong_ = is_wrong_ || depth > kDeepest;
    std::string part;
    bool is_called = false;  // a parameter list came: the rest is inside the function
    bool is_final = false;
    while (at_ < text_.size() && !is_wrong_ && !StartsWith(",") && !StartsWith(">")) {
      const char letter = text_[at_];
      if (letter == '(' || letter == '{') {
        is_called = !part.empty();
        SkipGroup(letter, letter == '(' ? ')' : '}');
      } else if (StartsWith("::")) {
        at_ += 2;
        is_final = is_final || is_called || StartsWith("operator");
        part = is_final ? part : std::string();
      } else if (letter == '<') {
        ++at_;
        const std::string arguments = ReadArguments(Trimmed(part), depth);
        part = is_final ? part : arguments;
      } else {
        part.append(is_final || is_called ? 0 : 1, letter);
        ++at_;
      }
    }
    return std::string(Trimmed(part));
  }

  [[nodiscard]] bool StartsWith(std::string_view word) const {
    return text_.substr(at_).starts_with(word);
  }

  // The template with its arguments, from behind '<' to behind '>'.
  std::string ReadArguments(std::string_view name, int depth) {
    std::vector<std::string> arguments;
    while (at_ < text_.size() && !is_wrong_ && text_[at_] != '>') {
      std::string argument = Read(depth + 1);
      const bool is_dropped = argument.empty() || IsSameForAll(argument) ||
                              (!keeps_numbers_ && IsNumber(argument)) ||
                              std::ranges::count(arguments, argument) > 0;
      if (!is_dropped) {
        arguments.push_back(std::move(argument));
      }
      at_ += at_ < text_.size() && text_[at_] == ',' ? 1 : 0;
    }
    is_wrong_ = is_wrong_ || at_ >= text_.size();
    ++at_;
    return Template(name, arguments, depth);
  }

  [[nodiscard]] std::string Template(std::string_view name,
                                     const std::vector<std::string>& arguments, int depth) const {
    if (arguments.empty()) {
      return std::string(name);
    }
    const auto* const launcher =
        std::ranges::find(kLaunchers, name, [](const auto& entry) { return entry.first; });
    if (launcher != kLaunchers.end()) {
      std::string functor = *std::ranges::max_element(arguments, {}, &std::string::size);
      if (depth == 0 && !launcher->second.empty()) {
        functor.append(", ").append(launcher->second);
      }
      for (const std::string& argument : arguments) {
        functor.append(IsNumber(argument) ? " " + argument : "");
      }
      return functor;
    }
    std::string text(name);
    for (const std::string& argument : arguments) {
      text.append(&argument == &arguments.front() ? "<" : ", ").append(argument);
    }
    return text + ">";
  }

  void SkipGroup(char open, char close) {
    int depth = 0;
    do {
      depth += text_[at_] == open ? 1 : text_[at_] == close ? -1 : 0;
      ++at_;
    } while (depth > 0 && at_ < text_.size());
    is_wrong_ = is_wrong_ || depth > 0;
  }

  std::string_view text_;
  bool keeps_numbers_;
  std::size_t at_ = 0;
  bool is_wrong_ = false;
};

}  // namespace

std::string ShortKernelName(std::string_view name, bool keeps_numbers) {
  constexpr std::string_view kReturnType = "void ";
  constexpr std::string_view kCudnn = "cudnn_generated_fort_native_";
  std::string_view text = name;
  for (const std::string_view prefix : {kReturnType, kCudnn}) {
    text.remove_prefix(text.starts_with(prefix) ? prefix.size() : 0);
  }
  const bool is_formula = text.find('=') != std::string_view::npos;  // XLA: "%dot = bf16[8]{0} …"
  std::string read = is_formula ? "" : NameReader(text, keeps_numbers).ReadAll();
  return read.empty() ? std::string(text) : read;
}

std::vector<std::string> ShortKernelNames(const std::vector<std::string_view>& names) {
  std::vector<std::string> shorts;
  std::map<std::string, int> count;
  for (const std::string_view name : names) {
    ++count[shorts.emplace_back(ShortKernelName(name))];
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (count[shorts[i]] > 1) {
      shorts[i] = ShortKernelName(names[i], true);
    }
  }
  return shorts;
}

std::string FittedName(const std::string& name, std::size_t width) {
  constexpr std::size_t kTail = 14;
  const bool is_plain = std::ranges::none_of(
      name, [](char letter) { return letter == '<' || static_cast<signed char>(letter) < 0; });
  if (!is_plain || name.size() <= width || width < 2 * kTail) {
    return draw::Truncated(name, width);
  }
  return name.substr(0, width - kTail - 1) + "…" + name.substr(name.size() - kTail);
}

}  // namespace orrery::report
