#pragma once
// The languages of published models in the order of their tokens' ids, as fairseq's dictionaries have them.

#include <cstddef>
#include <string_view>

namespace vkformer {

/// mBART-50's; the first 25 are mBART's.
inline constexpr std::string_view mbart_languages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN", "hi_IN", "it_IT",
    "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP", "nl_XX", "ro_RO", "ru_RU", "si_LK",
    "tr_TR", "vi_VN", "zh_CN", "af_ZA", "az_AZ", "bn_IN", "fa_IR", "he_IL", "hr_HR", "id_ID", "ka_GE",
    "km_KH", "mk_MK", "ml_IN", "mn_MN", "mr_IN", "pl_PL", "ps_AF", "pt_XX", "sv_SE", "sw_KE", "ta_IN",
    "te_IN", "th_TH", "tl_XX", "uk_UA", "ur_PK", "xh_ZA", "gl_ES", "sl_SI"};
inline constexpr size_t mbart_25 = 25;

/// Of the models of WMT 2021 that are like M2M-100 ("language_codes": "wmt21").
inline constexpr std::string_view wmt21_languages[] = {"en", "ha", "is", "ja", "cs", "ru", "zh", "de"};

/// Of M2M-100; its tokens are "__af__" and so on.
inline constexpr std::string_view m2m_100_languages[] = {
    "af", "am", "ar", "ast", "az", "ba",  "be", "bg", "bn", "br", "bs", "ca", "ceb", "cs", "cy", "da", "de",
    "el", "en", "es", "et",  "fa", "ff",  "fi", "fr", "fy", "ga", "gd", "gl", "gu",  "ha", "he", "hi", "hr",
    "ht", "hu", "hy", "id",  "ig", "ilo", "is", "it", "ja", "jv", "ka", "kk", "km",  "kn", "ko", "lb", "lg",
    "ln", "lo", "lt", "lv",  "mg", "mk",  "ml", "mn", "mr", "ms", "my", "ne", "nl",  "no", "ns", "oc", "or",
    "pa", "pl", "ps", "pt",  "ro", "ru",  "sd", "si", "sk", "sl", "so", "sq", "sr",  "ss", "su", "sv", "sw",
    "ta", "th", "tl", "tn",  "tr", "uk",  "ur", "uz", "vi", "wo", "xh", "yi", "yo",  "zh", "zu"};

}  // namespace vkformer
