// Rounding to IQ4_NL and IQ4_XS, whose codes stand for values that lie closer to each other around zero.

#include <algorithm>
#include <cmath>

#include "runtime/encoding/block_bits.h"
#include "runtime/encoding/encode_block.h"

namespace vkformer {

namespace {

/// The code whose value is nearest; halfway the larger one.
uint8_t nearest_code(float value) {
  uint8_t code = 0;
  while (code < 15 && !(value - static_cast<float>(uneven_values[code]) <
                        static_cast<float>(uneven_values[code + size_t{1}]) - value))
    ++code;
  return code;
}

/// The scale by which the codes of 32 values have the least error, squares counting by the values' own: of those by
/// which the value farthest from zero gets a code's value or up to seven less or more than that of the first code.
float search_scale_of_32(const float* values) {
  const float extreme_value =
      *std::max_element(values, values + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  if (std::abs(extreme_value) < 1e-15f) return 0;
  constexpr float first_value = -127;
  float scale = 0, best = 0;
  const auto attempt = [&](float factor, bool first) {
    float sum_xq = 0, sum_q2 = 0;
    for (int i = 0; i < 32; ++i) {
      const auto q = static_cast<float>(uneven_values[nearest_code(factor * values[i])]);
      const float weight = values[i] * values[i];
      sum_xq += weight * q * values[i];
      sum_q2 += weight * q * q;
    }
    if (!first && !(sum_q2 > 0 && sum_xq * sum_xq > best * sum_q2)) return;
    scale = sum_q2 > 0 ? sum_xq / sum_q2 : 0;
    best = scale * sum_xq;
  };
  attempt(1 / (-extreme_value / first_value), true);
  for (int step = -7; step <= 7; ++step) attempt((static_cast<float>(step) + first_value) / extreme_value, false);
  return scale;
}

/// The codes of 32 values, two in a byte.
void put_codes(const float* values, float scale, uint8_t* codes) {
  const float factor = scale != 0 ? 1 / scale : 0;
  for (int j = 0; j < 16; ++j)
    codes[j] = static_cast<uint8_t>(nearest_code(factor * values[j]) | nearest_code(factor * values[j + 16]) << 4);
}

}  // namespace

void encode_iq4_nl(const float* values, uint8_t* block) {
  const float scale = search_scale_of_32(values);
  write_f16(block, scale);
  put_codes(values, scale, block + 2);
}

void encode_iq4_xs(const float* values, uint8_t* block) {
  float scales[8], largest = 0;
  for (int group = 0; group < 8; ++group) {
    scales[group] = search_scale_of_32(values + 32 * group);
    if (std::abs(scales[group]) > std::abs(largest)) largest = scales[group];
  }
  const float d = -largest / 32, factor = d != 0 ? 1 / d : 0;
  std::fill_n(block, 8, uint8_t{0});
  write_f16(block, d);
  for (int group = 0; group < 8; ++group) {
    const int scale = std::clamp(static_cast<int>(std::nearbyint(factor * scales[group])), -32, 31);
    put_codes(values + 32 * group, d * static_cast<float>(scale), block + 8 + 16 * group);
    const int bits = scale + 32;
    block[2 + group / 4] = static_cast<uint8_t>(block[2 + group / 4] | bits >> 4 << 2 * (group % 4));
    block[4 + group / 2] = static_cast<uint8_t>(block[4 + group / 2] | (bits & 15) << 4 * (group % 2));
  }
}

}  // namespace vkformer
