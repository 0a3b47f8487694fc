#include "runtime/vulkan/pipeline.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <system_error>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/user_cache.h"
#include "runtime/hash.h"
#include "runtime/kernels.h"
#include "runtime/vulkan/embedded_shaders.h"
#include "runtime/vulkan/half_modes.h"
#include "runtime/vulkan/module_needs.h"
#include "runtime/vulkan/pipeline_statistics.h"

namespace vkformer {

namespace {

const EmbeddedShader* find_shader(std::string_view kernel, std::string_view variant) {
  for (const EmbeddedShader& shader : embedded_shaders())
    if (shader.kernel == kernel && shader.variant == variant) return &shader;
  return nullptr;
}

/// What stands behind a driver's data in a file: which kernels they are of, for others would only make them grow, and
/// what they must be. Drivers look at a header and believe the rest.
std::string seal(std::string_view data) {
  return fmt::format("{} {:016x}", kernels_fingerprint(), hash_text(hash_start, data));
}

/// What a run before this one saved; empty when there is none of these kernels, or it can't be read or is damaged.
std::string load(const std::filesystem::path& file) try {
  const MappedFile mapped(file);
  std::string_view data = mapped.text();
  const size_t seal_size = seal({}).size();
  if (data.size() < seal_size) return {};
  const std::string_view sealed = data.substr(data.size() - seal_size);
  data.remove_suffix(seal_size);
  return sealed == seal(data) ? std::string(data) : std::string();
} catch (const Error&) {
  return {};
}

/// Whether it is the kernel that failed, and not the machine.
bool is_refusal(VkResult result) {
  return result != VK_SUCCESS && result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY &&
         result != VK_ERROR_DEVICE_LOST;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

PipelineCache::PipelineCache(Device& device) : device_(device) {
  const VkPushConstantRange range{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = 128};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &range};
  layout_ = make_owned<OwnedPipelineLayout>(device.handle(), vkCreatePipelineLayout, layout, "vkCreatePipelineLayout");
  std::string saved;
  if (const auto directory = user_cache(); !directory.empty() && !device.has_statistics()) {
    const DeviceFacts& facts = device.facts();
    file_ = directory / fmt::format("pipelines-{:x}-{:x}-{:x}-{:x}.bin", facts.vendor_id, facts.device_id,
                                    facts.driver_id, facts.driver_version);
    saved = load(file_);
  }
  // The driver checks the data's header itself and starts empty when it is another device's.
  const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = saved.size(),
                                       .pInitialData = saved.data()};
  cache_ = make_owned<OwnedPipelineCache>(device.handle(), vkCreatePipelineCache, info, "vkCreatePipelineCache");
}

PipelineCache::~PipelineCache() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  if (!file_.empty() && !pipelines_.empty()) save();
}

void PipelineCache::save() const noexcept try {
  if (std::filesystem::is_fifo(file_)) return;  // only a file may be replaced
  size_t size = 0;
  vk_check(vkGetPipelineCacheData(device_.handle(), cache_.get(), &size, nullptr), "vkGetPipelineCacheData");
  std::string data(size, '\0');
  vk_check(vkGetPipelineCacheData(device_.handle(), cache_.get(), &size, data.data()), "vkGetPipelineCacheData");
  data.resize(size);
  if (data == load(file_)) return;  // and the disk need not be waited for
  std::filesystem::create_directories(file_.parent_path());
  // Other processes, and other backends of this one, may be saving theirs.
  write_file_atomically(file_, data + seal(data));
} catch (const std::exception&) {
  // The next run makes its pipelines again.
}

const Pipeline& PipelineCache::get(std::string_view kernel, std::string_view variant,
                                   std::span<const uint32_t> constants, uint32_t subgroup_size) {
  PipelineRecord record{.kernel = std::string(kernel),
                        .variant = std::string(variant),
                        .constants = {constants.begin(), constants.end()},
                        .subgroup_size = subgroup_size};
  if (auto known = pipelines_.find(record.name()); known != pipelines_.end()) return known->second;

  const EmbeddedShader* shader = find_shader(kernel, variant);
  check(shader != nullptr, "there is no kernel {} ({})", kernel, variant);
  check(!shader->words.empty(), "kernel {} ({}) is not part of this build: its glslang could not compile it", kernel,
        variant);
  check(subgroup_size == 0 || device_.facts().full_subgroups, "kernel {} needs full subgroups, which {} can't promise",
        kernel, device_.facts().name);
  return make(std::move(record), with_half_modes(shader->words, device_.facts().half_modes, device_.facts().is_cpu()));
}

const Pipeline& PipelineCache::make(PipelineRecord record, std::vector<uint32_t> words) {
  const std::string name = record.name();
  const DeviceFacts& facts = device_.facts();
  const ModuleNeeds needs = needs_of(words, record.constants);
  check(needs.invocations <= facts.max_workgroup_size, "kernel {} takes workgroups of {}; {} allows {}", name,
        needs.invocations, facts.name, facts.max_workgroup_size);
  check(record.subgroup_size == 0 || needs.invocations <= facts.most_invocations(record.subgroup_size),
        "kernel {} takes {} invocations in subgroups of {}; {} allows {} of these", name, needs.invocations,
        record.subgroup_size, facts.name, facts.max_workgroup_subgroups);
  check(needs.shared_bytes <= facts.shared_memory, "kernel {} takes {} bytes of shared memory; {} has {}", name,
        needs.shared_bytes, facts.name, facts.shared_memory);
  log_pipeline(record);
  std::packaged_task<VkPipeline()> task(
      [this, record = std::move(record), words = std::move(words)] { return compile(record, words); });
  Pipeline pipeline(task.get_future(), needs.matrix_cores);
  enqueue(std::move(task));
  return pipelines_.emplace(name, std::move(pipeline)).first->second;
}

void PipelineCache::wait() const {
  for (const auto& [key, pipeline] : pipelines_) pipeline.wait();
}

void PipelineCache::enqueue(std::packaged_task<VkPipeline()> task) {
  const std::lock_guard lock(mutex_);
  const size_t most = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  if (queue_.size() >= idle_ && workers_.size() < most) add_worker();
  queue_.push_back(std::move(task));
  changed_.notify_one();
}

void PipelineCache::add_worker() try {
  workers_.emplace_back([this] { work(); });
} catch (const std::system_error& error) {
  check(!workers_.empty(), "no thread can be made: {}; end other programs or raise the limit (ulimit -u)",
        error.code().message());  // otherwise those that are there do the work
}

void PipelineCache::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    std::packaged_task<VkPipeline()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

VkPipeline PipelineCache::compile(PipelineRecord record, std::span<const uint32_t> words) {
  const std::vector<uint32_t>& constants = record.constants;
  const VkShaderModuleCreateInfo code{
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = words.size_bytes(), .pCode = words.data()};
  const auto module =
      make_owned<OwnedShaderModule>(device_.handle(), vkCreateShaderModule, code, "vkCreateShaderModule");
  device_.names().name(VK_OBJECT_TYPE_SHADER_MODULE, module.get(), record.kernel + "/" + record.variant);
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{.mapEntryCount = static_cast<uint32_t>(entries.size()),
                                            .pMapEntries = entries.data(),
                                            .dataSize = constants.size() * 4,
                                            .pData = constants.data()};
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = record.subgroup_size};
  // Dispatches that would run too long for the driver's watchdog are split by vkCmdDispatchBase.
  VkPipelineCreateFlags flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
  if (device_.has_statistics()) flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = flags,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = record.subgroup_size && !device_.facts().one_subgroup_size() ? &required : nullptr,
                .flags =
                    record.subgroup_size
                        ? VkPipelineShaderStageCreateFlags{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT}
                        : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module.get(),
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = layout_.get()};
  VkPipeline made = nullptr;
  const double thread_start = thread_seconds();
  const auto start = std::chrono::steady_clock::now();
  const VkResult result = vkCreateComputePipelines(device_.handle(), cache_.get(), 1, &info, nullptr, &made);
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  record.thread_seconds = thread_seconds() - thread_start;
  OwnedPipeline pipeline(result == VK_SUCCESS ? made : nullptr, {device_.handle()});
  if (pipeline) device_.names().name(VK_OBJECT_TYPE_PIPELINE, made, record.name());
  const std::string name = record.name(), what = fmt::format("vkCreateComputePipelines of {}", name);
  if (result != VK_SUCCESS) record.failure = fmt::format("{}: {}", what, static_cast<int>(result));
  if (pipeline && device_.has_statistics()) record.code = code_of(device_.handle(), made);
  log_pipeline(std::move(record));
  const DeviceFacts& facts = device_.facts();
  if (is_refusal(result))
    throw PipelineRefused(
        fmt::format("the driver of {} ({}) can't compile the kernel {}: {}; update it, or take another "
                    "--device",
                    device_.label(), facts.driver, name, result_text(result)));
  vk_check(result, what.c_str());
  const std::lock_guard lock(mutex_);
  made_.push_back(std::move(pipeline));
  return made;
}

}  // namespace vkformer
