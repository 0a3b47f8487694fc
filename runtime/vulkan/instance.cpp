#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"
#include "runtime/vulkan/hidden_gpus.h"
#include "runtime/vulkan/loader_lock.h"
#include "runtime/vulkan/memory_room.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

namespace {

/// A device whose driver fails here is listed as unusable: it does no harm to the others.
InspectedDevice inspected(VkInstance instance, VkPhysicalDevice handle) {
  try {
    InspectedDevice device = inspect(instance, handle);
    const MemoryRoom room = memory_room(handle, device.facts.kind);
    device.facts.memory_free = room.free;
    device.facts.host_memory_free = room.host_free;
    return device;
  } catch (const Error& error) {
    return {.handle = handle, .facts = basic_facts(handle), .unusable = error.what()};
  }
}

/// Where there is nothing to choose from.
std::string no_driver() {
  std::string text =
      "no Vulkan driver found; install your GPU's (Debian, Ubuntu: apt install mesa-vulkan-drivers for AMD, Intel and "
      "CPUs; NVIDIA's own for its GPUs) or use --device reference";
  if (const char* name = drivers_named_by()) return text + fmt::format("; {} says which drivers are looked at", name);
  for (const std::string& line : hidden_gpus()) text += "; " + line;
  return text;
}

}  // namespace

Instance::Instance() {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pApplicationName = "vkformer",
                                      .pEngineName = "vkformer",
                                      .apiVersion = VK_API_VERSION_1_3};
  const auto offered = listed<VkExtensionProperties>("vkEnumerateInstanceExtensionProperties", [](auto... to) {
    return vkEnumerateInstanceExtensionProperties(nullptr, to...);
  });
  std::vector<const char*> extensions;
  const auto enable = [&](const char* name) {
    const bool there = std::ranges::any_of(
        offered, [name](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, name) == 0; });
    if (there) extensions.push_back(name);
    return there;
  };
  const bool portable = enable(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
  names_objects_ = enable(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  const VkInstanceCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .flags = portable ? VkInstanceCreateFlags{VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR} : 0,
      .pApplicationInfo = &application,
      .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
      .ppEnabledExtensionNames = extensions.data()};
  VkInstance made = nullptr;
  const VkResult result = alone_in_loader([&] { return vkCreateInstance(&info, nullptr, &made); });
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) throw Error(no_driver());
  vk_check(result, "vkCreateInstance");
  instance_.reset(made);
  const auto handles =
      listed<VkPhysicalDevice>("vkEnumeratePhysicalDevices", [made](uint32_t* count, VkPhysicalDevice* to) {
        const VkResult listing = alone_in_loader([&] { return vkEnumeratePhysicalDevices(made, count, to); });
        // The loader's word for drivers none of which has a device.
        if (listing == VK_ERROR_INITIALIZATION_FAILED) *count = 0;
        return listing == VK_ERROR_INITIALIZATION_FAILED ? VK_SUCCESS : listing;
      });
  for (VkPhysicalDevice handle : handles) devices_.push_back(inspected(made, handle));
  if (devices_.empty()) throw Error(no_driver());
}

std::vector<std::string> Instance::notes_on_best() const {
  if (std::ranges::all_of(devices_, [](const InspectedDevice& device) { return device.facts.is_cpu(); }))
    return drivers_named_by() ? std::vector<std::string>() : hidden_gpus();
  return passed_over(devices_);
}

}  // namespace vkformer
