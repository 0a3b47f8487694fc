#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "models/chat/chat_files.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/word_splitters.h"
#include "models/model_files.h"
#include "models/text/decoders.h"
#include "models/text/precompiled_charsmap.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// The steps of a normalizer, a pre-tokenizer or a decoder, those of sequences one by one.
void collect_steps(const json& part, const char* list, std::vector<json>& steps) {
  if (!part.is_object()) return;
  if (part.value("type", "") != "Sequence") return steps.push_back(part);
  for (const json& step : part.value(list, json::array())) collect_steps(step, list, steps);
}

/// What tokenizer.json says, as a file lists it.
class Exporter {
 public:
  /// `merges`: readers of the model's files want the merges themselves of SentencePiece's BPE (Gemma 4).
  Exporter(GgufPairs& pairs, const JsonObject& tokenizer, int64_t vocabulary, bool merges)
      : pairs_(pairs), file_(tokenizer.name()), json_(tokenizer.value()), merges_(merges) {
    collect_steps(json_.value("normalizer", json()), "normalizers", normalizers_);
    collect_steps(json_.value("pre_tokenizer", json()), "pretokenizers", splitters_);
    read_tokens(vocabulary);
    read_template();
  }

  void add() {
    const std::string type = model().value("type", "");
    if (type == "BPE" && splits_bytes())
      add_byte_level();
    else if (type == "BPE" && model().value("byte_fallback", false))
      add_sentence_piece();
    else if (type == "WordPiece")
      add_word_piece();
    else if (type == "Unigram")
      add_unigram();
    else
      fail(
          "{}: a GGUF file can't say a tokenizer of type {} without bytes; train a model on one that it can "
          "(vkformer tokens --kind byte-bpe, or unigram)",
          file_, in_quotes(type));
  }

  std::optional<size_t> before() const { return before_; }
  std::optional<size_t> behind() const { return behind_; }
  std::optional<size_t> find(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  const json& model() const { return json_.at("model"); }

  void set(size_t id, const std::string& text, TokenKind kind) {
    check(id < tokens_.size(), "{}: token {} has the id {}, the model knows {}", file_, in_quotes(text), id,
          tokens_.size());
    tokens_[id] = text;
    kinds_[id] = static_cast<int32_t>(kind);
    ids_.emplace(text, id);
  }

  void read_tokens(int64_t vocabulary) {
    for (int64_t i = 0; i < vocabulary; ++i) tokens_.push_back(fmt::format("[PAD{}]", i));
    kinds_.assign(tokens_.size(), static_cast<int32_t>(TokenKind::unused));
    const json& vocab = model().at("vocab");
    if (vocab.is_object()) {
      for (const auto& [text, id] : vocab.items()) set(id.get<size_t>(), text, TokenKind::normal);
    } else {
      for (size_t id = 0; id < vocab.size(); ++id) set(id, vocab[id].at(0), TokenKind::normal);
    }
    for (const json& added : json_.value("added_tokens", json::array()))
      set(added.at("id"), added.at("content"),
          added.value("special", false) ? TokenKind::control : TokenKind::user_defined);
  }

  /// The special tokens around a text.
  void read_template() {
    std::vector<json> steps;
    collect_steps(json_.value("post_processor", json()), "processors", steps);
    for (const json& step : steps) {
      const std::string type = step.value("type", "");
      if (type == "BertProcessing" || type == "RobertaProcessing") {
        before_ = step.at("cls").at(1).get<size_t>();
        behind_ = step.at("sep").at(1).get<size_t>();
      }
      if (type != "TemplateProcessing") continue;
      bool text = false;
      for (const json& part : step.at("single")) {
        text = text || part.contains("Sequence");
        if (!part.contains("SpecialToken")) continue;
        const std::string name = part["SpecialToken"].at("id");
        const json& ids = step.at("special_tokens").at(name).at("ids");
        std::optional<size_t>& place = text ? behind_ : before_;
        check(!place && ids.size() == 1, "{}: a GGUF file can't say more than one token before or behind a text",
              file_);
        place = ids[0].get<size_t>();
      }
    }
  }

  bool splits_bytes() const {
    return std::ranges::any_of(splitters_, [](const json& step) { return step.value("type", "") == "ByteLevel"; });
  }
  bool has_normalizer(const char* type) const {
    return std::ranges::any_of(normalizers_, [&](const json& step) { return step.value("type", "") == type; });
  }

  void start(const char* model, std::string_view pre) {
    pairs_.add_text("tokenizer.ggml.model", model);
    pairs_.add_text("tokenizer.ggml.pre", pre);
    pairs_.add_texts("tokenizer.ggml.tokens", tokens_);
    pairs_.add_integers("tokenizer.ggml.token_type", kinds_);
  }

  void add_flags() {
    pairs_.add_boolean("tokenizer.ggml.add_bos_token", before_.has_value());
    pairs_.add_boolean("tokenizer.ggml.add_eos_token", behind_.has_value());
  }

  /// The expressions that split words, one after the other; those of other steps as if they were ones.
  std::vector<std::string> expressions() const {
    std::vector<std::string> found;
    for (const json& step : splitters_) {
      const std::string type = step.value("type", "");
      if (type == "Split" && step.value("behavior", "") == "Isolated" && !step.value("invert", false) &&
          step.at("pattern").contains("Regex"))
        found.push_back(step["pattern"]["Regex"]);
      else if (type == "Digits" && step.value("individual_digits", false))
        found.emplace_back(digit_expression);
      else if (type == "ByteLevel" && !step.value("add_prefix_space", false)) {
        if (step.value("use_regex", true)) found.emplace_back(gpt2_expression);
      } else
        found.push_back("? " + type);
    }
    return found;
  }

  void add_merges() {
    std::vector<std::string> merges;
    for (const json& merge : model().at("merges"))
      merges.push_back(merge.is_string() ? merge.get<std::string>()
                                         : fmt::format("{} {}", merge.at(0).get_ref<const std::string&>(),
                                                       merge.at(1).get_ref<const std::string&>()));
    pairs_.add_texts("tokenizer.ggml.merges", merges);
  }

  void add_byte_level() {
    const std::vector<std::string> wanted = expressions();
    const bool nfc = has_normalizer("NFC"), ignore = model().value("ignore_merges", false);
    const WordSplitter* splitter = nullptr;
    int best = -1;
    for (const WordSplitter& known : word_splitters()) {
      const auto equal = known.expressions.empty() ? std::vector<std::string_view>{gpt2_expression} : known.expressions;
      const int fit = (known.nfc == nfc) + (known.ignore_merges == ignore);
      if (!std::ranges::equal(wanted, equal) || fit <= best) continue;
      splitter = &known;
      best = fit;
    }
    check(splitter != nullptr, "{}: the pre_tokenizer splits words in a way that has no name in GGUF files", file_);
    start("gpt2", splitter->names.front());
    add_merges();
    add_flags();
  }

  /// What is merged first has the highest score.
  void add_sentence_piece() {
    mark_unknown();
    std::vector<float> scores(tokens_.size(), 0);
    std::vector<bool> scored(tokens_.size());
    float rank = 0;
    for (const json& merge : model().at("merges")) {
      std::string joined;
      if (merge.is_string()) {
        joined = merge;
        joined.erase(joined.find(' '), 1);
      } else {
        joined = merge.at(0).get<std::string>() + merge.at(1).get<std::string>();
      }
      const auto id = find(joined);
      check(id.has_value(), "{}: a merge makes {}, which is no token", file_, in_quotes(joined));
      if (scored[*id]) continue;
      scored[*id] = true;
      scores[*id] = rank--;
    }
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if (byte_of_token(tokens_[id]) >= 0) kinds_[id] = static_cast<int32_t>(TokenKind::byte);
      if (!scored[id] && kinds_[id] == static_cast<int32_t>(TokenKind::normal)) scores[id] = rank--;
    }
    start(merges_ ? "gemma4" : "llama", merges_ ? "gemma4" : "default");
    if (merges_) add_merges();
    pairs_.add_numbers("tokenizer.ggml.scores", scores);
    const bool metaspace = std::ranges::any_of(splitters_, [](const json& step) {
      return step.value("type", "") == "Metaspace" && step.value("prepend_scheme", "always") != "never";
    });
    pairs_.add_boolean("tokenizer.ggml.add_space_prefix", metaspace || has_normalizer("Prepend"));
    add_flags();
  }

  void add_word_piece() {
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if (kinds_[id] != static_cast<int32_t>(TokenKind::normal)) continue;
      std::string& text = tokens_[id];
      text = text.starts_with("##") ? text.substr(2) : std::string(space_sign) + text;
    }
    start("bert", "default");
    for (const json& step : normalizers_) {
      if (step.value("type", "") != "BertNormalizer") continue;
      const bool lower = step.value("lowercase", true);
      const json strip = step.value("strip_accents", json());
      pairs_.add_boolean("tokenizer.ggml.normalizer.lowercase", lower);
      pairs_.add_boolean("tokenizer.ggml.normalizer.strip_accents", strip.is_boolean() ? strip.get<bool>() : lower);
    }
    if (before_) pairs_.add_integer("tokenizer.ggml.cls_token_id", static_cast<uint32_t>(*before_));
    if (behind_) pairs_.add_integer("tokenizer.ggml.seperator_token_id", static_cast<uint32_t>(*behind_));
    if (const auto id = find("[MASK]")) pairs_.add_integer("tokenizer.ggml.mask_token_id", static_cast<uint32_t>(*id));
    if (const auto id = find(model().value("unk_token", "[UNK]")))
      pairs_.add_integer("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(*id));
  }

  void add_unigram() {
    mark_unknown();
    std::vector<float> scores(tokens_.size(), -10000);
    for (size_t id = 0; id < model().at("vocab").size(); ++id) scores[id] = model()["vocab"][id].at(1);
    start("t5", "default");
    pairs_.add_numbers("tokenizer.ggml.scores", scores);
    const bool prefix = std::ranges::any_of(splitters_, [](const json& step) {
      return step.value("type", "") == "Metaspace" && step.value("prepend_scheme", "always") != "never";
    });
    pairs_.add_boolean("tokenizer.ggml.add_space_prefix", prefix);
    pairs_.add_boolean("tokenizer.ggml.remove_extra_whitespaces", has_normalizer("Replace"));
    for (const json& step : normalizers_)
      if (step.value("type", "") == "Precompiled" && step.at("precompiled_charsmap").is_string())
        pairs_.add_bytes("tokenizer.ggml.precompiled_charsmap",
                         from_base64(step["precompiled_charsmap"].get<std::string>()));
    add_flags();
  }

  void mark_unknown() {
    std::optional<size_t> id;
    if (model().contains("unk_id") && model()["unk_id"].is_number()) id = model()["unk_id"].get<size_t>();
    if (model().contains("unk_token") && model()["unk_token"].is_string()) id = find(model()["unk_token"]);
    if (!id || *id >= tokens_.size()) return;
    kinds_[*id] = static_cast<int32_t>(TokenKind::unknown);
    pairs_.add_integer("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(*id));
  }

  GgufPairs& pairs_;
  std::string file_;
  const json& json_;
  bool merges_;
  std::vector<json> normalizers_, splitters_;
  std::vector<std::string> tokens_;
  std::vector<int32_t> kinds_;
  std::unordered_map<std::string, size_t> ids_;
  std::optional<size_t> before_, behind_;  ///< ids of the special tokens around a text
};

/// Numbers that were parsed have no sign, those that were computed have one.
bool is_id(const json& value) { return value.is_number_integer() && value >= int64_t{0}; }

/// The ids that end a text: generation_config.json's, and only without them the config's.
std::vector<size_t> ends_of(const json& config, const std::filesystem::path& folder) {
  std::vector<size_t> ends;
  const auto add = [&](const json& id) {
    if (is_id(id) && std::ranges::find(ends, id.get<size_t>()) == ends.end()) ends.push_back(id);
  };
  const auto add_all = [&](const json& from) {
    const json ids = from.value("eos_token_id", json());
    for (const json& id : ids.is_array() ? ids : json::array({ids})) add(id);
  };
  if (has_model_json(folder, generation_file)) add_all(load_model_json(folder, generation_file).value());
  if (ends.empty()) add_all(config);
  return ends;
}

/// The first id under one of Hugging Face's keys.
std::optional<size_t> id_in(const json& config, const char* key) {
  const json id = config.value(key, json());
  if (id.is_array() && !id.empty() && is_id(id[0])) return id[0].get<size_t>();
  return is_id(id) ? std::optional(id.get<size_t>()) : std::nullopt;
}

}  // namespace

void add_tokenizer(GgufPairs& pairs, const std::filesystem::path& folder, const json& config, int64_t vocabulary) {
  const std::vector<size_t> ends = ends_of(config, folder);
  std::optional<size_t> bos = id_in(config, "bos_token_id"), eos;
  if (!ends.empty()) eos = ends.front();
  if (has_model_json(folder, "tokenizer.json")) {
    const JsonObject file = load_model_json(folder, "tokenizer.json");
    try {
      Exporter exporter(pairs, file, vocabulary, config.value("model_type", "").starts_with("gemma4"));
      exporter.add();
      if (exporter.before()) bos = exporter.before();
      if (exporter.behind()) eos = exporter.behind();
    } catch (const json::exception& error) {
      fail("{}: it is no tokenizer: {}", file.name(), printable(error.what()));
    }
  } else {
    pairs.add_text("tokenizer.ggml.model", "none");
  }
  if (bos) pairs.add_integer("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(*bos));
  if (eos) pairs.add_integer("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(*eos));
  // What else ends a text: a turn, a message. The format has no more.
  const char* more[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
  size_t count = 0;
  for (const size_t id : ends)
    if (id != eos && count < std::size(more)) pairs.add_integer(more[count++], static_cast<uint32_t>(id));
  if (const auto id = id_in(config, "pad_token_id"))
    pairs.add_integer("tokenizer.ggml.padding_token_id", static_cast<uint32_t>(*id));
  if (const std::string text = chat_template_text(folder); !text.empty())
    pairs.add_text("tokenizer.chat_template", text);
}

}  // namespace vkformer
