#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

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
  for (VkPhysicalDevice handle : handles) {
    devices_.push_back(inspect(made, handle));
    devices_.back().facts.memory_free = free_bytes(handle);
  }
  if (devices_.empty()) throw Error(no_driver);
}

int Instance::choose(const std::string& choice) const {
  std::string list;
  for (size_t i = 0; i < devices_.size(); ++i)
    list += fmt::format("{}{}: {}", i ? ", " : "", i, devices_[i].facts.name);
  int best = -1;
  int index = -1;
  const auto parsed = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  const bool numeric = !choice.empty() && parsed.ptr == choice.data() + choice.size();
  for (size_t i = 0; i < devices_.size(); ++i) {
    const bool match = choice.empty() ? devices_[i].unusable.empty()
                       : numeric      ? static_cast<int>(i) == index
                                      : lower(devices_[i].facts.name).find(lower(choice)) != std::string::npos;
    if (match && (best < 0 || rank(devices_[i].facts.kind) < rank(devices_[static_cast<size_t>(best)].facts.kind)))
      best = static_cast<int>(i);
  }
  check(best >= 0 || choice.empty(), "no device '{}'; choose one by number or part of its name: {}, or 'reference'",
        choice, list);
  check(best >= 0, "none of the Vulkan devices can be used: {} ({})", list, devices_.front().unusable);
  const InspectedDevice& entry = devices_[static_cast<size_t>(best)];
  check(entry.unusable.empty(), "device {} ({}) can't be used: {}", best, entry.facts.name, entry.unusable);
  return best;
}

}  // namespace vkformer
