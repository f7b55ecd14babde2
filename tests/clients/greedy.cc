// greedy MODEL DEVICE COUNT flash|plain: prints the tokens of greedy decoding. DEVICE: a device of
// ggml's such as CANN0, or CPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "llama.h"

namespace {

void PrintWarnings(ggml_log_level level, const char* text, void* /*data*/) {
  if (level >= GGML_LOG_LEVEL_WARN) std::fputs(text, stderr);
}

llama_model* LoadModel(const char* file, const std::string& device) {
  ggml_backend_dev_t devices[] = {nullptr, nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = devices;
  params.n_gpu_layers = 0;
  if (device != "CPU") {
    devices[0] = ggml_backend_dev_by_name(device.c_str());
    if (devices[0] == nullptr) return nullptr;
    params.n_gpu_layers = 99;
  }
  return llama_model_load_from_file(file, params);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  llama_log_set(PrintWarnings, nullptr);
  ggml_backend_load_all();
  llama_backend_init();
  llama_model* const model = LoadModel(argv[1], argv[2]);
  if (model == nullptr) return 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 2;
  params.flash_attn_type = std::strcmp(argv[4], "flash") == 0 ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                                                              : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<llama_token> tokens{1, 5, 9, 33, 77, 120, 4, 8};
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const auto count = static_cast<int32_t>(tokens.size());
    if (llama_decode(context, llama_batch_get_one(tokens.data(), count)) != 0) return 1;
    const float* const logits = llama_get_logits_ith(context, -1);
    tokens = {static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits)};
    std::printf("%d ", tokens[0]);
  }
  std::printf("\n");
  llama_free(context);
  llama_model_free(model);
  return 0;
}
