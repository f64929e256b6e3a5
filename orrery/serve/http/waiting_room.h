#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "orrery/serve/http/connection.h"

namespace orrery::serve {

/// Connections that are not being answered: those whose next head is not there yet, and those that
/// are closed as soon as their peer has read why. One thread looks after all of them, so that who
/// is slow, or says nothing, takes no thread from others. Where too many wait, the one that has
/// waited longest goes; those who have shown the token are counted apart, so that others cannot
/// crowd them out.
class WaitingRoom {
 public:
  using Guest = std::shared_ptr<Connection>;

  static constexpr std::size_t kMostStrangers = 256;
  static constexpr std::size_t kMostKnown = 64;
  static constexpr std::size_t kMostLeaving = 256;

  /// `on_end` is told how connections ended; `stop_event`, a file descriptor, ends all.
  WaitingRoom(int stop_event, std::function<void(Connection::End)> on_end);
  ~WaitingRoom();
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  /// Begins to call `serve` for each connection with a whole head; it must not wait. Once.
  void Open(std::function<void(const Guest&)> serve);

  /// Takes the socket of a new connection.
  void Add(int socket);

  /// Takes back a connection after an answer. `stays`: another request may follow.
  void Return(const Guest& guest, bool stays);

  /// Closes all that wait. Those that are being answered are closed when they return.
  void Close();

  /// That wait or are being answered.
  [[nodiscard]] int num_connections() const { return num_connections_; }

 private:
  struct Seat {
    Guest guest;
    bool is_leaving = false;
    bool is_done = false;  // goes elsewhere
  };

  void Run();
  [[nodiscard]] bool Wait();
  void Look(Seat& seat);
  void Leave(Seat& seat);
  void Drop(Seat& seat);
  void MakeRoom();
  void Wake() const;

  int stop_event_;
  int wake_event_;
  std::function<void(Connection::End)> on_end_;
  std::function<void(const Guest&)> serve_;
  std::vector<Seat> seats_;  // those that wait longest first
  std::mutex mutex_;         // of the next two
  std::vector<Seat> arrived_;
  bool is_closed_ = false;
  std::atomic<int> num_connections_ = 0;
  std::thread thread_;
};

}  // namespace orrery::serve
