#include "capture/sanitizer/host/left_out_nodes.h"

#include <algorithm>

namespace orrery::capture::sanitizer {

void LeftOutNodes::Add(const Node& node, std::string reason) {
  const std::lock_guard lock(mutex_);
  Group& group = groups_[{node.function, node.stream}];
  group.reason = std::move(reason);
  Note(node, group);
}

std::string LeftOutNodes::Join(const Node& node) {
  const std::lock_guard lock(mutex_);
  const auto found = groups_.find({node.function, node.stream});
  if (found == groups_.end()) {
    return {};
  }
  Note(node, found->second);
  return found->second.reason;
}

void LeftOutNodes::Note(const Node& node, Group& group) {
  if (std::find(group.open_graphs.begin(), group.open_graphs.end(), node.graph) ==
      group.open_graphs.end()) {
    group.open_graphs.push_back(node.graph);
  }
  group.wants_wait = group.wants_wait || node.could_be_counted;
}

bool LeftOutNodes::AreElsewhere(std::uint64_t function, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& entry) {
    return entry.first.first == function && entry.first.second != stream;
  });
}

bool LeftOutNodes::WantWait(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return std::any_of(groups_.begin(), groups_.end(), [&](const auto& entry) {
    return entry.first.second == stream && entry.second.wants_wait;
  });
}

void LeftOutNodes::EndGraph(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  for (auto& [place, group] : groups_) {
    std::erase(group.open_graphs, graph);
  }
}

void LeftOutNodes::OnPassed(std::optional<StreamHandle> stream) {
  const std::lock_guard lock(mutex_);
  std::erase_if(groups_, [&](const auto& entry) {
    return entry.second.open_graphs.empty() && (!stream || entry.first.second == *stream);
  });
}

}  // namespace orrery::capture::sanitizer
