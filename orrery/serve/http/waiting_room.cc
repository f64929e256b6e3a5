#include "orrery/serve/http/waiting_room.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include "orrery/serve/http/connection.h"

namespace orrery::serve {

WaitingRoom::WaitingRoom(int stop_event, std::function<void(Connection::End)> on_end)
    : stop_event_(stop_event),
      wake_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      on_end_(std::move(on_end)) {}

WaitingRoom::~WaitingRoom() {
  Close();
  close(wake_event_);
}

void WaitingRoom::Open(std::function<void(const Guest&)> serve) {
  serve_ = std::move(serve);
  thread_ = std::thread([this] { Run(); });
}

void WaitingRoom::Add(int socket) {
  ++num_connections_;
  Return(std::make_shared<Connection>(socket, stop_event_, ConnectionLimits()), true);
}

void WaitingRoom::Return(const Guest& guest, bool stays) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) {
    --num_connections_;
    return;
  }
  if (!stays) {
    guest->BeginToLeave();
  }
  arrived_.push_back({.guest = guest, .is_leaving = !stays});
  Wake();
}

void WaitingRoom::Close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    Wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void WaitingRoom::Wake() const {
  eventfd_write(wake_event_, 1);
}

void WaitingRoom::Run() {
  while (Wait()) {
    for (Seat& seat : seats_) {
      Look(seat);
    }
    std::erase_if(seats_, [](const Seat& seat) { return seat.is_done; });
    MakeRoom();
  }
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  num_connections_ -= static_cast<int>(seats_.size() + arrived_.size());
  seats_.clear();
  arrived_.clear();
}

// Until a byte has come, a deadline is over or somebody arrives. False: all is over.
bool WaitingRoom::Wait() {
  std::vector<pollfd> waits = {{stop_event_, POLLIN, 0}, {wake_event_, POLLIN, 0}};
  auto next = Connection::Clock::now() + std::chrono::hours(1);
  for (const Seat& seat : seats_) {
    waits.push_back({seat.guest->socket(), POLLIN, 0});
    next = std::min(next, seat.guest->deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Connection::Clock::now());
  const int num_ready =
      poll(waits.data(), waits.size(), static_cast<int>(std::max<long long>(left.count(), 0)));
  if (num_ready < 0 && errno != EINTR) {
    return false;
  }
  eventfd_t ignored = 0;
  eventfd_read(wake_event_, &ignored);
  const std::lock_guard lock(mutex_);
  std::ranges::move(std::exchange(arrived_, {}), std::back_inserter(seats_));
  return !is_closed_ && (num_ready < 0 || waits[0].revents == 0);
}

// Receives to find out if anything has come.
void WaitingRoom::Look(Seat& seat) {
  Connection& guest = *seat.guest;
  const bool is_over = guest.deadline() <= Connection::Clock::now();
  if (seat.is_leaving) {
    if (is_over || !guest.IsLeaving()) {
      Drop(seat);
    }
    return;
  }
  const Connection::Head head = guest.Receive();
  if (head == Connection::Head::kWhole) {
    seat.is_done = true;
    serve_(seat.guest);
  } else if (head == Connection::Head::kNone) {
    Leave(seat);
  } else if (is_over) {
    guest.GiveUp();
    Leave(seat);
  }
}

void WaitingRoom::Leave(Seat& seat) {
  on_end_(seat.guest->end());
  seat.guest->BeginToLeave();
  seat.is_leaving = true;
}

void WaitingRoom::Drop(Seat& seat) {
  seat.is_done = true;
  --num_connections_;
}

void WaitingRoom::MakeRoom() {
  std::size_t strangers = 0;
  std::size_t known = 0;
  std::size_t leaving = 0;
  for (auto seat = seats_.rbegin(); seat != seats_.rend(); ++seat) {
    std::size_t& count = seat->is_leaving ? leaving : seat->guest->is_known() ? known : strangers;
    const std::size_t most = seat->is_leaving          ? kMostLeaving
                             : seat->guest->is_known() ? kMostKnown
                                                       : kMostStrangers;
    if (++count > most) {
      if (!seat->is_leaving) {
        on_end_(Connection::End::kCrowded);
      }
      Drop(*seat);
    }
  }
  std::erase_if(seats_, [](const Seat& seat) { return seat.is_done; });
}

}  // namespace orrery::serve
