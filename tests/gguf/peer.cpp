// What llama.cpp makes of a GGUF file, on its CPU backend.
//
//   peer FILE logits IDS.bin OUT.bin    i32 ids of one sequence -> f32 logits of every position; of an encoder-decoder
//                                       "N ids of the source, then those of the decoder" (the first number is N);
//                                       of a classifier its scores
//   peer FILE tokens < TEXTS            a line of ids for each line
//   peer FILE greedy COUNT < IDS        of each line of ids the line with COUNT likeliest ones behind them
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace {

void quiet(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

int fail(const char* what) {
  std::fprintf(stderr, "peer: %s\n", what);
  return 1;
}

llama_context* make_context(llama_model* model, bool scores) {
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 256;
  parameters.type_k = parameters.type_v = GGML_TYPE_F32;
  parameters.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  parameters.n_threads = parameters.n_threads_batch = 1;
  if (scores) {
    parameters.embeddings = true;
    parameters.pooling_type = LLAMA_POOLING_TYPE_RANK;
  }
  return llama_init_from_model(model, parameters);
}

llama_batch whole(std::vector<int32_t>& ids, bool all) {
  llama_batch batch = llama_batch_init(static_cast<int32_t>(ids.size()), 0, 1);
  batch.n_tokens = static_cast<int32_t>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    batch.token[i] = ids[i];
    batch.pos[i] = static_cast<llama_pos>(i);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = all;
  }
  return batch;
}

int tokens(const llama_vocab* vocab) {
  std::string all((std::istreambuf_iterator<char>(std::cin)), {});
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    const std::string text = all.substr(at, end - at);
    at = end == all.npos ? all.size() : end + 1;
    std::vector<llama_token> ids(text.size() + 16);
    const int count = llama_tokenize(vocab, text.data(), static_cast<int32_t>(text.size()), ids.data(),
                                     static_cast<int32_t>(ids.size()), true, true);
    if (count < 0) return fail("too many tokens");
    for (int i = 0; i < count; ++i) std::printf("%d%s", ids[static_cast<size_t>(i)], i + 1 < count ? " " : "");
    std::printf("\n");
  }
  return 0;
}

int logits(llama_model* model, const char* in, const char* out) {
  std::ifstream file(in, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<int32_t> ids(bytes.size() / 4);
  bytes.copy(reinterpret_cast<char*>(ids.data()), bytes.size());
  const bool encodes = llama_model_has_encoder(model) && llama_model_has_decoder(model);
  const int classes = static_cast<int>(llama_model_n_cls_out(model));
  char architecture[64] = {};
  llama_model_meta_val_str(model, "general.architecture", architecture, sizeof architecture);
  const bool bert = std::string(architecture) == "bert";
  llama_context* context = make_context(model, bert);
  if (!context) return fail("no context");
  std::vector<float> values;
  if (encodes) {
    std::vector<int32_t> source(ids.begin() + 1, ids.begin() + 1 + ids[0]);
    ids.erase(ids.begin(), ids.begin() + 1 + ids[0]);
    if (llama_encode(context, whole(source, true))) return fail("the encoder failed");
  }
  if (bert ? llama_encode(context, whole(ids, true)) : llama_decode(context, whole(ids, true)))
    return fail("it failed");
  if (bert) {
    const float* scores = llama_get_embeddings_seq(context, 0);
    values.assign(scores, scores + classes);
  } else {
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    for (size_t i = 0; i < ids.size(); ++i) {
      const float* row = llama_get_logits_ith(context, static_cast<int32_t>(i));
      values.insert(values.end(), row, row + vocabulary);
    }
  }
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return 0;
}

int greedy(llama_model* model, int count) {
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_context* context = make_context(model, false);
  if (!context) return fail("no context");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<llama_token> ids(std::istream_iterator<llama_token>(words), {});
    llama_memory_clear(llama_get_memory(context), true);
    std::vector<llama_token> next = ids;
    for (int i = 0; i < count; ++i) {
      if (llama_decode(context, llama_batch_get_one(next.data(), static_cast<int32_t>(next.size()))))
        return fail("it failed");
      const float* logits = llama_get_logits_ith(context, -1);
      next = {static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits)};
      ids.push_back(next[0]);
    }
    for (size_t i = 0; i < ids.size(); ++i) std::printf("%d%s", ids[i], i + 1 < ids.size() ? " " : "\n");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return fail("peer FILE logits IDS.bin OUT.bin | peer FILE tokens | peer FILE greedy COUNT");
  llama_log_set(quiet, nullptr);
  ggml_backend_load_all();
  llama_model_params parameters = llama_model_default_params();
  parameters.n_gpu_layers = 0;
  const bool only_tokens = std::string(arguments[2]) == "tokens";
  parameters.vocab_only = only_tokens;
  llama_model* model = llama_model_load_from_file(arguments[1], parameters);
  if (!model) return fail("can't load the file");
  if (only_tokens) return tokens(llama_model_get_vocab(model));
  if (std::string(arguments[2]) == "greedy") return greedy(model, std::stoi(arguments[3]));
  return count == 5 ? logits(model, arguments[3], arguments[4]) : fail("logits IDS.bin OUT.bin");
}
