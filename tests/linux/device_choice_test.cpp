// Which device is taken, and what is said of the others: of machines that are not there.

#include "runtime/vulkan/device_choice.h"

#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <fstream>

#include "runtime/backend.h"
#include "runtime/check.h"
#include "runtime/device_turns.h"
#include "runtime/vulkan/hidden_gpus.h"
#include "tests/file_helpers.h"

using namespace vkformer;

namespace {

/// What the calls below make of the driver's devices.
struct {
  bool listed_twice = false;
  int old_cards = 0;  ///< of the devices that are looked at next
  VkResult opening = VK_SUCCESS;
} disguise;

template <class Function>
Function behind_disguise(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

InspectedDevice device_of(const char* name, DeviceKind kind, const char* unusable = "") {
  InspectedDevice entry{.handle = nullptr, .facts = {}, .unusable = unusable};
  entry.facts.name = name;
  entry.facts.kind = kind;
  return entry;
}

std::string error_of_choice(const std::vector<InspectedDevice>& devices, const std::string& choice) {
  try {
    choose_device(devices, choice);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

// They stand before the loader's: the library's calls come here, and go on.
extern "C" {

VKAPI_ATTR VkResult VKAPI_CALL vkEnumeratePhysicalDevices(VkInstance instance, uint32_t* count,
                                                          VkPhysicalDevice* devices) {
  const auto next = behind_disguise<decltype(&vkEnumeratePhysicalDevices)>("vkEnumeratePhysicalDevices");
  if (!disguise.listed_twice) return next(instance, count, devices);
  uint32_t there = *count / 2;
  const VkResult result = next(instance, &there, devices);
  if (devices) std::copy_n(devices, there, devices + there);
  *count = 2 * there;
  return result;
}

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                         VkPhysicalDeviceProperties* properties) {
  behind_disguise<decltype(&vkGetPhysicalDeviceProperties)>("vkGetPhysicalDeviceProperties")(device, properties);
  if (disguise.old_cards == 0) return;
  --disguise.old_cards;
  properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  properties->apiVersion = VK_API_VERSION_1_2;
  ++properties->deviceID;
}

VKAPI_ATTR VkResult VKAPI_CALL vkCreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                              const VkAllocationCallbacks* own, VkDevice* device) {
  if (disguise.opening != VK_SUCCESS) return disguise.opening;
  return behind_disguise<decltype(&vkCreateDevice)>("vkCreateDevice")(physical, info, own, device);
}

}  // extern "C"

TEST_CASE("a device is chosen by number or name, and rather one that can be used") {
  const std::vector<InspectedDevice> devices = {device_of("Card (old driver)", DeviceKind::discrete, "it is old"),
                                                device_of("Software", DeviceKind::cpu),
                                                device_of("Card (new driver)", DeviceKind::discrete)};
  CHECK(choose_device(devices, "") == 2);
  CHECK(choose_device(devices, "card") == 2);
  CHECK(choose_device(devices, "soft") == 1);
  CHECK(choose_device(devices, "1") == 1);
  CHECK_THROWS_AS(choose_device(devices, "0"), Error);
  CHECK_THROWS_AS(choose_device(devices, "old"), Error);
  CHECK_THROWS_AS(choose_device({devices[0]}, ""), Error);
}

TEST_CASE("a number that no device has is part of a name") {
  const std::vector<InspectedDevice> devices = {device_of("GeForce RTX 4090", DeviceKind::discrete),
                                                device_of("Radeon 780M", DeviceKind::integrated)};
  CHECK(choose_device(devices, "4090") == 0);
  CHECK(choose_device(devices, "780") == 1);
  CHECK(choose_device(devices, "1") == 1);
  CHECK(choose_device({devices[1], devices[0]}, "0") == 0);  // though both names have one
  CHECK(error_of_choice(devices, "3090").find("no device '3090'") == 0);
  CHECK(error_of_choice(devices, "99999999999999999999").find("no device") == 0);
}

TEST_CASE("a better device that can't be used is told, with the reason") {
  std::vector<InspectedDevice> devices = {
      device_of("llvmpipe", DeviceKind::cpu), device_of("Old card", DeviceKind::discrete, "it supports Vulkan 1.2"),
      device_of("Chip", DeviceKind::integrated), device_of("Old software", DeviceKind::cpu, "it lacks int64")};
  CHECK(best_device(devices) == 2);
  CHECK(passed_over(devices) == std::vector<std::string>{"device 1: Old card is not used: it supports Vulkan 1.2"});
  // Unless another driver runs it.
  devices[1].facts.vendor_id = devices[2].facts.vendor_id = 0x1002;
  devices[1].facts.device_id = devices[2].facts.device_id = 7;
  CHECK(passed_over(devices).empty());
  devices[2].facts.device_id = 8;
  CHECK(passed_over(devices).size() == 1);
}

TEST_CASE("who names no device hears of the better one that can't be used", "[device][one_driver]") {
  const auto there = list_devices().size();
  std::vector<std::string> notes;
  const auto note = [&](const std::string& line) { notes.push_back(line); };
  const auto disguised = [&](const auto& open) {
    notes.clear();
    disguise = {.listed_twice = true, .old_cards = static_cast<int>(there)};
    auto opened = open();
    disguise = {};
    return opened;
  };
  const auto listings = disguised(list_devices);
  REQUIRE(listings.size() == 2 * there);
  CHECK(std::ranges::count(listings, true, &DeviceListing::best) == 1);
  CHECK(listings[there].best);
  disguised([&] { return make_backend("", {.note = note}); });
  REQUIRE(notes.size() == there);
  CHECK(notes[0] == fmt::format("device 0: {} is not used: it supports Vulkan 1.2; 1.3 is needed; update its driver",
                                listings[0].facts.name));
  disguised([&] { return make_backend(fmt::format("{}", there), {.note = note}); });
  CHECK(notes.empty());
}

TEST_CASE("a device that can't be opened is named, with the others", "[device][one_driver]") {
  const auto devices = list_devices();
  const auto error_of_opening = [](bool listed_twice) -> std::string {
    disguise = {.listed_twice = listed_twice, .opening = VK_ERROR_INITIALIZATION_FAILED};
    std::string text;
    try {
      make_backend("0");
    } catch (const Error& error) {
      text = error.what();
    }
    disguise = {};
    return text;
  };
  const std::string begin = fmt::format(
      "device 0 ({}) can't be opened: vkCreateDevice failed: initialization failed (-3); ", devices[0].facts.name);
  if (devices.size() == 1)
    CHECK(error_of_opening(false) == begin + "update its driver, restart the machine, or use --device reference");
  const std::string last = fmt::format("{0}: {1} (--device {0})", 2 * devices.size() - 1, devices.back().facts.name);
  CHECK(error_of_opening(true).starts_with(begin + "others: 1: "));
  CHECK(error_of_opening(true).ends_with(last));
}

TEST_CASE("of GPUs of a kind the one with more room is taken, and a few MiB less change nothing") {
  constexpr uint64_t mib = uint64_t{1} << 20, gib = uint64_t{1} << 30;
  const auto gpu = [](const char* name, uint64_t free, uint64_t total, DeviceKind kind = DeviceKind::discrete) {
    InspectedDevice device = device_of(name, kind);
    device.facts.memory_free = free;
    device.facts.memory_total = total;
    return device;
  };
  const auto small = gpu("Small", 3 * gib, 4 * gib), large = gpu("Large", 23 * gib, 24 * gib),
             full = gpu("Large", 1 * gib, 24 * gib), shared = gpu("Chip", 90 * gib, 96 * gib, DeviceKind::integrated);
  CHECK(best_device({small, large}) == 1);
  CHECK(best_device({large, small}) == 0);
  CHECK(best_device({full, small}) == 1);
  CHECK(best_device({shared, small}) == 1);  // kinds go first
  // Two of one make, of which one also has the desktop.
  CHECK(best_device({gpu("A", 23 * gib, 24 * gib), gpu("B", 23 * gib + 500 * mib, 24 * gib)}) == 0);
  CHECK(best_device({gpu("A", 9 * gib, 12 * gib), gpu("B", 9 * gib - 500 * mib, 16 * gib)}) == 1);
  // What drivers for CPUs tell of the host's memory decides nothing.
  CHECK(best_device({gpu("S", 2 * gib, 2 * gib, DeviceKind::cpu), gpu("L", 60 * gib, 64 * gib, DeviceKind::cpu)}) == 0);

  CHECK(device_with_room({small, large}, 0, 20 * gib) == "device 1: Large has 23552 MiB free (--device 1)");
  CHECK(device_with_room({small, large}, 1, 20 * gib).empty());
  CHECK(device_with_room({small, shared, large}, 0, 20 * gib).starts_with("device 2: "));
  CHECK(device_with_room({small, shared, large}, 0, 80 * gib).starts_with("device 1: "));
  CHECK(device_with_room({small, full}, 0, 20 * gib).empty());
}

TEST_CASE("where no device can be used, each one's reason is told") {
  const std::vector<InspectedDevice> devices = {device_of("Old card", DeviceKind::discrete, "it supports Vulkan 1.2"),
                                                device_of("Chip", DeviceKind::integrated, "it lacks maintenance4")};
  const std::string error = error_of_choice(devices, "");
  CHECK(error.find("0: Old card (it supports Vulkan 1.2), 1: Chip (it lacks maintenance4)") != error.npos);
  CHECK(error.find("--device reference") != error.npos);
  CHECK(passed_over(devices).empty());
}

TEST_CASE("GPUs that no driver lists are found by what the kernel shows of them", "[files]") {
  const testing::TemporaryFolder folder;
  const auto& devices = folder.path();
  const auto touch = [&](const char* name) { std::ofstream(devices / name) << "a device"; };
  const auto closed = [](const std::filesystem::path&) { return EACCES; };
  CHECK(hidden_gpus(devices, closed).empty());
  std::filesystem::create_directory(devices / "dri");
  touch("dri/card0");
  CHECK(hidden_gpus(devices, closed).empty());
  touch("dri/renderD128");
  REQUIRE(hidden_gpus(devices, closed).size() == 1);
  CHECK(hidden_gpus(devices, closed)[0].find((devices / "dri/renderD128").generic_string()) != std::string::npos);
  CHECK(hidden_gpus(devices, closed)[0].find("join the group render") != std::string::npos);
  CHECK(hidden_gpus(devices).empty());  // it opens
  CHECK(hidden_gpus(devices, [](const std::filesystem::path&) { return ENXIO; }).empty());
  touch("nvidiactl");
  touch("nvidia0");
  REQUIRE(hidden_gpus(devices).size() == 1);
  CHECK(hidden_gpus(devices)[0].find("NVIDIA_DRIVER_CAPABILITIES") != std::string::npos);
  CHECK(hidden_gpus(devices, closed).size() == 2);
}

TEST_CASE("processes take the best GPU, those of its name, then others of its kind") {
  const auto listing = [](const InspectedDevice& entry, bool best = false) {
    return DeviceListing{.facts = entry.facts, .unusable = entry.unusable, .best = best};
  };
  const DeviceListing card = listing(device_of("Card", DeviceKind::discrete)),
                      old = listing(device_of("Card", DeviceKind::discrete, "too old")),
                      other = listing(device_of("Other", DeviceKind::discrete)),
                      chip = listing(device_of("Chip", DeviceKind::integrated)),
                      cpu = listing(device_of("llvmpipe", DeviceKind::cpu)),
                      best_card = listing(device_of("Card", DeviceKind::discrete), true),
                      best_cpu = listing(device_of("llvmpipe", DeviceKind::cpu), true);
  CHECK(devices_in_turn({chip, other, card, best_card, old, cpu, card}) == std::vector<size_t>{3, 2, 6, 1});
  CHECK(devices_in_turn({cpu, best_cpu, cpu}) == std::vector<size_t>{1});
  CHECK(devices_in_turn({old}).empty());
}
