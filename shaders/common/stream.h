#pragma once
// Launches kernels built on shaders/common/stream.glsl.

#include "runtime/recorder.h"
#include "shaders/common/stream.args.h"

namespace vkformer {

/// The two variants of a stream kernel: "quads" (vec4 access) and "words" (64-bit access, needs int64). To be used as
/// Op::candidates.
std::vector<std::string_view> stream_candidates(const Node& node, const DeviceFacts& facts);

/// The same for kernels whose `RealQuads` have the type of the node's first input: where that is of 16 bits, the
/// variant of its name.
std::vector<std::string_view> typed_stream_candidates(const Node& node, const DeviceFacts& facts);

/// As Op::room: "words" pay where a driver loads lane by lane, on CPUs.
KernelRoom stream_room(std::string_view candidate);

/// How far one workgroup walks: `elements` must be below 2^31.
Stream stream_over(const DeviceFacts& facts, int64_t elements);

/// Number of workgroups that walk it.
uint32_t stream_groups(const Stream& stream);

/// Invocations of a workgroup, a power of two and at most 256: specialization constant 0.
uint32_t stream_workgroup(const DeviceFacts& facts);

/// The launch of `kernel`, in the variant that is the node's candidate. Specialization constants 1, 2, ... are
/// `constants`.
Launch stream_launch(const Recorder& recorder, std::string_view kernel, const Stream& stream,
                     std::vector<uint32_t> constants = {});

/// Copies between ranges that do not overlap, as Recorder::copy does: on GPUs by a kernel, where the ranges are whole
/// words from an address that vectors may have.
void stream_copy(Recorder& recorder, Region source, Region target);

}  // namespace vkformer
