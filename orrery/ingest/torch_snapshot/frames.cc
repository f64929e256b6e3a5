#include "orrery/ingest/torch_snapshot/frames.h"

#include <fmt/core.h>

namespace orrery::ingest::torch_snapshot {
namespace {

constexpr std::size_t kMaxFrameBytes = 1 << 10;
constexpr std::size_t kMaxStackBytes = 64 << 10;
constexpr std::size_t kMaxTotalBytes = 1 << 30;

}  // namespace

StringId Frames::StackOf(PickleValue item) {
  const auto frames = data_->Find(item, "frames");
  if (!frames || data_->List(*frames).empty()) {
    return StringId::kEmpty;
  }
  const auto [known, is_new] = text_of_stack_.try_emplace(frames->payload(), StringId::kEmpty);
  if (!is_new) {
    return known->second;
  }
  if (total_bytes_ > kMaxTotalBytes) {
    ++num_left_out_;
    return StringId::kEmpty;
  }
  text_.clear();
  for (const PickleValue frame : data_->List(*frames)) {
    if (text_.size() > kMaxStackBytes) {
      break;
    }
    text_ += text_.empty() ? "" : "\n";
    text_ += strings_->View(FrameText(frame));
  }
  total_bytes_ += text_.size();
  const StringId stack = strings_->Intern(text_);
  text_of_stack_[frames->payload()] = stack;
  return stack;
}

StringId Frames::FrameText(PickleValue frame) {
  if (frame.kind() != PickleValue::Kind::kDict) {
    return StringId::kEmpty;
  }
  const auto [known, is_new] = text_of_frame_.try_emplace(frame.payload(), StringId::kEmpty);
  if (is_new) {
    const std::string text =
        fmt::format("{} {}:{}", data_->TextAt(frame, "name").substr(0, kMaxFrameBytes),
                    data_->TextAt(frame, "filename").substr(0, kMaxFrameBytes),
                    data_->IntegerAt(frame, "line", 0));
    text_of_frame_[frame.payload()] = strings_->Intern(text);
  }
  return text_of_frame_[frame.payload()];
}

}  // namespace orrery::ingest::torch_snapshot
