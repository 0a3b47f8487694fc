#include "tools/cli/processes.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/device_turns.h"
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
  const std::vector<size_t> devices = devices_in_turn(list_devices());
  return devices.empty() || number == 0 ? asked : std::to_string(devices[number % devices.size()]);
}

}  // namespace vkformer
