#include <array>
#include <cstdint>
#include <ctime>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/network/simgrid/simgrid_test.h"
#include "orrery/network/topology.h"

namespace orrery::network::simgrid {
namespace {

namespace s4u = ::simgrid::s4u;

// Max-min sharing as in textbooks: no window, no weight by latency, no acknowledgements.
void Configure() {
  for (const char* const setting :
       {"network/model:CM02", "network/crosstraffic:0", "network/weight-S:0",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/TCP-gamma:0",
        "surf/precision:1e-12", "maxmin/precision:1e-12", "maxmin/concurrency-limit:-1"}) {
    s4u::Engine::set_config(setting);
  }
}

std::vector<s4u::Host*> BuildPlatform(std::span<const double> capacity, std::span<const Flow> flows,
                                      std::uint32_t num_hosts) {
  s4u::NetZone* const zone = s4u::create_full_zone("zone");
  std::vector<s4u::Host*> hosts;
  for (std::uint32_t host = 0; host < num_hosts; ++host) {
    hosts.push_back(zone->create_host("host" + std::to_string(host), 1e9)->seal());
  }
  std::vector<const s4u::Link*> links;
  for (std::size_t link = 0; link < capacity.size(); ++link) {
    links.push_back(
        zone->create_link("link" + std::to_string(link), capacity[link])->set_latency(0)->seal());
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> known;
  for (const Flow& flow : flows) {
    if (!known.emplace(flow.from_host, flow.to_host).second) {
      continue;
    }
    std::vector<s4u::LinkInRoute> route;
    for (const LinkId link : flow.path) {
      route.emplace_back(links[link]);
    }
    zone->add_route(hosts[flow.from_host]->get_netpoint(), hosts[flow.to_host]->get_netpoint(),
                    nullptr, nullptr, route, false);
  }
  zone->seal();
  return hosts;
}

// Sends flows that start together and waits for them.
void SendTogether(std::span<const Flow> flows, double start, const std::vector<s4u::Host*>& hosts,
                  std::vector<double>& end_seconds) {
  std::vector<std::pair<std::size_t, s4u::CommPtr>> comms;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].start_seconds == start) {
      comms.emplace_back(i, s4u::Comm::sendto_async(hosts[flows[i].from_host],
                                                    hosts[flows[i].to_host], flows[i].bytes));
    }
  }
  for (const auto& [index, comm] : comms) {
    comm->wait();
    end_seconds[index] = comm->get_finish_time();
  }
}

// One actor for each time at which flows start.
void CreateSenders(std::span<const Flow> flows, const std::vector<s4u::Host*>& hosts, int rounds,
                   std::vector<double>& end_seconds) {
  std::set<double> starts;
  for (const Flow& flow : flows) {
    starts.insert(flow.start_seconds);
  }
  for (const double start : starts) {
    s4u::Actor::create("sender", hosts[0], [flows, &hosts, &end_seconds, start, rounds] {
      s4u::this_actor::sleep_until(start);
      SendTogether(flows, start, hosts, end_seconds);
      std::vector<double> later_ends(flows.size());
      for (int round = 1; round < rounds; ++round) {
        SendTogether(flows, start, hosts, later_ends);
      }
    });
  }
}

// Simulates in the child process and returns the end times, followed by the processor time.
std::vector<double> SimulateHere(std::span<const double> capacity, std::span<const Flow> flows,
                                 std::uint32_t num_hosts, int rounds) {
  std::string name = "simgrid";
  std::string quiet = "--log=root.thresh:critical";
  std::array<char*, 3> arguments{name.data(), quiet.data(), nullptr};
  int count = 2;
  s4u::Engine engine(&count, arguments.data());
  Configure();
  const std::vector<s4u::Host*> hosts = BuildPlatform(capacity, flows, num_hosts);
  std::vector<double> ends(flows.size(), -1);
  CreateSenders(flows, hosts, rounds, ends);
  const std::clock_t begin = std::clock();
  engine.run();
  ends.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / rounds);
  return ends;
}

bool WriteAll(int file, std::span<const double> values) {
  const auto* bytes = reinterpret_cast<const char*>(values.data());
  for (std::size_t left = values.size_bytes(); left > 0;) {
    const ssize_t written = write(file, bytes, left);
    if (written <= 0) {
      return false;
    }
    bytes += written;
    left -= static_cast<std::size_t>(written);
  }
  return true;
}

bool ReadAll(int file, std::span<double> values) {
  auto* bytes = reinterpret_cast<char*>(values.data());
  for (std::size_t left = values.size_bytes(); left > 0;) {
    const ssize_t got = read(file, bytes, left);
    if (got <= 0) {
      return false;
    }
    bytes += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

bool IsInstalled() {
  return true;
}

Result<Run> Simulate(std::span<const double> capacity_of_link, std::span<const Flow> flows,
                     std::uint32_t num_hosts, int rounds) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    return Fail(Error::Kind::kSystem, "no pipe to a child");
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool written =
        WriteAll(ends[1], SimulateHere(capacity_of_link, flows, num_hosts, rounds));
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Run run{.end_seconds = std::vector<double>(flows.size() + 1)};
  const bool whole = child > 0 && ReadAll(ends[0], run.end_seconds);
  close(ends[0]);
  if (child > 0) {
    waitpid(child, nullptr, 0);
  }
  if (!whole) {
    return Fail(Error::Kind::kSystem, "SimGrid stopped early");
  }
  run.cpu_seconds = run.end_seconds.back();
  run.end_seconds.pop_back();
  return run;
}

}  // namespace orrery::network::simgrid
