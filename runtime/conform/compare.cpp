#include "runtime/conform/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vkformer {

namespace {

/// Compares; records the worst share of the tolerance and the first violation.
void compare(ConformResult& result, const std::string& name, std::span<const float> got, const HostTensor& expected,
             double relative) {
  double largest = 0;
  for (double value : expected.data) largest = std::max(largest, std::abs(value));
  const double limit = relative * largest + 1e-7;
  for (size_t i = 0; i < got.size(); ++i) {
    double value = static_cast<double>(got[i]);
    if (expected.type.dtype == DType::i32) {
      int32_t integer;
      static_assert(sizeof integer == sizeof(float));
      std::copy_n(reinterpret_cast<const char*>(&got[i]), 4, reinterpret_cast<char*>(&integer));
      value = integer;
    }
    const double error = std::abs(value - expected.data[i]);
    if (!(error <= limit) && result.verdict == ConformResult::Verdict::ok) {
      result.verdict = ConformResult::Verdict::failed;
      result.detail =
          fmt::format("{}[{}] = {:g}, expected {:g}, tolerance {:g}", name, i, value, expected.data[i], limit);
    }
    if (std::isfinite(error)) result.worst = std::max(result.worst, error / limit);
  }
}

}  // namespace

double tolerance(DType dtype, int64_t reduction) {
  if (dtype == DType::i32) return 0;
  // The last digit of a 16-bit float is the driver's to round.
  const double rounding = dtype == DType::f16 ? 0x1p-10 : dtype == DType::bf16 ? 0x1p-7 : 0;
  return rounding + 4e-6 + 3e-7 * std::sqrt(static_cast<double>(reduction));
}

void fail_with(ConformResult& result, std::string detail) {
  if (result.verdict == ConformResult::Verdict::ok) result.detail = std::move(detail);
  result.verdict = ConformResult::Verdict::failed;
}

void run_and_compare(ConformResult& result, Program& program, const Case& c, const std::vector<HostTensor>& inputs,
                     const NamedTensors& expected) {
  std::vector<std::vector<float>> first;
  for (int pass = 0; pass < 2; ++pass) {
    write_inputs(program, c, inputs);
    const double before = program.counters().seconds;
    program.run();
    const double seconds = program.counters().seconds - before;
    result.seconds = pass == 0 ? seconds : std::min(result.seconds, seconds);
    program.check_guards();
    for (size_t o = 0; o < expected.size(); ++o) {
      const auto got = program.read(expected[o].first);
      if (pass == 0) {
        compare(result, expected[o].first, got, expected[o].second,
                tolerance(expected[o].second.type.dtype, c.reduction));
        first.push_back(got);
      } else if (!std::equal(got.begin(), got.end(), first[o].begin(), [](float a, float b) {
                   return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
                 })) {
        fail_with(result, expected[o].first + " differs between two runs: a race");
      }
    }
  }
}

}  // namespace vkformer
