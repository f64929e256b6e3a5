#include "orrery/distribute/deal.h"

#include <cstdlib>
#include <functional>
#include <memory>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/distribute/launch.h"
#include "orrery/distribute/message_channel.h"
#include "orrery/distribute/mpi_channel.h"
#include "orrery/distribute/process_dealer.h"

namespace orrery::distribute {
namespace {

Result<int> OnAllProcesses(MessageChannel& channel, int threads,
                           const std::function<Result<int>(WorkDealer&)>& body) {
  ProcessDealer dealer(channel, ThreadsOfProcess(threads, channel.num_local_processes()));
  Result<int> result = body(dealer);
  dealer.End(result ? Status() : Status(tl::unexpected(result.error())));
  channel.Close();
  return dealer.is_root() ? result : kServed;
}

}  // namespace

Result<int> WithDealer(int threads, const std::function<Result<int>(WorkDealer&)>& body) {
  const Launch launch = ReadLaunch([](const char* name) { return std::getenv(name); });
  if (launch.processes == 1) {
    ThreadDealer dealer(threads);
    return body(dealer);
  }
  const Result<std::unique_ptr<MessageChannel>> channel = ConnectByMpi(launch);
  if (!channel) {
    return launch.rank == 0 ? Result<int>(tl::unexpected(channel.error())) : kServed;
  }
  return OnAllProcesses(**channel, threads, body);
}

}  // namespace orrery::distribute
