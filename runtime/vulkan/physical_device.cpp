#include "runtime/vulkan/physical_device.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "runtime/check.h"
#include "runtime/kernels.h"
#include "runtime/quirks.h"
#include "runtime/vulkan/embedded_shaders.h"
#include "runtime/vulkan/matrix_facts.h"
#include "runtime/vulkan/memory_room.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

namespace {

#if defined(__x86_64__)
bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
uint32_t cpu_registers() { return cpu_has_avx512() ? 32 : 16; }
#else
bool cpu_has_avx512() { return false; }
uint32_t cpu_registers() { return 32; }
#endif

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::cpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::discrete;
    default: return DeviceKind::other;
  }
}

/// Multiprocessors or compute units, where the driver tells; otherwise 0.
uint32_t cores_of(VkPhysicalDevice handle) {
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCoreProperties2AMD amd{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  if (has_extension(handle, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) properties.pNext = &nvidia;
  if (has_extension(handle, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME)) properties.pNext = &amd;
  if (has_extension(handle, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME)) properties.pNext = &arm;
  vkGetPhysicalDeviceProperties2(handle, &properties);
  return std::max({nvidia.shaderSMCount, amd.activeComputeUnitCount, arm.shaderCoreCount});
}

}  // namespace

bool has_extension(VkPhysicalDevice device, const char* name) {
  const auto extensions = listed<VkExtensionProperties>("vkEnumerateDeviceExtensionProperties", [device](auto... to) {
    return vkEnumerateDeviceExtensionProperties(device, nullptr, to...);
  });
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& e) { return std::strcmp(e.extensionName, name) == 0; });
}

DeviceFacts basic_facts(VkPhysicalDevice handle) {
  VkPhysicalDeviceProperties basic;
  vkGetPhysicalDeviceProperties(handle, &basic);
  DeviceFacts facts{.name = basic.deviceName,
                    .vendor_id = basic.vendorID,
                    .device_id = basic.deviceID,
                    .driver_version = basic.driverVersion,
                    .api_version = basic.apiVersion,
                    .kind = kind_of(basic.deviceType)};
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(handle, &memory);
  constexpr uint64_t nobody_knows[VK_MAX_MEMORY_HEAPS] = {};
  facts.memory_total = memory_room(memory, nobody_knows, facts.kind).total;
  return facts;
}

InspectedDevice inspect(VkInstance instance, VkPhysicalDevice handle) {
  InspectedDevice entry{.handle = handle, .facts = basic_facts(handle), .unusable = {}};
  DeviceFacts& facts = entry.facts;
  if (facts.api_version < VK_API_VERSION_1_3) {
    entry.unusable = fmt::format("it supports Vulkan {}.{}; 1.3 is needed; update its driver",
                                 VK_API_VERSION_MAJOR(facts.api_version), VK_API_VERSION_MINOR(facts.api_version));
    return entry;
  }
  VkPhysicalDeviceVulkan13Properties v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                                         .pNext = &v13};
  VkPhysicalDeviceVulkan11Properties v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
                                         .pNext = &v12};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v11};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  DeviceFeatures features;
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
  // Drivers with one size may say that none can be required.
  facts.full_subgroups =
      features.v13.subgroupSizeControl && features.v13.computeFullSubgroups &&
      (facts.one_subgroup_size() || (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0);
  facts.max_workgroup_size = std::min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]);
  facts.max_workgroup_subgroups = v13.maxComputeWorkgroupSubgroups;
  std::copy_n(limits.maxComputeWorkGroupCount, 3, facts.max_workgroups);
  facts.shared_memory = limits.maxComputeSharedMemorySize;
  // Shaders index buffers with 32-bit element numbers, hence never more than 4 GiB in one.
  facts.max_allocation = std::min({static_cast<uint64_t>(v11.maxMemoryAllocationSize),
                                   static_cast<uint64_t>(v13.maxBufferSize), uint64_t{0xffffff00}});
  facts.int64 = features.all.features.shaderInt64;
  facts.float16 = features.v12.shaderFloat16;
  facts.int16 = features.all.features.shaderInt16 && features.v11.storageBuffer16BitAccess;
  // Of drivers that promise a mode for all widths alone, one would be asked for 32 bits, too.
  constexpr auto none = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
  facts.half_modes = {
      .nearest = facts.float16 && v12.shaderRoundingModeRTEFloat16 && v12.roundingModeIndependence != none,
      .subnormals = v12.shaderDenormPreserveFloat16 && v12.denormBehaviorIndependence != none};
  facts.integer_dot = features.v13.shaderIntegerDotProduct;
  facts.bfloat16 = has_extension(handle, "VK_KHR_shader_bfloat16");
  facts.cooperative_matrix = has_extension(handle, "VK_KHR_cooperative_matrix");
  facts.kernels = kernels_fingerprint();
  if (built_with("cooperative_matrix")) facts.matrix_kernels.push_back(DType::f16);
  if (built_with("cooperative_matrix") && built_with("bfloat16")) facts.matrix_kernels.push_back(DType::bf16);
  auto& of_workgroups = facts.workgroup_matrices.kernels;
  if (built_with("cooperative_matrix2")) of_workgroups.push_back(DType::f16);
  if (built_with("cooperative_matrix2") && built_with("bfloat16")) of_workgroups.push_back(DType::bf16);
  // The kernels' SPIR-V is written for the Vulkan memory model.
  if (facts.float16 && features.v12.vulkanMemoryModel && !matrix_products_crash(facts))
    add_matrix_facts(instance, handle, facts);
  facts.cores = cores_of(handle);
  facts.cpu_threads = std::max(1u, std::thread::hardware_concurrency());
  facts.cpu_registers = cpu_registers();
  facts.wider_vectors_pay = cpu_has_avx512() && wide_vectors_pay(facts);
  facts.timestamp_period = limits.timestampComputeAndGraphics ? limits.timestampPeriod : 0;

  const std::pair<bool, const char*> required[] = {{features.v12.bufferDeviceAddress, "bufferDeviceAddress"},
                                                   {features.v12.scalarBlockLayout, "scalarBlockLayout"},
                                                   {features.v13.maintenance4, "maintenance4"},
                                                   {features.v13.synchronization2, "synchronization2"}};
  std::string lacking;
  for (const auto& [present, name] : required)
    if (!present) lacking += (lacking.empty() ? "" : ", ") + std::string(name);
  if (!lacking.empty()) entry.unusable = fmt::format("it lacks {}; a newer driver may have that", lacking);
  return entry;
}

}  // namespace vkformer
