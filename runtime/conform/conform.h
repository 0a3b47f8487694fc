#pragma once
// Conformance: every op's cases on a device against the double reference, and the gradients by finite differences.
//
// For each case and each kernel: the outputs start as NaN, sentinels lie behind every tensor, the case runs twice and
// must give the same bits, and
//     |device - reference| <= tolerance(dtype, reduction length) * largest |reference| of the row + 1e-7,
// where no row counts as less than an eighth of the tensor, and each as all of one of 16 bits.
// Where a result may overwrite an operand, it also does so, once more and without sentinels.
// With gradients: (1) the reference's gradient rule against finite differences of the reference (directional
// derivatives, double precision), (2) the device's gradients against the reference's.
//
// The kernels are those written for this kind of device (Op::room) but those that the case spares, and the one that a
// plan would choose first; with `all`, every one that is legal there.

#include "runtime/backend.h"

namespace vkformer {

/// f32: 4e-6 for the elementary functions behind an element, plus rounding that grows with the square root of the
/// number of terms summed into it (3e-7 a term, about five units in the last place).
double tolerance(DType dtype, int64_t reduction);

struct ConformResult {
  enum class Verdict : uint8_t { ok, failed, not_supported };
  std::string op;
  std::string what;   ///< shapes, attributes, kernel
  std::string check;  ///< "forward", "in place", "gradient rule", "gradient"
  Verdict verdict = Verdict::ok;
  double worst = 0;    ///< largest error as a share of its tolerance
  double seconds = 0;  ///< of the faster of the device's two runs
  std::string detail;  ///< why it failed
  bool device_lost = false;  ///< that, and no further one can run
};

struct ConformOptions {
  std::string op;       ///< only this op; empty for all
  std::string pattern;  ///< regular expression on "op what"; empty for all
  std::string kernel;   ///< regular expression on a kernel's name: only those, where they are legal; empty for all
  bool gradients = false;
  bool all = false;       ///< every kernel that is legal: those for other kinds of device and those a case spares, too
  bool distinct = false;  ///< skip what needs no pipeline that nothing before it needed
};

/// Runs the cases, calling `report` after each; pipelines of later cases are made meanwhile. Throws UsageError for an
/// unknown op or a bad regular expression.
void conform(Backend& backend, const ConformOptions& options, const std::function<void(const ConformResult&)>& report);

/// Has the driver make the pipelines that those cases need, and runs nothing (Backend::make_pipelines). Throws
/// UsageError as conform() does.
void make_case_pipelines(Backend& backend, const ConformOptions& options);

/// Uniform random values of one input, the same on every machine.
HostTensor random_tensor(const CaseInput& input, uint64_t seed);

}  // namespace vkformer
