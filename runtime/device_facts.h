#pragma once
// What kernels may depend on: plain facts of one Vulkan device, without vulkan.h.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace vkformer {

enum class DeviceKind : uint8_t { cpu, integrated, discrete, other };

/// The sizes of one product on matrix cores, computed by a subgroup together: c[m, n] += a[m, k] b[k, n], summed in
/// f32.
struct MatrixShape {
  uint32_t m = 0, n = 0, k = 0;
  DType type = DType::f16;  ///< of a and b
  bool operator==(const MatrixShape&) const = default;
};

/// Products that a whole workgroup computes together (VK_NV_cooperative_matrix2).
struct WorkgroupMatrices {
  struct Granularity {
    MatrixShape shape;  ///< sizes are multiples of these
    uint32_t invocations = 0;
  };
  std::vector<Granularity> granularities;
  bool tensor_addressing = false, reductions = false, conversions = false, per_element = false;
  uint32_t max_dimension = 0;
  uint32_t reserved_shared = 0;  ///< bytes of a workgroup that the driver takes
  bool f16_sums = false;         ///< matrices of sums may be of f16, too
  std::vector<DType> kernels;    ///< types of operands for which this build has kernels
  bool plain = false;            ///< not offered: the kernels' plain variants stand in, to be proved
};

/// What a device promises of 16-bit floats to shaders that ask for it.
struct HalfModes {
  bool nearest = false;     ///< they are rounded to nearest, ties to even; too large a value becomes infinite
  bool subnormals = false;  ///< small ones are kept
};

/// How much memory may be used.
struct MemoryLimits {
  uint64_t device = UINT64_MAX;  ///< bytes of the device's
  double share = 1;              ///< of what is free of that
  uint64_t host = UINT64_MAX;    ///< bytes of the host's for what kernels read there
  bool operator==(const MemoryLimits&) const = default;
};

struct DeviceFacts {
  std::string name;
  std::string driver;  ///< driver name and version as the driver reports them
  uint32_t vendor_id = 0;
  uint32_t device_id = 0;
  uint32_t driver_id = 0;  ///< VkDriverId
  uint32_t driver_version = 0;
  uint32_t api_version = 0;
  DeviceKind kind = DeviceKind::other;
  uint32_t subgroup_size = 0;
  uint32_t min_subgroup_size = 0;
  uint32_t max_subgroup_size = 0;
  bool subgroup_shuffle = false;    ///< shuffle and broadcast, from any lane, in compute shaders
  bool full_subgroups = false;      ///< full subgroups can be had, of any size from the least to the largest
  uint32_t max_workgroup_size = 0;  ///< invocations
  uint32_t max_workgroup_subgroups = UINT32_MAX;  ///< full ones, of a size that is asked for
  uint32_t max_workgroups[3] = {};
  uint32_t shared_memory = 0;   ///< bytes a workgroup
  uint64_t max_allocation = 0;  ///< bytes: the least of maxMemoryAllocationSize and maxBufferSize
  uint64_t memory_total = 0;    ///< bytes of the largest device-local heap; of an integrated GPU of all heaps
  uint64_t memory_free = 0;     ///< bytes of their budgets that are not in use, or what may be used of them
  /// Bytes free of host memory that kernels reach over the bus; where all memory is one, what may not be used as the
  /// device's.
  uint64_t host_memory_free = 0;
  bool int64 = false;
  bool float16 = false;  ///< 16-bit float arithmetic
  bool int16 = false;    ///< 16-bit integers, in storage buffers, too
  HalfModes half_modes;
  bool bfloat16 = false;
  bool integer_dot = false;
  bool cooperative_matrix = false;
  std::vector<MatrixShape> matrix_shapes;  ///< what the device offers on matrix cores
  bool f16_sums = false;                   ///< their matrices of sums may be of f16, too, where operands are
  WorkgroupMatrices workgroup_matrices;
  uint32_t cores = 0;  ///< multiprocessors or compute units; 0: unknown, since not every driver tells
  int64_t usual_cores() const { return cores > 0 ? cores : 64; }
  /// Whether a candidate of matmul for matrix cores, or a kind of attention, computes what it should with operands of a
  /// type: tried when first asked, since some drivers offer what they get wrong. Not set: it does.
  std::function<bool(DType, std::string_view kernel)> matrix_check;
  float timestamp_period = 0;   ///< nanoseconds a tick, 0 without timestamps
  uint32_t timestamp_bits = 0;  ///< valid bits of a timestamp
  uint32_t cpu_threads = 1;     ///< cores of the host: what a CPU device computes with
  uint32_t cpu_registers = 32;  ///< vector registers of each: 16 on x86-64 without AVX-512
  /// lavapipe with vectors of 256 bits on a CPU on which it is faster with 512. It takes these when the environment
  /// says LP_NATIVE_VECTOR_WIDTH=512 before a device is opened while none is open (see runtime/quirks.h).
  bool wider_vectors_pay = false;
  std::string kernels;                ///< fingerprint of the kernels in this build: times belong to them, too
  std::vector<DType> matrix_kernels;  ///< types of operands for which this build has those for matrix cores

  /// These facts where `other`, another device's, do not ask for less: its kind and cores, the lesser of both limits,
  /// what both can, products on matrix cores that both offer. Subgroups and timestamps stay: code cannot give them up.
  DeviceFacts within(const DeviceFacts& other) const;

  bool is_cpu() const { return kind == DeviceKind::cpu; }
  /// Whether its memory is the host's.
  bool one_memory() const { return is_cpu() || kind == DeviceKind::integrated; }
  bool one_subgroup_size() const { return min_subgroup_size == max_subgroup_size; }
  /// A GPU on which a subgroup's lanes divide the registers of a thread (Intel): wide subgroups have few each. Told by
  /// sizes below 32 among several that one can choose from (MoltenVK names 4 to 32 where Apple's GPUs have 32).
  bool lanes_share_registers() const {
    return !is_cpu() && !one_subgroup_size() && min_subgroup_size < 32 && full_subgroups;
  }
  /// Lanes of the full subgroups in which each has the most registers; 1: full ones can't be had.
  uint32_t roomy_subgroup() const {
    if (!full_subgroups) return 1;
    return lanes_share_registers() ? min_subgroup_size : subgroup_size;
  }
  /// Invocations of a workgroup of full subgroups of so many lanes: their number counts where their size is asked for.
  uint64_t most_invocations(uint32_t lanes) const {
    if (one_subgroup_size()) return max_workgroup_size;
    return std::min<uint64_t>(max_workgroup_size, uint64_t{lanes} * max_workgroup_subgroups);
  }
  /// Invocations of a workgroup of roomy subgroups, a power of two: at most `wanted`, which is one, too.
  uint32_t largest_group(uint32_t wanted) const {
    const uint64_t most = full_subgroups ? most_invocations(roomy_subgroup()) : max_workgroup_size;
    while (wanted > most) wanted /= 2;
    return wanted;
  }
  /// Whether this build has kernels, and the device products, for operands of that type.
  bool runs_matrix_kernels(DType type) const {
    const auto offered = [type](const MatrixShape& shape) { return shape.type == type; };
    return std::ranges::count(matrix_kernels, type) > 0 && std::ranges::any_of(matrix_shapes, offered);
  }
  bool computes_right(DType type, std::string_view kernel) const { return !matrix_check || matrix_check(type, kernel); }
  /// The same, where the smallest of them computes what it should.
  bool has_matrix_cores(DType type) const { return runs_matrix_kernels(type) && computes_right(type, "matrix64"); }
  /// Whether attention can use them, and computes what it should there; `kernel`: or its kernel for wide heads.
  bool has_matrix_attention(DType type, std::string_view kernel = "attention") const {
    return has_matrix_cores(type) && computes_right(type, kernel);
  }
  /// The same of the products of experts.
  bool has_matrix_experts(DType type) const { return has_matrix_cores(type) && computes_right(type, "experts"); }
  /// Both for products of whole workgroups.
  bool runs_workgroup_kernels(DType type) const {
    const WorkgroupMatrices& matrices = workgroup_matrices;
    const auto offered = [type](const WorkgroupMatrices::Granularity& g) { return g.shape.type == type; };
    return (matrices.plain || runs_matrix_kernels(type)) && matrices.tensor_addressing && matrices.per_element &&
           std::ranges::count(matrices.kernels, type) > 0 && std::ranges::any_of(matrices.granularities, offered);
  }
  bool has_workgroup_matrices(DType type) const {
    return runs_workgroup_kernels(type) &&
           (workgroup_matrices.plain || computes_right(type, "matrix_workgroup128x64_4"));
  }
};

}  // namespace vkformer
