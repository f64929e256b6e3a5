#include "orrery/distribute/mpi_channel.h"

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <mpi.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/distribute/launch.h"
#include "orrery/distribute/message_channel.h"

namespace orrery::distribute {
namespace {

// MPI ends the program itself when a call fails, so that their results say nothing.

constexpr int kTag = 0;

// Open MPI answers from what it knows before it asks the network, which it does at every eighth
// call for some networks: a message that has arrived would be seen many pauses later.
constexpr int kLooks = 16;

int ProcessesOf(MPI_Comm communicator) {
  int count = 0;
  MPI_Comm_size(communicator, &count);
  return count;
}

int CountLocalProcesses() {
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  const int count = ProcessesOf(local);
  MPI_Comm_free(&local);
  return count;
}

class MpiChannel : public MessageChannel {
 public:
  MpiChannel() : num_processes_(ProcessesOf(MPI_COMM_WORLD)), num_local_(CountLocalProcesses()) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }

  [[nodiscard]] int rank() const override { return rank_; }

  [[nodiscard]] int num_processes() const override { return num_processes_; }

  [[nodiscard]] int num_local_processes() const override { return num_local_; }

  [[nodiscard]] std::string name() const override {
    std::array<char, MPI_MAX_PROCESSOR_NAME> machine{};
    int size = 0;
    MPI_Get_processor_name(machine.data(), &size);
    return fmt::format("process {} on {}", rank_, machine.data());
  }

  // Two processes that send to each other and wait for that would wait for ever.
  void Send(int to, std::string bytes) override {
    ORRERY_CHECK(bytes.size() <= std::numeric_limits<int>::max(), "messages are below 2 GiB");
    Sending& sending = sendings_.emplace_back();
    sending.bytes = std::move(bytes);
    MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE, to, kTag,
              MPI_COMM_WORLD, &sending.request);
  }  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): DropSent and Close wait for it

  [[nodiscard]] std::optional<Message> Receive() override {
    DropSent();
    int has_message = 0;
    MPI_Status status;
    for (int look = 0; look < kLooks && has_message == 0; ++look) {
      MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &has_message, &status);
    }
    if (has_message == 0) {
      return std::nullopt;
    }
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message message{.from = status.MPI_SOURCE,
                    .bytes = std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.bytes.data(), size, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return message;
  }

  void Close() override {
    for (Sending& sending : sendings_) {
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): it is that of Send
      MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
  }

 private:
  struct Sending {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void DropSent() {
    int is_sent = 1;
    while (!sendings_.empty() && is_sent != 0) {
      MPI_Test(&sendings_.front().request, &is_sent, MPI_STATUS_IGNORE);
      if (is_sent != 0) {
        sendings_.pop_front();
      }
    }
  }

  int rank_ = 0;
  int num_processes_;
  int num_local_;
  std::deque<Sending> sendings_;  // whose bytes MPI still reads
};

}  // namespace

Result<std::unique_ptr<MessageChannel>> ConnectByMpi(const Launch& launch) {
  int given = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  const int connected = ProcessesOf(MPI_COMM_WORLD);
  if (given >= MPI_THREAD_FUNNELED && connected == launch.processes) {
    return std::make_unique<MpiChannel>();
  }
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int size = 0;
  MPI_Get_library_version(version.data(), &size);
  MPI_Finalize();
  if (connected != launch.processes) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("{} processes were started, but MPI connects {}: start them with the "
                            "mpirun of the MPI that this program was built with ({})",
                            launch.processes, connected, version.data()));
  }
  return Fail(Error::Kind::kUnsupported,
              fmt::format("this MPI does not allow threads ({})", version.data()));
}

}  // namespace orrery::distribute
