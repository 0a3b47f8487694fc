// Rounding to the types whose blocks have 256 values: groups of 16 or 32 have scales that are themselves rounded. A
// scale (and a minimum) is tried at a few steps around the one that the largest value asks for; each time the codes'
// best scale in least squares follows, and the best of all stays. Sums are f32 and in ggml's order: the same codes win.

#include <algorithm>
#include <cmath>

#include "runtime/encoding/block_bits.h"
#include "runtime/encoding/encode_block.h"

namespace vkformer {

namespace {

/// Where groups count as zero.
constexpr float negligible = 1e-15f;

/// To the nearest integer, ties to even; of NaN (0 by a scale that overflows) 0.
int nearest(float value) {
  if (std::isnan(value)) return 0;
  constexpr float middle = 12582912.0f;  // 3 * 2^22: sums have no digits behind the point
  return static_cast<int>(std::clamp(value, -4194303.0f, 4194303.0f) + middle - middle);
}
int nearest(float value, int least, int most) { return std::clamp(nearest(value), least, most); }

/// values = scale * codes - minimum.
struct Group {
  float scale = 0, minimum = 0;
};

/// How scales of groups with a minimum are searched.
struct Search {
  int size;       ///< values in a group
  int most;       ///< the largest code
  float first;    ///< of the steps tried, in codes
  int steps;      ///< each 0.1 codes from the next
  bool absolute;  ///< errors count by their size, not by its square
};

/// Codes from 0 to `search.most` of values with a scale and a minimum; `weights` are those of the errors.
Group search_minimum(const Search& search, const float* values, const float* weights, uint8_t* codes) {
  float least = values[0], largest = values[0], sum_w = weights[0], sum_x = sum_w * values[0];
  for (int i = 1; i < search.size; ++i) {
    least = std::min(least, values[i]);
    largest = std::max(largest, values[i]);
    sum_w += weights[i];
    sum_x += weights[i] * values[i];
  }
  least = std::min(least, 0.0f);
  std::fill_n(codes, search.size, uint8_t{0});
  if (largest == least) return {0, -least};
  const auto most = static_cast<float>(search.most);
  const auto error_of = [&](float scale, float minimum, const uint8_t* tried) {
    float error = 0;
    for (int i = 0; i < search.size; ++i) {
      const float difference = scale * static_cast<float>(tried[i]) + minimum - values[i];
      error += weights[i] * (search.absolute ? std::abs(difference) : difference * difference);
    }
    return error;
  };
  float minimum = least;
  const float factor = most / (largest - minimum);
  float scale = 1 / factor;
  for (int i = 0; i < search.size; ++i)
    codes[i] = static_cast<uint8_t>(nearest(factor * (values[i] - minimum), 0, search.most));
  float best = error_of(scale, minimum, codes);
  for (int step = 0; step <= search.steps; ++step) {
    uint8_t tried[32];
    // From the best minimum so far.
    const float tried_factor = (search.first + 0.1f * static_cast<float>(step) + most) / (largest - minimum);
    float sum_l = 0, sum_l2 = 0, sum_xl = 0;
    for (int i = 0; i < search.size; ++i) {
      tried[i] = static_cast<uint8_t>(nearest(tried_factor * (values[i] - minimum), 0, search.most));
      const auto code = static_cast<float>(tried[i]);
      sum_l += weights[i] * code;
      sum_l2 += weights[i] * code * code;
      sum_xl += weights[i] * code * values[i];
    }
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float tried_scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    float tried_minimum = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    if (tried_minimum > 0) {
      tried_minimum = 0;
      tried_scale = sum_xl / sum_l2;
    }
    if (const float error = error_of(tried_scale, tried_minimum, tried); error < best) {
      std::copy_n(tried, search.size, codes);
      best = error;
      scale = tried_scale;
      minimum = tried_minimum;
    }
  }
  return {scale, -minimum};
}

/// What the error of a value counts: more, the larger the value is.
void weigh(const Search& search, const float* values, float* weights) {
  float squares = 0;
  for (int i = 0; i < search.size; ++i) squares += values[i] * values[i];
  const float common = search.absolute ? 0 : std::sqrt(squares / static_cast<float>(search.size));
  for (int i = 0; i < search.size; ++i) weights[i] = common + std::abs(values[i]);
}

/// Scales and minima of a block's groups, each rounded to a share of the largest.
struct RoundedGroups {
  uint8_t scales[16], minima[16];  ///< from 0 to `most`
  float scale, minimum;            ///< what one is worth
};

/// Searches all groups of a block; `codes` are those before scales are rounded.
RoundedGroups search_groups(const Search& search, int most, const float* values, uint8_t* codes) {
  Group groups[16];
  float largest_scale = 0, largest_minimum = 0;
  const int count = 256 / search.size;
  for (int group = 0; group < count; ++group) {
    const float* at = values + group * search.size;
    float weights[32] = {};
    weigh(search, at, weights);
    groups[group] = search_minimum(search, at, weights, codes + group * search.size);
    largest_scale = std::max(largest_scale, groups[group].scale);
    largest_minimum = std::max(largest_minimum, groups[group].minimum);
  }
  const auto limit = static_cast<float>(most);
  const float scale_factor = largest_scale > 0 ? limit / largest_scale : 0;
  const float minimum_factor = largest_minimum > 0 ? limit / largest_minimum : 0;
  RoundedGroups rounded{.scales = {}, .minima = {}, .scale = largest_scale / limit, .minimum = largest_minimum / limit};
  for (int group = 0; group < count; ++group) {
    rounded.scales[group] = static_cast<uint8_t>(nearest(scale_factor * groups[group].scale, 0, most));
    rounded.minima[group] = static_cast<uint8_t>(nearest(minimum_factor * groups[group].minimum, 0, most));
  }
  return rounded;
}

/// The codes of a group for a scale that has been rounded; where that is zero they stay.
void recode(const float* values, int size, float scale, float minimum, int most, uint8_t* codes) {
  if (scale == 0) return;
  for (int i = 0; i < size; ++i) codes[i] = static_cast<uint8_t>(nearest((values[i] + minimum) / scale, 0, most));
}

/// Codes of two bits of a block, or the low two bits of larger ones: four of 32 values each in a byte.
void pack_two_bits(const uint8_t* codes, uint8_t* quants) {
  for (int half = 0; half < 2; ++half)
    for (int l = 0; l < 32; ++l) {
      const uint8_t* at = codes + 128 * half + l;
      quants[32 * half + l] =
          static_cast<uint8_t>((at[0] & 3) | (at[32] & 3) << 2 | (at[64] & 3) << 4 | (at[96] & 3) << 6);
    }
}

void encode_q2_k(const float* values, uint8_t* block) {
  constexpr Search search{.size = 16, .most = 3, .first = -0.5f, .steps = 15, .absolute = true};
  uint8_t codes[256];
  const RoundedGroups groups = search_groups(search, 15, values, codes);
  write_f16(block + 80, groups.scale);
  write_f16(block + 82, groups.minimum);
  const float scale = read_f16(block + 80), minimum = read_f16(block + 82);
  for (int group = 0; group < 16; ++group) {
    block[group] = static_cast<uint8_t>(groups.scales[group] | groups.minima[group] << 4);
    recode(values + 16 * group, 16, scale * groups.scales[group], minimum * groups.minima[group], 3,
           codes + 16 * group);
  }
  pack_two_bits(codes, block + 16);
}

/// The 6-bit scales and minima of eight groups in 12 bytes.
void pack_six_bits(const RoundedGroups& groups, uint8_t* packed) {
  std::fill_n(packed, 12, uint8_t{0});
  for (int group = 0; group < 8; ++group) {
    const int scale = groups.scales[group], minimum = groups.minima[group];
    if (group < 4) {
      packed[group] = static_cast<uint8_t>(scale);
      packed[group + 4] = static_cast<uint8_t>(minimum);
    } else {
      packed[group + 4] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
      packed[group - 4] = static_cast<uint8_t>(packed[group - 4] | scale >> 4 << 6);
      packed[group] = static_cast<uint8_t>(packed[group] | minimum >> 4 << 6);
    }
  }
}

/// Q4_K and Q5_K; `high`: the fifth bits of the codes, or nullptr.
void encode_minima(const Search& search, const float* values, uint8_t* block, uint8_t* high, uint8_t* quants) {
  uint8_t codes[256];
  const RoundedGroups groups = search_groups(search, 63, values, codes);
  write_f16(block, groups.scale);
  write_f16(block + 2, groups.minimum);
  pack_six_bits(groups, block + 4);
  const float scale = read_f16(block), minimum = read_f16(block + 2);
  for (int group = 0; group < 8; ++group)
    recode(values + 32 * group, 32, scale * groups.scales[group], minimum * groups.minima[group], search.most,
           codes + 32 * group);
  if (high) std::fill_n(high, 32, uint8_t{0});
  for (int group = 0; group < 8; ++group)
    for (int l = 0; l < 32; ++l) {
      const int code = codes[32 * group + l];
      uint8_t& pair = quants[group / 2 * 32 + l];
      pair = static_cast<uint8_t>(group % 2 ? pair | (code & 15) << 4 : code & 15);
      if (high) high[l] = static_cast<uint8_t>(high[l] | code >> 4 << group);
    }
}

void encode_q4_k(const float* values, uint8_t* block) {
  encode_minima({.size = 32, .most = 15, .first = -1, .steps = 20, .absolute = false}, values, block, nullptr,
                block + 16);
}

void encode_q5_k(const float* values, uint8_t* block) {
  encode_minima({.size = 32, .most = 31, .first = -0.5f, .steps = 15, .absolute = false}, values, block, block + 16,
                block + 48);
}

/// Of sixteen values the one farthest from zero; of several the first.
float farthest(const float* values) {
  return *std::max_element(values, values + 16, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

/// The scale of a Q6_K group by which codes from -32 to 31 have the least error, squares counting by the values' own.
float search_scale(const float* values, uint8_t* codes) {
  const float extreme_value = farthest(values);
  std::fill_n(codes, 16, uint8_t{0});
  if (std::abs(extreme_value) < negligible) return 0;
  float scale = 0, best = 0;
  const auto attempt = [&](float factor, bool first) {
    float sum_xl = 0, sum_l2 = 0;
    uint8_t tried[16];
    for (int i = 0; i < 16; ++i) {
      const int code = nearest(factor * values[i], -32, 31);
      const float weight = values[i] * values[i];
      sum_xl += weight * values[i] * static_cast<float>(code);
      sum_l2 += weight * static_cast<float>(code) * static_cast<float>(code);
      tried[i] = static_cast<uint8_t>(code + 32);
    }
    if (!first && !(sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2)) return;
    std::copy_n(tried, 16, codes);
    scale = sum_l2 != 0 ? sum_xl / sum_l2 : 0;
    best = scale * sum_xl;
  };
  attempt(-32 / extreme_value, true);
  for (int step = -9; step <= 9; ++step)
    if (step != 0) attempt(-(32 + 0.1f * static_cast<float>(step)) / extreme_value, false);
  return scale;
}

void encode_q6_k(const float* values, uint8_t* block) {
  uint8_t codes[256];
  float scales[16];
  for (int group = 0; group < 16; ++group) scales[group] = search_scale(values + 16 * group, codes + 16 * group);
  const float largest = farthest(scales);
  if (std::abs(largest) < negligible) {
    std::fill_n(block, format_of(DType::q6_k).bytes, uint8_t{0});
    return;
  }
  const float factor = -128 / largest;
  write_f16(block + 208, 1 / factor);
  const float step = read_f16(block + 208);
  for (int group = 0; group < 16; ++group) {
    const auto scale = static_cast<int8_t>(std::min(nearest(factor * scales[group]), 127));
    block[192 + group] = static_cast<uint8_t>(scale);
    const float rounded = step * static_cast<float>(scale);
    if (rounded == 0) continue;
    for (int i = 16 * group; i < 16 * group + 16; ++i)
      codes[i] = static_cast<uint8_t>(nearest(values[i] / rounded, -32, 31) + 32);
  }
  for (int half = 0; half < 2; ++half)
    for (int l = 0; l < 32; ++l) {
      const uint8_t* at = codes + 128 * half + l;
      block[64 * half + l] = static_cast<uint8_t>((at[0] & 15) | (at[64] & 15) << 4);
      block[64 * half + 32 + l] = static_cast<uint8_t>((at[32] & 15) | (at[96] & 15) << 4);
      block[128 + 32 * half + l] =
          static_cast<uint8_t>(at[0] >> 4 | at[32] >> 4 << 2 | at[64] >> 4 << 4 | at[96] >> 4 << 6);
    }
}

/// The scale of a Q3_K group: codes from -4 to 3 change one by one while the least-squares error falls.
float refine_scale(const float* values, uint8_t* codes) {
  const float extreme_value = farthest(values);
  std::fill_n(codes, 16, uint8_t{0});
  if (std::abs(extreme_value) < negligible) return 0;
  const float factor = -4 / extreme_value;
  int chosen[16];
  float sum_xl = 0, sum_l2 = 0;
  for (int i = 0; i < 16; ++i) {
    chosen[i] = nearest(factor * values[i], -4, 3);
    const float weight = values[i] * values[i], code = static_cast<float>(chosen[i]);
    sum_xl += weight * values[i] * code;
    sum_l2 += weight * code * code;
  }
  bool changed = true;
  for (int round = 0; round < 5 && changed; ++round) {
    changed = false;
    for (int i = 0; i < 16; ++i) {
      const float weight = values[i] * values[i], code = static_cast<float>(chosen[i]);
      float xl = sum_xl - weight * values[i] * code;
      if (!(xl > 0)) continue;
      float l2 = sum_l2 - weight * code * code;
      const int other = nearest(values[i] * l2 / xl, -4, 3);
      if (other == chosen[i]) continue;
      xl += weight * values[i] * static_cast<float>(other);
      l2 += weight * static_cast<float>(other) * static_cast<float>(other);
      if (!(l2 > 0 && xl * xl * sum_l2 > sum_xl * sum_xl * l2)) continue;
      chosen[i] = other;
      sum_xl = xl;
      sum_l2 = l2;
      changed = true;
    }
  }
  for (int i = 0; i < 16; ++i) codes[i] = static_cast<uint8_t>(chosen[i] + 4);
  return sum_l2 > 0 ? sum_xl / sum_l2 : 0;
}

void encode_q3_k(const float* values, uint8_t* block) {
  uint8_t codes[256];
  float scales[16];
  for (int group = 0; group < 16; ++group) scales[group] = refine_scale(values + 16 * group, codes + 16 * group);
  const float largest = farthest(scales);
  std::fill_n(block, format_of(DType::q3_k).bytes, uint8_t{0});
  uint8_t* packed = block + 96;
  if (largest != 0) {
    const float factor = -32 / largest;
    for (int group = 0; group < 16; ++group) {
      const int scale = nearest(factor * scales[group], -32, 31) + 32;
      packed[group % 8] = static_cast<uint8_t>(packed[group % 8] | (scale & 15) << group / 8 * 4);
      packed[8 + group % 4] = static_cast<uint8_t>(packed[8 + group % 4] | scale >> 4 << 2 * (group / 4));
    }
    write_f16(block + 108, 1 / factor);
  }
  const float step = read_f16(block + 108);
  for (int group = 0; group < 16; ++group) {
    const float scale = step * static_cast<float>(centred_scale(packed, group));
    if (scale == 0) continue;
    for (int i = 16 * group; i < 16 * group + 16; ++i)
      codes[i] = static_cast<uint8_t>(nearest(values[i] / scale, -4, 3) + 4);
  }
  for (int i = 0; i < 256; ++i) block[i % 32] = static_cast<uint8_t>(block[i % 32] | codes[i] >> 2 << i / 32);
  pack_two_bits(codes, block + 32);
}

}  // namespace

EncodeBlock super_block_encoder(DType dtype) {
  switch (dtype) {
    case DType::q2_k: return encode_q2_k;
    case DType::q3_k: return encode_q3_k;
    case DType::q4_k: return encode_q4_k;
    case DType::q5_k: return encode_q5_k;
    case DType::q6_k: return encode_q6_k;
    default: return nullptr;
  }
}

}  // namespace vkformer
