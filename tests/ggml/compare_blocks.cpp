// The blocks of runtime/encoding against ggml's own functions; see tests/ggml/run.

#include <fmt/core.h>
#include <ggml.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <list>
#include <random>
#include <vector>

#include "runtime/encoding/encoding.h"
#include "runtime/files/safetensors.h"
#include "runtime/half.h"

namespace {

using namespace vkformer;

struct Type {
  DType ours;
  ggml_type theirs;
};
constexpr Type types[] = {
    {DType::f16, GGML_TYPE_F16},       {DType::bf16, GGML_TYPE_BF16},     {DType::q8_0, GGML_TYPE_Q8_0},
    {DType::q4_0, GGML_TYPE_Q4_0},     {DType::q4_1, GGML_TYPE_Q4_1},     {DType::q5_0, GGML_TYPE_Q5_0},
    {DType::q5_1, GGML_TYPE_Q5_1},     {DType::q2_k, GGML_TYPE_Q2_K},     {DType::q3_k, GGML_TYPE_Q3_K},
    {DType::q4_k, GGML_TYPE_Q4_K},     {DType::q5_k, GGML_TYPE_Q5_K},     {DType::q6_k, GGML_TYPE_Q6_K},
    {DType::iq4_nl, GGML_TYPE_IQ4_NL}, {DType::iq4_xs, GGML_TYPE_IQ4_XS}, {DType::mxfp4, GGML_TYPE_MXFP4}};

/// What a NaN looks like is nobody's business.
bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

std::vector<std::byte> random_bytes(size_t count, std::mt19937_64& draw) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw() >> 56);
  return bytes;
}

std::vector<float> decode_theirs(ggml_type type, const std::vector<std::byte>& blocks, size_t values) {
  std::vector<float> out(values);
  ggml_get_type_traits(type)->to_float(blocks.data(), out.data(), static_cast<int64_t>(values));
  return out;
}

/// Blocks of any bits.
bool decodes(const Type& type, int blocks, std::mt19937_64& draw) {
  constexpr int at_a_time = 1000;
  const BlockFormat& format = format_of(type.ours);
  if (static_cast<size_t>(format.bytes) != ggml_type_size(type.theirs) || format.values != ggml_blck_size(type.theirs))
    return fmt::print("{}: blocks of another size\n", format.name), false;
  for (int done = 0; done < blocks; done += at_a_time) {
    const auto bytes = random_bytes(static_cast<size_t>(format.bytes * at_a_time), draw);
    std::vector<float> ours(static_cast<size_t>(format.values * at_a_time));
    decode(type.ours, bytes, ours);
    const auto theirs = decode_theirs(type.theirs, bytes, ours.size());
    for (size_t i = 0; i < ours.size(); ++i)
      if (!same(ours[i], theirs[i]))
        return fmt::print("{}: value {} is {:a}, ggml's {:a}\n", format.name, i, ours[i], theirs[i]), false;
  }
  return true;
}

/// Weights as models have them, and blocks of zeros, of one number, of tiny, large and positive ones.
std::vector<float> random_values(size_t count, std::mt19937_64& draw) {
  const auto unit = [&] { return static_cast<double>(draw() >> 11) * 0x1p-53; };
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i += 256) {
    const auto kind = draw() % 16;
    const double size = kind == 1 ? 1e-6 : kind == 2 ? 1000 : 0.02 + 0.1 * unit();
    for (size_t j = i; j < std::min(count, i + 256); ++j) {
      const double normal = std::sqrt(-2 * std::log(1 - unit())) * std::cos(6.283185307179586 * unit());
      values[j] = kind == 3 ? 0 : kind == 4 ? 0.5f : static_cast<float>(size * (kind == 5 ? std::abs(normal) : normal));
      if (kind == 6 && j % 32 < 16) values[j] = 0;
      if (kind == 7) values[j] = std::round(values[j] * 64) / 64;  // ties
    }
  }
  return values;
}

std::vector<std::byte> encode_theirs(const Type& type, const std::vector<float>& values) {
  std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(type.ours, static_cast<int64_t>(values.size()))));
  ggml_quantize_chunk(type.theirs, values.data(), blocks.data(), 0, static_cast<int64_t>(values.size()) / 256, 256,
                      nullptr);
  return blocks;
}

bool encodes(const Type& type, int blocks, std::mt19937_64& draw) {
  const auto values = random_values(static_cast<size_t>(blocks) * 256, draw);
  const auto theirs = encode_theirs(type, values);
  std::vector<std::byte> ours(theirs.size());
  encode(type.ours, values, ours);
  size_t unlike = 0;
  const auto size = static_cast<size_t>(encoded_bytes(type.ours, 256));
  for (size_t i = 0; i < ours.size(); i += size) unlike += std::memcmp(&ours[i], &theirs[i], size) != 0;
  if (unlike > 0) fmt::print("{}: {} of {} times 256 values have other bits\n", name_of(type.ours), unlike, blocks);
  return unlike == 0;
}

/// Known answers for the test suite, all ggml's: `TYPE.blocks`, `TYPE.values` that they mean, and `TYPE.encoded`, what
/// `values` become.
void record(std::mt19937_64& draw) {
  std::list<std::vector<std::byte>> bytes;
  std::list<std::vector<float>> floats;
  std::vector<TensorSource> tensors;
  const auto& values = floats.emplace_back(random_values(2048, draw));
  tensors.push_back(TensorSource::of("values", {2048}, values));
  const auto add_bytes = [&](std::string name, std::vector<std::byte> data) {
    const auto& kept = bytes.emplace_back(std::move(data));
    tensors.push_back(
        {std::move(name), FileDType::u8, {static_cast<int64_t>(kept.size())}, [&kept] { return std::span(kept); }});
  };
  for (const Type& type : types) {
    const std::string name(name_of(type.ours));
    auto blocks = random_bytes(static_cast<size_t>(encoded_bytes(type.ours, 512)), draw);
    const auto& decoded = floats.emplace_back(decode_theirs(type.theirs, blocks, 512));
    add_bytes(name + ".blocks", std::move(blocks));
    tensors.push_back(TensorSource::of(name + ".values", {512}, decoded));
    add_bytes(name + ".encoded", encode_theirs(type, values));
  }
  write_safetensors("tests/fixtures/blocks.safetensors", std::move(tensors), {{"source", "tests/ggml/run --record"}});
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937_64 draw(20260923);
  int faults = 0;
  for (const Type& type : types) {
    const bool decoded = decodes(type, 1000000, draw), encoded = encodes(type, 100000, draw);
    fmt::print("{:8} {} {}\n", name_of(type.ours), decoded ? "decoded" : "DECODED OTHERWISE",
               encoded ? "encoded" : "ENCODED OTHERWISE");
    faults += !decoded + !encoded;
  }
  if (argc > 1 && std::string_view(argv[1]) == "--record") record(draw);
  return faults == 0 ? 0 : 1;
}
