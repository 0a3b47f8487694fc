#include "tools/cli/processes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#ifdef VKFORMER_MPI
#include "tools/cli/mpi/mpi_link.h"
#endif

namespace vkformer {

namespace {

/// Launchers tell their processes so: Open MPI, MPICH and its kin, all that speak PMIx.
bool was_launched() {
  constexpr const char* sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  return std::ranges::any_of(sizes, [](const char* name) { return std::getenv(name) != nullptr; });
}

/// Those that processes of one machine take in turn: the best GPU, others of its name, then other GPUs of its kind.
/// CPUs are no more by being shared.
std::vector<size_t> devices_in_turn() {
  const std::vector<DeviceListing> all = list_devices();
  const auto best = std::ranges::find(all, true, &DeviceListing::best);
  if (best == all.end()) return {};
  std::vector<size_t> devices{static_cast<size_t>(best - all.begin())};
  if (best->facts.is_cpu()) return devices;
  for (const bool same_name : {true, false})
    for (size_t i = 0; i < all.size(); ++i)
      if (!all[i].best && all[i].unusable.empty() && all[i].facts.kind == best->facts.kind &&
          same_name == (all[i].facts.name == best->facts.name))
        devices.push_back(i);
  return devices;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> entries;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = list.find(',', begin);
    entries.push_back(list.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return entries;
}

}  // namespace

std::unique_ptr<ProcessLink> join_processes() {
  if (!was_launched()) return nullptr;
#ifdef VKFORMER_MPI
  return join_mpi();
#else
  fail(
      "several processes can't train together with this build, which has no MPI: install Open MPI or MPICH with its "
      "headers (package libopenmpi-dev) and build again");
#endif
}

std::string device_of_process(const std::string& asked, const std::vector<std::string>& hosts, int rank) {
  const auto mine = hosts.begin() + rank;
  const auto number = static_cast<size_t>(std::count(hosts.begin(), mine, *mine));
  if (asked.find(',') != std::string::npos) {
    const std::vector<std::string> list = split(asked);
    return list[number % list.size()];
  }
  if (!asked.empty() || std::ranges::count(hosts, *mine) == 1) return asked;
  const std::vector<size_t> devices = devices_in_turn();
  return devices.empty() || number == 0 ? asked : std::to_string(devices[number % devices.size()]);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "a machine without a name";
}

}  // namespace vkformer
