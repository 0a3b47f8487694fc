// What vendors' tools are told of a program: names of objects and labels of commands, overheard on their way to the
// loader.

#include <dlfcn.h>
#include <vulkan/vulkan.h>

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>

#include "runtime/backend.h"
#include "shaders/matmul/matmul.h"

namespace {

struct Overheard {
  std::set<std::string> pipelines, modules, buffers, commands, labels;
  int open = 0;  ///< labels that began and have not ended
};
Overheard overheard;

PFN_vkVoidFunction from_loader(VkInstance instance, const char* name) {
  static const auto real = reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(RTLD_NEXT, "vkGetInstanceProcAddr"));
  return real(instance, name);
}

VkResult VKAPI_CALL hear_name(VkDevice, const VkDebugUtilsObjectNameInfoEXT* info) {
  switch (info->objectType) {
    case VK_OBJECT_TYPE_PIPELINE: overheard.pipelines.insert(info->pObjectName); break;
    case VK_OBJECT_TYPE_SHADER_MODULE: overheard.modules.insert(info->pObjectName); break;
    case VK_OBJECT_TYPE_BUFFER: overheard.buffers.insert(info->pObjectName); break;
    case VK_OBJECT_TYPE_COMMAND_BUFFER: overheard.commands.insert(info->pObjectName); break;
    default: break;
  }
  return VK_SUCCESS;
}
void VKAPI_CALL hear_begin(VkCommandBuffer, const VkDebugUtilsLabelEXT* label) {
  overheard.labels.insert(label->pLabelName);
  ++overheard.open;
}
void VKAPI_CALL hear_end(VkCommandBuffer) { --overheard.open; }

bool listening = false;

}  // namespace

// Stands before the loader's: the library's calls come here, and go on.
extern "C" PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  const std::string_view asked = name;
  if (listening && asked == "vkSetDebugUtilsObjectNameEXT") return reinterpret_cast<PFN_vkVoidFunction>(hear_name);
  if (listening && asked == "vkCmdBeginDebugUtilsLabelEXT") return reinterpret_cast<PFN_vkVoidFunction>(hear_begin);
  if (listening && asked == "vkCmdEndDebugUtilsLabelEXT") return reinterpret_cast<PFN_vkVoidFunction>(hear_end);
  return from_loader(instance, name);
}

using namespace vkformer;

TEST_CASE("objects and commands have names in vendors' tools", "[debug_names][device][one_driver]") {
  overheard = {};
  listening = true;
  const auto backend = make_backend("");
  listening = false;
  Graph graph;
  {
    const Graph::Scope scope(graph, "layers.3.mlp");
    // More rows than are written where the host reads them.
    graph.mark_output(matmul(graph, graph.input("a", {200, 5}), graph.persistent("b", {5, 3})), "y");
  }
  StoreLayout layout;
  layout.add_block("parameters", std::vector<StoreLayout::Part>{{"b", {Shape{5, 3}}}});
  const auto program = backend->compile(std::move(graph), backend->make_store(layout));
  program->run();
  REQUIRE(overheard.pipelines.size() == 1);
  CHECK(overheard.pipelines.begin()->starts_with("matmul_"));
  REQUIRE(overheard.modules.size() == 1);
  CHECK(overheard.pipelines.begin()->starts_with(*overheard.modules.begin() + "/"));
  for (const char* buffer : {"parameters and state 0", "inputs", "results"}) CHECK(overheard.buffers.contains(buffer));
  CHECK(overheard.commands.contains("submission 0"));
  CHECK(overheard.labels.contains("layers.3.mlp: matmul"));
  CHECK(overheard.labels.contains("copy to the host"));
  CHECK(overheard.open == 0);
}
