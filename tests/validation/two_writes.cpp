// Writes a buffer twice without a barrier: a mistake that the validation layer must report when its synchronisation
// checks are on. tools/check runs it before it believes the layer's silence about everything else.

#include <vulkan/vulkan.h>

#include <cstdio>
#include <cstdlib>

namespace {

void require(VkResult result, const char* what) {
  if (result == VK_SUCCESS || result == VK_INCOMPLETE) return;
  std::fprintf(stderr, "two_writes: %s gives %d\n", what, result);
  std::exit(1);
}

}  // namespace

int main() {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
  const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                           .pApplicationInfo = &application};
  VkInstance instance;
  require(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  uint32_t count = 1;
  require(vkEnumeratePhysicalDevices(instance, &count, &physical), "vkEnumeratePhysicalDevices");
  require(count == 1 ? VK_SUCCESS : VK_ERROR_INITIALIZATION_FAILED, "looking for a device");

  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device_info{
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queue};
  VkDevice device;
  require(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");

  const VkBufferCreateInfo buffer_info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 256, .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  VkBuffer buffer;
  require(vkCreateBuffer(device, &buffer_info, nullptr, &buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  uint32_t type = 0;
  while ((needs.memoryTypeBits >> type & 1) == 0) ++type;
  const VkMemoryAllocateInfo memory_info{
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
  VkDeviceMemory memory;
  require(vkAllocateMemory(device, &memory_info, nullptr, &memory), "vkAllocateMemory");
  require(vkBindBufferMemory(device, buffer, memory, 0), "vkBindBufferMemory");

  const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  VkCommandPool pool;
  require(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo commands_info{
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = pool, .commandBufferCount = 1};
  VkCommandBuffer commands;
  require(vkAllocateCommandBuffers(device, &commands_info, &commands), "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  require(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  vkCmdFillBuffer(commands, buffer, 0, 256, 0);
  vkCmdFillBuffer(commands, buffer, 0, 256, 1);  // the mistake
  require(vkEndCommandBuffer(commands), "vkEndCommandBuffer");

  vkDestroyCommandPool(device, pool, nullptr);
  vkDestroyBuffer(device, buffer, nullptr);
  vkFreeMemory(device, memory, nullptr);
  vkDestroyDevice(device, nullptr);
  vkDestroyInstance(instance, nullptr);
}
