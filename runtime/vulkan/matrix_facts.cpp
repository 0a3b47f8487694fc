#include "runtime/vulkan/matrix_facts.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "runtime/vulkan/newer_vulkan.h"
#include "runtime/vulkan/physical_device.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

namespace {

/// Operands of one 16-bit type, summed in f32; nothing for other products. bf16 only where the device lets shaders use
/// it in matrices.
template <class Properties>
std::optional<DType> type_of(const Properties& p, bool bfloat16) {
  const bool sums_floats = p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR;
  if (!sums_floats || p.AType != p.BType) return {};
  if (p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR) return DType::f16;
  if (p.AType == VK_COMPONENT_TYPE_BFLOAT16_KHR && bfloat16) return DType::bf16;
  return {};
}

/// Whether for every product of f16, summed in f32, there is one of its size with matrices of f16 for the sums: Vulkan
/// allows no others. `size` gives {m, n} of an entry.
template <class Properties, class Size>
bool has_f16_sums(const std::vector<Properties>& list, Size size) {
  const auto has_f16 = [&](const Properties& sums) {
    return std::ranges::any_of(list, [&](const Properties& p) {
      return p.ResultType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.scope == sums.scope && size(p) == size(sums);
    });
  };
  return std::ranges::all_of(list, [&](const Properties& p) { return type_of(p, false) != DType::f16 || has_f16(p); });
}

template <class Features>
Features features_of(VkPhysicalDevice handle, VkStructureType type) {
  Features asked{.sType = type};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &asked};
  vkGetPhysicalDeviceFeatures2(handle, &features);
  return asked;
}

template <class Properties>
Properties properties_of(VkPhysicalDevice handle, VkStructureType type) {
  Properties asked{.sType = type};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &asked};
  vkGetPhysicalDeviceProperties2(handle, &properties);
  return asked;
}

/// What a driver lists by a call of an extension; nothing where it does not know the call.
template <class Function, class Item>
std::vector<Item> list_of(VkInstance instance, VkPhysicalDevice handle, const char* name, const Item& empty) {
  const auto enumerate = reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
  if (!enumerate) return {};
  return listed(
      name, [&](auto... to) { return enumerate(handle, to...); }, empty);
}

void add_subgroup_matrices(VkInstance instance, VkPhysicalDevice handle, bool bfloat16, DeviceFacts& facts) {
  const auto features = features_of<VkPhysicalDeviceCooperativeMatrixFeaturesKHR>(
      handle, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
  const auto properties = properties_of<VkPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      handle, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
  if (!features.cooperativeMatrix || !(properties.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT))
    return;
  const auto list = list_of<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      instance, handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
      VkCooperativeMatrixPropertiesKHR{.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  for (const VkCooperativeMatrixPropertiesKHR& p : list)
    if (const auto type = type_of(p, bfloat16); type && p.scope == VK_SCOPE_SUBGROUP_KHR)
      facts.matrix_shapes.push_back({p.MSize, p.NSize, p.KSize, *type});
  facts.f16_sums = has_f16_sums(list, [](const auto& p) { return std::pair(p.MSize, p.NSize); });
}

void add_workgroup_matrices(VkInstance instance, VkPhysicalDevice handle, bool bfloat16, DeviceFacts& facts) {
  const auto features = features_of<VkPhysicalDeviceCooperativeMatrix2FeaturesNV>(
      handle, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV);
  if (!features.cooperativeMatrixWorkgroupScope || !features.cooperativeMatrixFlexibleDimensions) return;
  const auto properties = properties_of<VkPhysicalDeviceCooperativeMatrix2PropertiesNV>(
      handle, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV);
  WorkgroupMatrices& matrices = facts.workgroup_matrices;
  matrices.tensor_addressing = features.cooperativeMatrixTensorAddressing;
  matrices.reductions = features.cooperativeMatrixReductions;
  matrices.conversions = features.cooperativeMatrixConversions;
  matrices.per_element = features.cooperativeMatrixPerElementOperations;
  matrices.max_dimension = properties.cooperativeMatrixFlexibleDimensionsMaxDimension;
  matrices.reserved_shared = properties.cooperativeMatrixWorkgroupScopeReservedSharedMemory;
  const auto list = list_of<PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV>(
      instance, handle, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
      VkCooperativeMatrixFlexibleDimensionsPropertiesNV{
          .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV});
  for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV& p : list)
    if (const auto type = type_of(p, bfloat16); type && p.scope == VK_SCOPE_WORKGROUP_KHR)
      matrices.granularities.push_back(
          {{p.MGranularity, p.NGranularity, p.KGranularity, *type}, p.workgroupInvocations});
  matrices.f16_sums = has_f16_sums(
      list, [](const auto& p) { return std::tuple(p.MGranularity, p.NGranularity, p.workgroupInvocations); });
}

}  // namespace

void add_matrix_facts(VkInstance instance, VkPhysicalDevice handle, DeviceFacts& facts) {
  bool bfloat16 = false;
  if (has_extension(handle, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) {
    const auto features = features_of<VkPhysicalDeviceShaderBfloat16FeaturesKHR>(
        handle, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR);
    bfloat16 = features.shaderBFloat16Type && features.shaderBFloat16CooperativeMatrix;
  }
  if (has_extension(handle, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
    add_subgroup_matrices(instance, handle, bfloat16, facts);
  if (has_extension(handle, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME))
    add_workgroup_matrices(instance, handle, bfloat16, facts);
}

}  // namespace vkformer
