#pragma once
// Files as torch.save writes them, byte by byte: there is no PyTorch here.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vkformer::testing {

template <class Number>
std::string little_endian(Number value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

struct ZipOptions {
  bool zip64 = false;
  uint16_t method = 0, flags = 0;
};

/// An archive of stored files. PyTorch aligns what is in them by a field of the local header, which is made up here,
/// too.
inline std::string zip_bytes(const std::vector<std::pair<std::string, std::string>>& files, ZipOptions options = {}) {
  std::string out, directory;
  const auto short_of = [&](uint64_t value) {
    return little_endian(options.zip64 ? UINT32_MAX : static_cast<uint32_t>(value));
  };
  for (const auto& [name, data] : files) {
    const uint64_t at = out.size();
    const std::string padding = "FB" + little_endian(uint16_t{5}) + "ZZZZZ";
    const auto common = little_endian(options.flags) + little_endian(options.method) + std::string(8, '\0');
    const auto sizes =
        short_of(data.size()) + short_of(data.size()) + little_endian(static_cast<uint16_t>(name.size()));
    out += "PK\x03\x04" + std::string("\0\0", 2) + common + sizes +
           little_endian(static_cast<uint16_t>(padding.size())) + name + padding + data;
    const std::string wide = !options.zip64 ? ""
                                            : little_endian(uint16_t{1}) + little_endian(uint16_t{24}) +
                                                  little_endian(uint64_t{data.size()}) +
                                                  little_endian(uint64_t{data.size()}) + little_endian(at);
    directory += "PK\x01\x02" + std::string(4, '\0') + common + sizes +
                 little_endian(static_cast<uint16_t>(wide.size())) + std::string(10, '\0') + short_of(at) + name + wide;
  }
  const uint64_t start = out.size(), count = files.size();
  out += directory;
  if (options.zip64) {
    const uint64_t end = out.size();
    out += "PK\x06\x06" + little_endian(uint64_t{44}) + std::string(12, '\0') + little_endian(count) +
           little_endian(count) + little_endian(uint64_t{directory.size()}) + little_endian(start);
    out += "PK\x06\x07" + std::string(4, '\0') + little_endian(end) + little_endian(uint32_t{1});
  }
  const auto files16 = little_endian(static_cast<uint16_t>(options.zip64 ? UINT16_MAX : count));
  return out + "PK\x05\x06" + std::string(4, '\0') + files16 + files16 + short_of(directory.size()) + short_of(start) +
         std::string(2, '\0');
}

struct TorchSource {
  std::string name;
  std::string storage;  ///< its key
  std::vector<int64_t> shape, strides = {};
  int64_t first = 0;
  std::string type = "FloatStorage";
  int64_t elements = -1;  ///< of the storage; -1: as many as the shape has
  bool parameter = false;
  bool older = false;  ///< before PyTorch 1.6
};

inline int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t dimension : shape) elements *= dimension;
  return elements;
}

// Instructions of pickle's protocol 2, as Python writes them.
inline std::string pickled_text(const std::string& text) {
  return "X" + little_endian(static_cast<uint32_t>(text.size())) + text;
}
inline std::string pickled_integer(int64_t value) {
  if (value >= 0 && value < 256) return "K" + std::string(1, static_cast<char>(value));
  if (value >= 0 && value < 65536) return "M" + little_endian(static_cast<uint16_t>(value));
  if (value >= INT32_MIN && value <= INT32_MAX) return "J" + little_endian(static_cast<int32_t>(value));
  return "\x8a\x08" + little_endian(value);
}
inline std::string pickled_tuple(const std::vector<int64_t>& values) {
  if (values.empty()) return ")";
  std::string out = values.size() > 3 ? "(" : "";
  for (const int64_t value : values) out += pickled_integer(value);
  return out + (values.size() > 3 ? 't' : static_cast<char>(0x84 + values.size()));
}
inline std::string pickled_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

inline std::string pickled_tensor(const TorchSource& tensor) {
  std::vector<int64_t> strides = tensor.strides;
  if (strides.empty() && !tensor.shape.empty()) {
    strides.assign(tensor.shape.size(), 1);
    for (size_t i = strides.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * tensor.shape[i];
  }
  const int64_t elements = tensor.elements < 0 ? elements_of(tensor.shape) : tensor.elements;
  const std::string storage = "(" + pickled_text("storage") + pickled_global("torch", tensor.type) +
                              pickled_text(tensor.storage) + pickled_text("cpu") + pickled_integer(elements) +
                              (tensor.older ? "NtQ" : "tQ");
  const std::string hooks = pickled_global("collections", "OrderedDict") + ")R";
  std::string out = pickled_global("torch._utils", "_rebuild_tensor_v2") + "(" + storage +
                    pickled_integer(tensor.first) + pickled_tuple(tensor.shape) + pickled_tuple(strides) + "\x89" +
                    hooks + "tR";
  if (tensor.parameter) out = pickled_global("torch._utils", "_rebuild_parameter") + out + "\x88" + hooks + "\x87R";
  return out;
}

/// data.pkl: an OrderedDict with the attribute _metadata.
inline std::string state_dict_pickle(const std::vector<TorchSource>& tensors) {
  std::string out =
      "\x80\x02" + pickled_global("collections", "OrderedDict") + "q" + std::string(1, '\0') + ")R" + "q\x01(";
  for (const TorchSource& tensor : tensors) out += pickled_text(tensor.name) + pickled_tensor(tensor);
  const std::string metadata = "}" + pickled_text("_metadata") + pickled_global("collections", "OrderedDict") + ")R" +
                               "(" + pickled_text("") + "}" + pickled_text("version") + "K\x01su" + "sb";
  return out + "u" + metadata + ".";
}

/// A pytorch_model.bin. `storages`: their bytes by key.
inline std::string torch_bytes(const std::vector<TorchSource>& tensors,
                               const std::vector<std::pair<std::string, std::string>>& storages,
                               ZipOptions options = {}) {
  std::vector<std::pair<std::string, std::string>> files{{"archive/data.pkl", state_dict_pickle(tensors)},
                                                         {"archive/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) files.emplace_back("archive/data/" + key, bytes);
  files.emplace_back("archive/version", "3\n");
  return zip_bytes(files, options);
}

/// The same of PyTorch before 1.6. `element`: bytes of one.
inline std::string older_torch_bytes(std::vector<TorchSource> tensors,
                                     const std::vector<std::pair<std::string, std::string>>& storages,
                                     size_t element = 4) {
  for (TorchSource& tensor : tensors) tensor.older = true;
  std::string out("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.\x80\x02M\xe9\x03.", 21);
  out += "\x80\x02}(" + pickled_text("protocol_version") + "M\xe9\x03" + pickled_text("little_endian") + "\x88" +
         pickled_text("type_sizes") + "}" + pickled_text("int") + "K\x04su.";
  out += state_dict_pickle(tensors) + "\x80\x02](";
  for (const auto& [key, bytes] : storages) out += pickled_text(key);
  out += "e.";
  for (const auto& [key, bytes] : storages) out += little_endian(uint64_t{bytes.size() / element}) + bytes;
  return out;
}

}  // namespace vkformer::testing
