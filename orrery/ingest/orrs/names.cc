#include "orrery/ingest/orrs/names.h"

#include <string>

#include <fmt/core.h>

namespace orrery::ingest::orrs {

void Names::Add(const stream::String& string) {
  text_of_string_[string.id] = strings_->Intern(string.text);
}

void Names::Add(const stream::Stack& stack) {
  frames_of_stack_[stack.id].assign(stack.frames.begin(), stack.frames.end());
}

void Names::Add(const stream::Function& function) {
  name_of_function_[function.id] = function.name;
}

StringId Names::Text(std::uint64_t id) {
  if (id == 0) {
    return StringId::kEmpty;
  }
  const auto known = text_of_string_.find(id);
  if (known != text_of_string_.end()) {
    return known->second;
  }
  ++num_missing_;
  const StringId text = strings_->Intern(fmt::format("string {}", id));
  text_of_string_[id] = text;
  return text;
}

StringId Names::Stack(std::uint64_t id) {
  if (id == 0) {
    return StringId::kEmpty;
  }
  if (const auto known = text_of_stack_.find(id); known != text_of_stack_.end()) {
    return known->second;
  }
  std::string text;
  if (const auto frames = frames_of_stack_.find(id); frames != frames_of_stack_.end()) {
    for (const std::uint64_t frame : frames->second) {
      text += text.empty() ? "" : "\n";
      text += strings_->View(Text(frame));
    }
  } else {
    ++num_missing_;
    text = fmt::format("stack {}", id);
  }
  return text_of_stack_[id] = strings_->Intern(text);
}

StringId Names::Function(std::uint64_t id) {
  if (const auto known = name_of_function_.find(id); known != name_of_function_.end()) {
    return Text(known->second);
  }
  ++num_missing_;
  return strings_->Intern(fmt::format("function {}", id));
}

}  // namespace orrery::ingest::orrs
