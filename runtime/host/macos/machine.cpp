#include "runtime/host/machine.h"

#include <mach/mach.h>
#include <unistd.h>

namespace vkformer::host {

/// What is free, and what nobody used for a while.
uint64_t available_memory() {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t words = HOST_VM_INFO64_COUNT;
  const mach_port_t host = mach_host_self();
  const kern_return_t result = host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &words);
  mach_port_deallocate(mach_task_self(), host);
  if (result != KERN_SUCCESS) return UINT64_MAX;
  return (uint64_t{pages.free_count} + pages.inactive_count) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace vkformer::host
