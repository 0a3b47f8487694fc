// What is said of pages that went away.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "runtime/host/posix/lost_page_advice.h"

using namespace vkformer::host;

TEST_CASE("a GPU's memory that went away is not blamed on a file") {
  const auto blames_gpu = [](const char* name) {
    const std::string advice = lost_page_advice(name);
    CHECK((advice.find("disk") == advice.npos) == (advice.find("GPU") != advice.npos));
    return advice.find("--resume") != advice.npos;
  };
  for (const char* name : {"/dev/dri/renderD128", "/dev/dri/card0", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm",
                           "/dev/udmabuf", "/dmabuf:", "anon_inode:i915.gem"})
    CHECK(blames_gpu(name));
  for (const char* name : {"/home/me/model.safetensors", "/mnt/dev/nvidia0", "/dev/shm/model.gguf", "nvidia0", ""})
    CHECK_FALSE(blames_gpu(name));
}
