#include "runtime/vulkan/device.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/check.h"
#include "runtime/vulkan/loader_lock.h"
#include "runtime/vulkan/memory_room.h"
#include "runtime/vulkan/newer_vulkan.h"
#include "runtime/vulkan/queue_family.h"

namespace vkformer {

namespace {

/// That of std::chrono::steady_clock, in nanoseconds: of Apple's library the one that also counts while a Mac sleeps.
#if defined(__APPLE__)
constexpr VkTimeDomainEXT host_clock = VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT;
#else
constexpr VkTimeDomainEXT host_clock = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
#endif

bool compares_clocks(VkInstance instance, VkPhysicalDevice device) {
  if (!has_extension(device, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME)) return false;
  const auto get_domains = reinterpret_cast<PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT>(
      vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT"));
  if (!get_domains) return false;
  const auto domains = listed<VkTimeDomainEXT>("vkGetPhysicalDeviceCalibrateableTimeDomainsEXT",
                                               [&](auto... to) { return get_domains(device, to...); });
  return std::ranges::count(domains, VK_TIME_DOMAIN_DEVICE_EXT) > 0 && std::ranges::count(domains, host_clock) > 0;
}

/// For a token's time: a thread that sleeps is woken some 10 to 30 us late.
void watch_fence(VkDevice device, VkFence fence) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
  while (vkGetFenceStatus(device, fence) == VK_NOT_READY && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

OwnedFence make_fence(VkDevice device) {
  const VkFenceCreateInfo info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  return make_owned<OwnedFence>(device, vkCreateFence, info, "vkCreateFence");
}

/// Where all memory is one, what is not to be used as the device's is the host's.
void limit_memory(DeviceFacts& facts, const MemoryLimits& limits) {
  const uint64_t free = facts.memory_free;
  facts.memory_free = std::min(limits.device, static_cast<uint64_t>(limits.share * static_cast<double>(free)));
  if (facts.one_memory()) facts.host_memory_free += free - facts.memory_free;
  facts.host_memory_free = std::min(facts.host_memory_free, limits.host);
}

/// What stands in for products of whole workgroups where kernels are proved that no software driver can run.
WorkgroupMatrices plain_workgroup_matrices() {
  WorkgroupMatrices matrices{.granularities = {},
                             .tensor_addressing = true,
                             .per_element = true,
                             .max_dimension = 128,
                             .f16_sums = true,
                             .kernels = {DType::f16, DType::bf16},
                             .plain = true};
  for (const DType type : matrices.kernels) {
    matrices.granularities.push_back({{32, 16, 16, type}, 128});
    matrices.granularities.push_back({{32, 32, 16, type}, 256});
  }
  return matrices;
}

}  // namespace

Device::Device(const std::string& choice, const DeviceOptions& options) : instance_(std::make_shared<Instance>()) {
  index_ = instance_->choose(choice);
  if (choice.empty() && options.note)
    for (const std::string& line : instance_->notes_on_best()) options.note(line);
  const InspectedDevice& entry = instance_->devices()[static_cast<size_t>(index_)];
  physical_ = entry.handle;
  facts_ = entry.facts;
  if (options.limits) facts_ = facts_.within(*options.limits);
  limit_memory(facts_, options.memory);
  if (options.as_gpu) {
    if (facts_.is_cpu()) facts_.workgroup_matrices = plain_workgroup_matrices();
    facts_.kind = DeviceKind::discrete;
  }

  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  const auto found = compute_family(families, facts_.vendor_id);
  check(found.has_value(), "{} has no queue that computes; choose another --device", label());
  const uint32_t family = queue_family_ = *found;
  facts_.timestamp_bits = families[family].timestampValidBits;
  if (facts_.timestamp_bits == 0) facts_.timestamp_period = 0;

  // Enable only what kernels use.
  DeviceFeatures features;
  features.v11.storageBuffer16BitAccess = facts_.int16;
  features.v12.bufferDeviceAddress = VK_TRUE;
  features.v12.scalarBlockLayout = VK_TRUE;
  features.v12.shaderFloat16 = facts_.half_modes.nearest;
  features.v12.subgroupBroadcastDynamicId = facts_.subgroup_shuffle;
  features.v13.maintenance4 = VK_TRUE;
  features.v13.synchronization2 = VK_TRUE;
  features.v13.subgroupSizeControl = facts_.full_subgroups;
  features.v13.computeFullSubgroups = facts_.full_subgroups;
  features.all.features.shaderInt16 = facts_.int16;
  features.all.features.shaderInt64 = facts_.int64;
  std::vector<const char*> extensions;
  if (has_extension(physical_, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME))
    extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  if (has_extension(physical_, "VK_KHR_portability_subset")) extensions.push_back("VK_KHR_portability_subset");
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .cooperativeMatrix = VK_TRUE};
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
      .shaderBFloat16Type = VK_TRUE,
      .shaderBFloat16CooperativeMatrix = VK_TRUE};
  const bool matrix_kernels = facts_.runs_matrix_kernels(DType::f16) || facts_.runs_matrix_kernels(DType::bf16);
  if (matrix_kernels) {
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
    features.v13.pNext = &matrix;
    features.v12.shaderFloat16 = features.v12.vulkanMemoryModel = VK_TRUE;
  }
  if (facts_.runs_matrix_kernels(DType::bf16)) {
    extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
    matrix.pNext = &bfloat16;
  }
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV workgroups{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      .pNext = features.v13.pNext,
      .cooperativeMatrixWorkgroupScope = VK_TRUE,
      .cooperativeMatrixFlexibleDimensions = VK_TRUE,
      .cooperativeMatrixPerElementOperations = VK_TRUE,
      .cooperativeMatrixTensorAddressing = VK_TRUE};
  if (matrix_kernels && facts_.runs_workgroup_kernels(DType::f16) && !facts_.workgroup_matrices.plain) {
    extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
    features.v13.pNext = &workgroups;
  }
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pNext = features.v13.pNext,
      .pipelineExecutableInfo = VK_TRUE};
  statistics_ = options.statistics && has_extension(physical_, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  if (statistics_) {
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    features.v13.pNext = &executables;
  }
  const bool clocks = options.clocks && facts_.timestamp_period > 0 && compares_clocks(instance_->handle(), physical_);
  if (clocks) extensions.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
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
  VkDevice made = nullptr;
  const VkResult opened = alone_in_loader([&] { return vkCreateDevice(physical_, &info, nullptr, &made); });
  if (opened != VK_SUCCESS) {
    const std::string others = other_devices(instance_->devices(), index_);
    fail("{} can't be opened: vkCreateDevice failed: {}; {}{}", label(), result_text(opened),
         others.empty() ? "update its driver, restart the machine, or use --device reference" : "others: ", others);
  }
  device_.reset(made);
  if (clocks) get_clocks_ = device_function<PFN_vkGetCalibratedTimestampsEXT>(made, "vkGetCalibratedTimestampsEXT");
  if (instance_->names_objects()) names_ = DebugNames(instance_->handle(), made);
  vkGetDeviceQueue(made, family, 0, &queue_);
  fences_.push_back(make_fence(made));
}

std::string Device::label() const { return fmt::format("device {} ({})", index_, facts_.name); }

std::string Device::describe() const {
  const char* kind = facts_.kind == DeviceKind::cpu          ? "CPU; software Vulkan"
                     : facts_.kind == DeviceKind::discrete   ? "discrete GPU"
                     : facts_.kind == DeviceKind::integrated ? "integrated GPU"
                                                             : "other";
  return fmt::format("device {}: {} ({})", index_, facts_.name, kind);
}

std::optional<ClockPair> Device::clocks() const {
  if (!get_clocks_) return {};
  const VkCalibratedTimestampInfoEXT which[] = {
      {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
      {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = host_clock}};
  uint64_t now[2] = {}, deviation = 0;
  if (get_clocks_(handle(), 2, which, now, &deviation) != VK_SUCCESS) return {};
  return ClockPair{now[0], 1e-9 * static_cast<double>(now[1])};
}

uint64_t Device::memory_free() const { return memory_room(physical_, facts_.kind).free; }

std::string Device::roomier_device(uint64_t bytes) const {
  std::vector<InspectedDevice> devices = instance_->devices();
  for (InspectedDevice& device : devices)
    if (device.unusable.empty()) device.facts.memory_free = memory_room(device.handle, device.facts.kind).free;
  return device_with_room(devices, index_, bytes);
}

OwnedFence Device::submit(std::span<const VkCommandBuffer> commands) {
  if (fences_.empty()) fences_.push_back(make_fence(handle()));
  OwnedFence owned = std::move(fences_.back());
  fences_.pop_back();
  const VkFence fence = owned.get();
  vk_check(vkResetFences(handle(), 1, &fence), "vkResetFences");
  VkResult result = VK_SUCCESS;
  for (size_t i = 0; i < commands.size() && result == VK_SUCCESS; ++i) {
    const VkSubmitInfo info{
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands[i]};
    result = vkQueueSubmit(queue_, 1, &info, i + 1 == commands.size() ? fence : VK_NULL_HANDLE);
  }
  if (result != VK_SUCCESS) vkDeviceWaitIdle(handle());
  if (result != VK_SUCCESS) vk_check(result, "vkQueueSubmit", label());
  return owned;
}

void Device::wait(OwnedFence owned) {
  const VkFence fence = owned.get();
  if (!facts_.is_cpu()) watch_fence(handle(), fence);
  const VkResult result = vkWaitForFences(handle(), 1, &fence, VK_TRUE, UINT64_MAX);
  if (result != VK_SUCCESS) vkDeviceWaitIdle(handle());
  if (result != VK_SUCCESS) vk_check(result, "vkWaitForFences", label());
  fences_.push_back(std::move(owned));
}

}  // namespace vkformer
