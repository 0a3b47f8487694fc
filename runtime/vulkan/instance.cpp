#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <utility>

#include "runtime/check.h"
#include "runtime/vulkan/loader_lock.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

int rank(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::discrete: return 0;
    case DeviceKind::integrated: return 1;
    case DeviceKind::other: return 2;
    case DeviceKind::cpu: return 3;
  }
  return 4;
}

/// A device whose driver fails here is listed as unusable: it does no harm to the others.
InspectedDevice inspected(VkInstance instance, VkPhysicalDevice handle) {
  try {
    InspectedDevice device = inspect(instance, handle);
    device.facts.memory_free = free_bytes(handle);
    return device;
  } catch (const Error& error) {
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(handle, &properties);
    InspectedDevice device{.handle = handle, .facts = {}, .unusable = error.what()};
    device.facts.name = properties.deviceName;
    device.facts.api_version = properties.apiVersion;
    return device;
  }
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
  constexpr const char* no_driver =
      "no Vulkan driver found; install one (Debian, Ubuntu: apt install mesa-vulkan-drivers) or use --device reference";
  VkInstance made = nullptr;
  const VkResult result = alone_in_loader([&] { return vkCreateInstance(&info, nullptr, &made); });
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) throw Error(no_driver);
  vk_check(result, "vkCreateInstance");
  instance_.reset(made);
  const auto handles = listed<VkPhysicalDevice>("vkEnumeratePhysicalDevices", [made](auto... to) {
    return alone_in_loader([&] { return vkEnumeratePhysicalDevices(made, to...); });
  });
  for (VkPhysicalDevice handle : handles) devices_.push_back(inspected(made, handle));
  if (devices_.empty()) throw Error(no_driver);
}

int choose_device(const std::vector<InspectedDevice>& devices, const std::string& choice) {
  std::string list;
  for (size_t i = 0; i < devices.size(); ++i) list += fmt::format("{}{}: {}", i ? ", " : "", i, devices[i].facts.name);
  int best = -1;
  int index = -1;
  const auto parsed = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  const bool numeric = !choice.empty() && parsed.ptr == choice.data() + choice.size();
  const auto badness = [&](int i) {
    const InspectedDevice& device = devices[static_cast<size_t>(i)];
    return std::pair(!device.unusable.empty(), rank(device.facts.kind));
  };
  for (int i = 0; i < static_cast<int>(devices.size()); ++i) {
    const InspectedDevice& device = devices[static_cast<size_t>(i)];
    const bool match = choice.empty() ? device.unusable.empty()
                       : numeric      ? i == index
                                      : lower(device.facts.name).find(lower(choice)) != std::string::npos;
    if (match && (best < 0 || badness(i) < badness(best))) best = i;
  }
  check(best >= 0 || choice.empty(), "no device '{}'; choose one by number or part of its name: {}, or 'reference'",
        choice, list);
  check(best >= 0, "none of the Vulkan devices can be used: {} ({})", list, devices.front().unusable);
  const InspectedDevice& entry = devices[static_cast<size_t>(best)];
  check(entry.unusable.empty(), "device {} ({}) can't be used: {}", best, entry.facts.name, entry.unusable);
  return best;
}

}  // namespace vkformer
