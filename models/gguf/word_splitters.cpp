#include "models/gguf/word_splitters.h"

namespace vkformer {
namespace {

/// As Hugging Face's files have them.
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Words may have marks, too.
constexpr std::string_view qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Words end where small letters end: in capitals, too. Contractions belong to their word.
constexpr std::string_view gpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view tekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view seed =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Behind numbers and Chinese and Japanese letters.
constexpr std::string_view deepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Letters that are large or small, and what are none.
constexpr std::string_view deepseek_letters =
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)";
constexpr std::string_view deepseek_marks = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
                           far_eastern = "[一-龥ࠀ-一가-퟿]+";

}  // namespace

const std::vector<WordSplitter>& word_splitters() {
  static const std::vector<WordSplitter> all = {
      {.names = {"gpt-2", "phi-2", "olmo", "mpt", "jais", "roberta-bpe", "gigachat", "exaone4"}, .expressions = {}},
      {.names = {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
       .expressions = {llama3},
       .ignore_merges = true,
       .add_bos = true},
      {.names = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, .expressions = {llama3}},
      {.names = {"qwen2", "deepseek-r1-qwen", "megrez"}, .expressions = {qwen2}, .nfc = true},
      {.names = {"qwen35"}, .expressions = {qwen35}, .nfc = true},
      {.names = {"gpt-4o", "llama4"}, .expressions = {gpt4o}},
      {.names = {"tekken"}, .expressions = {tekken}, .ignore_merges = true, .add_bos = true},
      {.names = {"stablelm2"}, .expressions = {qwen2}},
      {.names = {"bloom", "poro-chat", "gpt3-finnish"}, .expressions = {" ?[^(\\s|.,!?…。，、।۔،)]+"}},
      {.names = {"seed-coder"}, .expressions = {seed}},
      {.names = {"deepseek-llm"},
       .expressions = {"[\r\n]", deepseek_letters, deepseek_marks, R"(\s+$)", far_eastern, R"(\p{N}+)"}},
      {.names = {"deepseek-coder"}, .expressions = {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", far_eastern, R"(\p{N})"}},
      {.names = {"deepseek-v3", "hunyuan-dense"},
       .expressions = {R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+", deepseek3}},
      {.names = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       .expressions = {digit_expression, gpt2_expression}},
      {.names = {"default"},
       .expressions = {R"([\p{P}\$\+<=>\^~\|]+)", gpt2_expression, R"(\p{N}+)", "[0-9][0-9][0-9]"}}};
  return all;
}

}  // namespace vkformer
