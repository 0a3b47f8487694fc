#pragma once
// T5's sentinels, <extra_id_0>, <extra_id_1> ..: special tokens that stand for gaps in a text.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vkformer {

class Tokenizer;

/// "<extra_id_7>"
std::string sentinel(size_t number);

/// The ids of all sentinels of a tokenizer, by their numbers; there may be none.
std::vector<int32_t> sentinel_ids(const Tokenizer& tokenizer);

/// Of a source with sentinels those that it has not: a model that writes one has filled all gaps, and goes on because
/// it was trained on longer texts. Of any other source none.
std::vector<int32_t> sentinels_beyond(const Tokenizer& tokenizer, std::span<const int32_t> source);

/// Ids as text without special tokens, but for sentinels, which stand between blanks: "<extra_id_0> big <extra_id_1>".
std::string decode_with_sentinels(const Tokenizer& tokenizer, std::span<const int32_t> ids);

}  // namespace vkformer
