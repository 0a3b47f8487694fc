#include "runtime/vulkan/device.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "runtime/check.h"
#include "runtime/quirks.h"
#include "runtime/vulkan/embedded_shaders.h"

namespace vkformer {

namespace {

const char* name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
    case VK_ERROR_DEVICE_LOST: return "device lost (the driver reset it; a dispatch ran too long or read out of range)";
    case VK_ERROR_LAYER_NOT_PRESENT: return "layer not present (see VK_INSTANCE_LAYERS)";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "extension not present";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "feature not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "no compatible Vulkan driver";
    default: return "error";
  }
}

bool has_extension(VkPhysicalDevice device, const char* name) {
  uint32_t count = 0;
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data());
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, name) == 0; });
}

#if defined(__x86_64__)
bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
uint32_t cpu_registers() { return cpu_has_avx512() ? 32 : 16; }
#else
bool cpu_has_avx512() { return false; }
uint32_t cpu_registers() { return 32; }
#endif

struct Features {
  VkPhysicalDeviceVulkan13Features v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v13};
  VkPhysicalDeviceVulkan11Features v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
  VkPhysicalDeviceFeatures2 all{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11};
};

#ifdef VK_KHR_cooperative_matrix
bool offers_matrices(VkPhysicalDevice handle) {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &matrix};
  vkGetPhysicalDeviceFeatures2(handle, &features);
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR stages{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &stages};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  return matrix.cooperativeMatrix && (stages.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

std::vector<MatrixShape> matrix_shapes(VkInstance instance, VkPhysicalDevice handle) {
  std::vector<MatrixShape> shapes;
  const auto enumerate = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (!enumerate || !offers_matrices(handle) || enumerate(handle, &count, nullptr) != VK_SUCCESS) return shapes;
  std::vector<VkCooperativeMatrixPropertiesKHR> all(count,
                                                    {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  if (enumerate(handle, &count, all.data()) != VK_SUCCESS) return shapes;
  for (const VkCooperativeMatrixPropertiesKHR& p : all)
    if (p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
        p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
        p.scope == VK_SCOPE_SUBGROUP_KHR)
      shapes.push_back({p.MSize, p.NSize, p.KSize});
  return shapes;
}
#else  // headers from before the extension
std::vector<MatrixShape> matrix_shapes(VkInstance, VkPhysicalDevice) { return {}; }
#endif

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::cpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::discrete;
    default: return DeviceKind::other;
  }
}

Instance::Entry inspect(VkInstance instance, VkPhysicalDevice handle) {
  Instance::Entry entry{.handle = handle, .facts = {}, .unusable = {}};
  DeviceFacts& facts = entry.facts;
  VkPhysicalDeviceProperties basic;
  vkGetPhysicalDeviceProperties(handle, &basic);
  facts.name = basic.deviceName;
  facts.api_version = basic.apiVersion;
  facts.vendor_id = basic.vendorID;
  facts.device_id = basic.deviceID;
  facts.driver_version = basic.driverVersion;
  facts.kind = kind_of(basic.deviceType);
  if (basic.apiVersion < VK_API_VERSION_1_3) {
    entry.unusable = fmt::format("it supports Vulkan {}.{}; 1.3 is needed", VK_API_VERSION_MAJOR(basic.apiVersion),
                                 VK_API_VERSION_MINOR(basic.apiVersion));
    return entry;
  }
  VkPhysicalDeviceVulkan13Properties v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                                         .pNext = &v13};
  VkPhysicalDeviceVulkan11Properties v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
                                         .pNext = &v12};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v11};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  Features features;
  vkGetPhysicalDeviceFeatures2(handle, &features.all);

  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  facts.driver = fmt::format("{} {}", v12.driverName, v12.driverInfo);
  facts.driver_id = v12.driverID;
  facts.subgroup_size = v11.subgroupSize;
  facts.min_subgroup_size = v13.minSubgroupSize;
  facts.max_subgroup_size = v13.maxSubgroupSize;
  constexpr VkSubgroupFeatureFlags shuffles =
      VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT;
  facts.subgroup_shuffle = (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                           (v11.subgroupSupportedOperations & shuffles) == shuffles &&
                           features.v12.subgroupBroadcastDynamicId;
  facts.full_subgroups = features.v13.subgroupSizeControl && features.v13.computeFullSubgroups &&
                         (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  facts.max_workgroup_size = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  std::copy_n(limits.maxComputeWorkGroupCount, 3, facts.max_workgroups);
  facts.shared_memory = limits.maxComputeSharedMemorySize;
  // Shaders index buffers with 32-bit element numbers, hence never more than 4 GiB in one.
  facts.max_allocation = std::min({static_cast<uint64_t>(v11.maxMemoryAllocationSize),
                                   static_cast<uint64_t>(v13.maxBufferSize), uint64_t{0xffffff00}});
  facts.int64 = features.all.features.shaderInt64;
  facts.float16 = features.v12.shaderFloat16;
  facts.int16 = features.all.features.shaderInt16 && features.v11.storageBuffer16BitAccess;
  facts.integer_dot = features.v13.shaderIntegerDotProduct;
  facts.bfloat16 = has_extension(handle, "VK_KHR_shader_bfloat16");
  facts.cooperative_matrix = has_extension(handle, "VK_KHR_cooperative_matrix");
  // The kernels' SPIR-V is written for the Vulkan memory model.
  if (facts.cooperative_matrix && facts.float16 && features.v12.vulkanMemoryModel && built_with("cooperative_matrix") &&
      !matrix_products_crash(facts))
    facts.matrix_shapes = matrix_shapes(instance, handle);
  facts.cpu_threads = std::max(1u, std::thread::hardware_concurrency());
  facts.cpu_registers = cpu_registers();
  facts.timestamp_period = limits.timestampComputeAndGraphics ? limits.timestampPeriod : 0;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(handle, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      facts.memory_total = std::max<uint64_t>(facts.memory_total, memory.memoryHeaps[i].size);

  const std::pair<bool, const char*> required[] = {{features.v12.bufferDeviceAddress, "bufferDeviceAddress"},
                                                   {features.v12.scalarBlockLayout, "scalarBlockLayout"},
                                                   {features.v13.maintenance4, "maintenance4"},
                                                   {features.v13.synchronization2, "synchronization2"}};
  for (const auto& [present, name] : required)
    if (!present) entry.unusable = fmt::format("it lacks the feature {}", name);
  return entry;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

uint64_t free_bytes(VkPhysicalDevice physical) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                           .pNext = &budget};
  const bool budgeted = has_extension(physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (!budgeted) memory.pNext = nullptr;
  vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
  uint64_t best = 0;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i) {
    const VkMemoryHeap& heap = memory.memoryProperties.memoryHeaps[i];
    if (!(heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)) continue;
    uint64_t available = heap.size;
    if (budgeted && budget.heapBudget[i] > 0)
      available = budget.heapBudget[i] - std::min(budget.heapUsage[i], budget.heapBudget[i]);
    best = std::max(best, available);
  }
  return best;
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

int choose(const std::vector<Instance::Entry>& devices, const std::string& choice) {
  std::string list;
  for (size_t i = 0; i < devices.size(); ++i) list += fmt::format("{}{}: {}", i ? ", " : "", i, devices[i].facts.name);
  int best = -1;
  int index = -1;
  const auto parsed = std::from_chars(choice.data(), choice.data() + choice.size(), index);
  const bool numeric = !choice.empty() && parsed.ptr == choice.data() + choice.size();
  for (size_t i = 0; i < devices.size(); ++i) {
    const bool match = choice.empty() ? devices[i].unusable.empty()
                       : numeric      ? static_cast<int>(i) == index
                                      : lower(devices[i].facts.name).find(lower(choice)) != std::string::npos;
    if (match && (best < 0 || rank(devices[i].facts.kind) < rank(devices[static_cast<size_t>(best)].facts.kind)))
      best = static_cast<int>(i);
  }
  check(best >= 0 || choice.empty(), "no device '{}'; choose one by number or part of its name: {}, or 'reference'",
        choice, list);
  check(best >= 0, "none of the Vulkan devices can be used: {} ({})", list, devices.front().unusable);
  const Instance::Entry& entry = devices[static_cast<size_t>(best)];
  check(entry.unusable.empty(), "device {} ({}) can't be used: {}", best, entry.facts.name, entry.unusable);
  return best;
}

}  // namespace

void vk_check(VkResult result, const char* call) {
  check(result == VK_SUCCESS, "{} failed: {} ({})", call, name_of(result), static_cast<int>(result));
}

Instance::Instance() {
  open();
  // The driver reads the width when it is loaded, and only once loaded does it tell its version.
  if (std::getenv("LP_NATIVE_VECTOR_WIDTH") || !cpu_has_avx512()) return;
  if (std::none_of(devices_.begin(), devices_.end(), [](const Entry& e) { return wide_vectors_pay(e.facts); })) return;
  vkDestroyInstance(instance_, nullptr);
  devices_.clear();
  setenv("LP_NATIVE_VECTOR_WIDTH", "512", 0);
  open();
}

void Instance::open() {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pApplicationName = "vkformer",
                                      .pEngineName = "vkformer",
                                      .apiVersion = VK_API_VERSION_1_3};
  const char* portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
  uint32_t count = 0;
  vkEnumerateInstanceExtensionProperties(nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vkEnumerateInstanceExtensionProperties(nullptr, &count, extensions.data());
  const bool portable = std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& e) {
    return std::strcmp(e.extensionName, portability) == 0;
  });
  const VkInstanceCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .flags = portable ? VkInstanceCreateFlags{VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR} : 0,
      .pApplicationInfo = &application,
      .enabledExtensionCount = portable ? 1u : 0u,
      .ppEnabledExtensionNames = &portability};
  constexpr const char* no_driver =
      "no Vulkan driver found; install one (Debian, Ubuntu: apt install mesa-vulkan-drivers) or use --device reference";
  const VkResult result = vkCreateInstance(&info, nullptr, &instance_);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) throw Error(no_driver);
  vk_check(result, "vkCreateInstance");
  vkEnumeratePhysicalDevices(instance_, &count, nullptr);
  std::vector<VkPhysicalDevice> handles(count);
  vkEnumeratePhysicalDevices(instance_, &count, handles.data());
  for (VkPhysicalDevice handle : handles) {
    devices_.push_back(inspect(instance_, handle));
    devices_.back().facts.memory_free = free_bytes(handle);
  }
  if (devices_.empty()) {
    vkDestroyInstance(instance_, nullptr);
    throw Error(no_driver);
  }
}

Instance::~Instance() { vkDestroyInstance(instance_, nullptr); }

Device::Device(const std::string& choice, bool as_gpu) : instance_(std::make_shared<Instance>()) {
  index_ = choose(instance_->devices(), choice);
  const Instance::Entry& entry = instance_->devices()[static_cast<size_t>(index_)];
  physical_ = entry.handle;
  facts_ = entry.facts;
  if (as_gpu) facts_.kind = DeviceKind::discrete;

  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  uint32_t family = count;
  for (uint32_t i = 0; i < count; ++i)
    if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
      family = i;
      break;
    }
  check(family < count, "device {} has no compute queue", facts_.name);
  queue_family_ = family;
  facts_.timestamp_bits = families[family].timestampValidBits;
  if (facts_.timestamp_bits == 0) facts_.timestamp_period = 0;

  // Enable only what kernels use.
  Features features;
  features.v11.storageBuffer16BitAccess = facts_.int16;
  features.v12.bufferDeviceAddress = VK_TRUE;
  features.v12.scalarBlockLayout = VK_TRUE;
  features.v12.subgroupBroadcastDynamicId = facts_.subgroup_shuffle;
  features.v13.maintenance4 = VK_TRUE;
  features.v13.synchronization2 = VK_TRUE;
  features.v13.subgroupSizeControl = facts_.full_subgroups;
  features.v13.computeFullSubgroups = facts_.full_subgroups;
  features.all.features.shaderInt16 = facts_.int16;
  features.all.features.shaderInt64 = facts_.int64;
  std::vector<const char*> extensions;
  memory_budget_ = has_extension(physical_, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (memory_budget_) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_extension(physical_, "VK_KHR_portability_subset")) extensions.push_back("VK_KHR_portability_subset");
#ifdef VK_KHR_cooperative_matrix
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .cooperativeMatrix = VK_TRUE};
  if (!facts_.matrix_shapes.empty()) {
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    features.v13.pNext = &matrix;
    features.v12.shaderFloat16 = features.v12.vulkanMemoryModel = VK_TRUE;
  }
#endif
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features.all,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue,
                                .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                                .ppEnabledExtensionNames = extensions.data()};
  vk_check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, family, 0, &queue_);
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  vk_check(vkCreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
}

Device::~Device() {
  vkDeviceWaitIdle(device_);
  vkDestroyFence(device_, fence_, nullptr);
  vkDestroyDevice(device_, nullptr);
}

std::string Device::describe() const {
  const char* kind = facts_.kind == DeviceKind::cpu          ? "CPU; software Vulkan"
                     : facts_.kind == DeviceKind::discrete   ? "discrete GPU"
                     : facts_.kind == DeviceKind::integrated ? "integrated GPU"
                                                             : "other";
  return fmt::format("device {}: {} ({})", index_, facts_.name, kind);
}

uint64_t Device::memory_free() const { return free_bytes(physical_); }

void Device::submit(VkCommandBuffer commands, VkFence fence) {
  const VkSubmitInfo info{
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  vk_check(vkQueueSubmit(queue_, 1, &info, fence), "vkQueueSubmit");
}

void Device::submit_and_wait(VkCommandBuffer commands) {
  submit(commands, fence_);
  vk_check(vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  vk_check(vkResetFences(device_, 1, &fence_), "vkResetFences");
}

}  // namespace vkformer
