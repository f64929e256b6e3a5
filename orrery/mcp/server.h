#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/mcp/call_queue.h"
#include "orrery/mcp/folders.h"
#include "orrery/mcp/message.h"
#include "orrery/mcp/tool.h"

namespace orrery::mcp {

/// The longest message that is read.
inline constexpr std::size_t kLongestMessage = 4 << 20;

/// A server of the Model Context Protocol without its transport. Calls of tools run on a thread of
/// their own, one after the other; all else is answered at once.
class Server {
 public:
  /// Takes a message without its line end. Called by one thread at a time.
  using Send = std::function<void(const std::string& line)>;

  Server(std::vector<Tool> tools, Folders folders, std::string version, Send send);

  /// Handles one message. Call it from one thread.
  void Receive(std::string_view line);

  /// Waits for the calls that are under way.
  void Finish() { queue_.Finish(); }

 private:
  void Answer(const Message& message);
  void Notice(const Message& notification);
  [[nodiscard]] Value Initialize(const Value& params) const;
  [[nodiscard]] Value ListTools() const;
  void BeginCall(const Value& id, const Value& params);
  void RunCall(const Value& id, const Tool& tool, const Value& params,
               const std::atomic<bool>& stop);
  [[nodiscard]] api::Progress ReportTo(const Value& token);
  void SendLine(const std::string& line);

  std::vector<Tool> tools_;
  Folders folders_;
  std::string version_;
  Send send_;
  std::mutex mutex_;  // of send_
  api::Session session_;
  CallQueue queue_;  // last: its calls use the others
};

}  // namespace orrery::mcp
