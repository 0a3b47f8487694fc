// What llama.cpp makes of a picture and a text about it, by two GGUF files, on its CPU backend.
//
//   eyes_peer TEXT.gguf MMPROJ.gguf PICTURE states OUT.bin < TEXT    f32 states of the picture's positions
//   eyes_peer TEXT.gguf MMPROJ.gguf PICTURE greedy COUNT < TEXT      COUNT likeliest ids behind the text, in a line
//
// The text has <__media__> in the picture's place.
#include <ggml-backend.h>
#include <llama.h>
#include <mtmd-helper.h>
#include <mtmd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

namespace {

void quiet(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

int fail(const char* what) {
  std::fprintf(stderr, "eyes_peer: %s\n", what);
  return 1;
}

llama_context* make_context(llama_model* model) {
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 256;
  parameters.type_k = parameters.type_v = GGML_TYPE_F32;
  parameters.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  parameters.n_threads = parameters.n_threads_batch = 1;
  return llama_init_from_model(model, parameters);
}

mtmd_context* make_eyes(const char* file, const llama_model* model) {
  mtmd_context_params parameters = mtmd_context_params_default();
  parameters.use_gpu = false;
  parameters.n_threads = 1;
  parameters.warmup = false;
  parameters.media_marker = "<__media__>";
  parameters.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  return mtmd_init_from_file(file, model, parameters);
}

int states(mtmd_context* eyes, const mtmd_input_chunks* chunks, int columns, const char* out) {
  std::ofstream file(out, std::ios::binary);
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks); ++i) {
    const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks, i);
    if (mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_IMAGE) continue;
    if (mtmd_encode_chunk(eyes, chunk) != 0) return fail("the picture can't be encoded");
    const size_t values = mtmd_input_chunk_get_n_tokens(chunk) * static_cast<size_t>(columns);
    file.write(reinterpret_cast<const char*>(mtmd_get_output_embd(eyes)), static_cast<std::streamsize>(values * 4));
  }
  return file.good() ? 0 : fail("the states can't be written");
}

int greedy(mtmd_context* eyes, llama_context* context, const llama_model* model, const mtmd_input_chunks* chunks,
           int count) {
  llama_pos place = 0;
  if (mtmd_helper_eval_chunks(eyes, context, chunks, 0, 0, 256, true, &place) != 0)
    return fail("the text can't be run");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_batch batch = llama_batch_init(1, 0, 1);
  for (int i = 0; i < count; ++i) {
    const float* logits = llama_get_logits_ith(context, -1);
    const llama_token best = static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits);
    std::printf("%d%s", best, i + 1 < count ? " " : "\n");
    batch.n_tokens = 1;
    batch.token[0] = best;
    batch.pos[0] = place++;
    batch.n_seq_id[0] = 1;
    batch.seq_id[0][0] = 0;
    batch.logits[0] = 1;
    if (llama_decode(context, batch) != 0) return fail("a token can't be run");
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 6) return fail("see the first lines of eyes_peer.cpp");
  mtmd_helper_log_set(quiet, nullptr);
  llama_log_set(quiet, nullptr);
  ggml_backend_load_all();
  llama_model_params parameters = llama_model_default_params();
  parameters.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file(arguments[1], parameters);
  if (model == nullptr) return fail("the model can't be read");
  mtmd_context* eyes = make_eyes(arguments[2], model);
  if (eyes == nullptr) return fail("the eyes can't be read");
  const auto picture = mtmd_helper_bitmap_init_from_file(eyes, arguments[3], false, mtmd_helper_init_opt_default());
  if (picture.bitmap == nullptr) return fail("the picture can't be read");
  const std::string words((std::istreambuf_iterator<char>(std::cin)), {});
  mtmd_input_text text{};
  text.text = words.c_str();
  text.text_len = words.size();
  text.add_special = true;
  text.parse_special = true;
  mtmd_input_chunks* chunks = mtmd_input_chunks_init();
  const mtmd_bitmap* bitmaps[] = {picture.bitmap};
  if (mtmd_tokenize(eyes, chunks, &text, bitmaps, 1) != 0) return fail("the text has no place for one picture");
  const std::string mode = arguments[4];
  if (mode == "states") return states(eyes, chunks, llama_model_n_embd_inp(model), arguments[5]);
  if (mode != "greedy") return fail("states or greedy");
  llama_context* context = make_context(model);
  if (context == nullptr) return fail("there is no context for the model");
  return greedy(eyes, context, model, chunks, std::stoi(arguments[5]));
}
