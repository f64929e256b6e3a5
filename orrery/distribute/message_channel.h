#pragma once

#include <optional>
#include <string>

namespace orrery::distribute {

/// Bytes from another process.
struct Message {
  int from = 0;
  std::string bytes;
};

/// Carries messages between the processes of a run. Used by one thread of each process. Messages of
/// one process to another arrive in their order.
class MessageChannel {
 public:
  MessageChannel() = default;
  MessageChannel(const MessageChannel&) = delete;
  MessageChannel& operator=(const MessageChannel&) = delete;
  virtual ~MessageChannel() = default;

  [[nodiscard]] virtual int rank() const = 0;  // of this process
  [[nodiscard]] virtual int num_processes() const = 0;
  /// The number of processes that share the cores of this machine, this one included.
  [[nodiscard]] virtual int num_local_processes() const = 0;
  /// "process 3 on node-17".
  [[nodiscard]] virtual std::string name() const = 0;

  /// Sends without waiting for the receiver.
  virtual void Send(int to, std::string bytes) = 0;

  /// Returns a message that has arrived, or nothing; does not wait.
  [[nodiscard]] virtual std::optional<Message> Receive() = 0;

  /// Waits until all messages of this process are received and all processes close.
  virtual void Close() = 0;
};

}  // namespace orrery::distribute
