#include "runtime/conform/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vkformer {

namespace {

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

/// Compares; records the worst share of the tolerance and the first violation.
void compare(ConformResult& result, const std::string& name, std::span<const float> got, const HostTensor& expected,
             double relative) {
  const std::vector<double> limits = row_limits(expected, relative);
  for (size_t i = 0; i < got.size(); ++i) {
    const double limit = limits[i * limits.size() / got.size()];
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

std::vector<double> row_limits(const HostTensor& expected, double relative) {
  // Sums that cancel leave little of what they were rounded at, and in 16 bits they were rounded on the way.
  const double least_row = is_half(expected.type.dtype) ? 1 : 8;
  const std::span<const double> all = expected.data;
  const Shape& shape = expected.type.shape;
  const size_t columns = shape.rank() > 0 && shape.columns() > 0 ? static_cast<size_t>(shape.columns()) : 1;
  const double least = largest_of(all) / least_row;
  std::vector<double> limits;
  for (size_t at = 0; at < all.size(); at += columns)
    limits.push_back(relative * std::max(largest_of(all.subspan(at, columns)), least) + 1e-7);
  return limits;
}

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
