#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

#include "models/images/image_formats.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// libpng over bytes in memory. Its errors are jumps, which must not pass over anything that is to be destroyed: only
/// guarded() calls it.
class PngReader {
 public:
  PngReader(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::on_error, &PngReader::on_warning);
    if (png_) info_ = png_create_info_struct(png_);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  StoredImage read(const SizeCheck& check_size) {
    check(info_ != nullptr, "{}: libpng does not start; install the version it was built with", name_);
    guarded(&PngReader::read_header);
    check_size(png_get_image_width(png_, info_), png_get_image_height(png_, info_));
    StoredImage stored{.image = {png_get_image_width(png_, info_), png_get_image_height(png_, info_), {}}};
    stored.image.rgb.resize(static_cast<size_t>(3 * stored.image.width * stored.image.height));
    for (int64_t row = 0; row < stored.image.height; ++row)
      rows_.push_back(stored.image.rgb.data() + 3 * row * stored.image.width);
    guarded(&PngReader::read_rows);
    stored.exif.resize(exif_size_);
    if (exif_size_) std::memcpy(stored.exif.data(), exif_, exif_size_);
    return stored;
  }

 private:
  void guarded(void (PngReader::*step)()) {
    if (setjmp(png_jmpbuf(png_)) == 0) {
      (this->*step)();
      return;
    }
    check(!cut_off_, "{}: it ends too early: it was cut off; copy or download it again", name_);
    fail("{}: the file is damaged ({}); copy or download it again", name_, printable(message_.data()));
  }

  void read_header() {
    png_set_read_fn(png_, this, &PngReader::on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // the number of pixels is what is limited
    png_read_info(png_, info_);
    // To red, green and blue of 8 bits, without a look at gamma.
    png_set_strip_16(png_);
    png_set_expand(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != size_t{3} * png_get_image_width(png_, info_)) png_error(png_, "other rows");
  }

  void read_rows() {
    png_read_image(png_, rows_.data());
    png_read_end(png_, info_);
    png_get_eXIf_1(png_, info_, &exif_size_, &exif_);
  }

  static void on_read(png_structp png, png_bytep to, size_t wanted) {
    auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (wanted > reader.bytes_.size()) {
      reader.cut_off_ = true;
      png_error(png, "cut off");
    }
    std::memcpy(to, reader.bytes_.data(), wanted);
    reader.bytes_ = reader.bytes_.subspan(wanted);
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader.message_.data(), message, reader.message_.size() - 1);
    png_longjmp(png, 1);
  }

  static void on_warning(png_structp, png_const_charp) {}

  std::span<const std::byte> bytes_;  ///< those not read yet
  std::string name_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::vector<png_bytep> rows_;
  png_uint_32 exif_size_ = 0;
  png_bytep exif_ = nullptr;
  bool cut_off_ = false;
  std::array<char, 200> message_ = {};
};

}  // namespace

StoredImage read_png(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check_size) {
  return PngReader(bytes, name).read(check_size);
}

}  // namespace vkformer
