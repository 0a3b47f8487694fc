#pragma once
// The fields of a serialized protobuf message, read with suspicion. SentencePiece's own classes for its messages are
// not among its public headers.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/check.h"

namespace vkformer {

struct ProtoField {
  uint64_t number = 0;
  uint64_t value = 0;           ///< of a whole number, a boolean or the bits of a float
  std::string_view bytes = {};  ///< of a string or a message; those of a float, too

  bool is_bytes = false;
  float number_value() const { return std::bit_cast<float>(static_cast<uint32_t>(value)); }
};

/// Calls action(field) for every field of `message` in its order. Throws Error, with `name`, when it is no message.
template <class Action>
void each_field(std::string_view message, std::string_view name, const Action& action) {
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      check(at < message.size(), "{}: it ends within a number; the file is damaged, download it again", name);
      const auto byte = static_cast<uint8_t>(message[at++]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t tag = varint();
    ProtoField field{.number = tag >> 3};
    uint64_t length = 0;
    switch (tag & 7) {
      case 0: field.value = varint(); break;
      case 1: length = 8; break;
      case 2: length = varint(); break;
      case 5: length = 4; break;
      default: fail("{}: it has a field of an unknown type; the file is damaged, download it again", name);
    }
    check(length <= message.size() - at, "{}: it ends within a field; the file is damaged, download it again", name);
    field.bytes = message.substr(at, length);
    field.is_bytes = (tag & 7) == 2;
    if ((tag & 7) == 1 || (tag & 7) == 5) std::memcpy(&field.value, field.bytes.data(), length);
    at += length;
    action(field);
  }
}

}  // namespace vkformer
