// Columns of text: each distinct label kept once, its bytes end to end with the others, and a code per row.
#pragma once
#include "encoding.hpp"

#include <algorithm>
#include <string>

[[noreturn]] inline void refuse(const std::string &why) { throw std::invalid_argument(why); }

// Whether bytes are UTF-8: no stray or missing continuation, no overlong form, no surrogate, nothing past U+10FFFF.
inline bool is_utf8(const char *data, size_t size) {
    auto *p = reinterpret_cast<const uint8_t *>(data), *end = p + size;
    while (p < end) {
        if (end - p >= 8 && !(load<uint64_t>(reinterpret_cast<const char *>(p)) & 0x8080808080808080ull)) {
            p += 8;
            continue;
        }
        uint8_t lead = *p++;
        if (lead < 0x80) continue;
        int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4 || end - p < more) return false;
        uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        for (; more > 0; --more, low = 0x80, high = 0xBF)
            if (*p < low || *p++ > high) return false;
    }
    return true;
}

// Distinct strings of one column with their bytes kept end to end.
class TextEncoder {
  public:
    LargeVector<int32_t> codes;
    std::vector<int64_t> offsets{0}, first;
    std::vector<uint8_t> bytes;

    template <typename Get> void append(size_t n, Get get) {
        size_t base = codes.size();
        codes.resize(base + n);
        Key keys[BLOCK];
        uint64_t hashes[BLOCK];
        Text texts[BLOCK], previous{nullptr, 0};
        size_t rows[BLOCK];
        int32_t previous_code = -1;
        bool sorted = true; // whether rows repeat their predecessor, as in a sorted column
        for (size_t start = 0; start < n; start += BLOCK) {
            size_t stop = start + BLOCK < n ? start + BLOCK : n, waiting = 0;
            if (sorted && start > 0 && previous.data && get.all_repeat(start, stop)) {
                std::fill(codes.begin() + static_cast<std::ptrdiff_t>(base + start),
                          codes.begin() + static_cast<std::ptrdiff_t>(base + stop), previous_code);
                continue;
            }
            for (size_t k = start; k < stop; ++k) {
                Text text = get(k);
                bool repeats = sorted && text.size == previous.size && k > 0 && !text.data == !previous.data &&
                               (!text.data || same_bytes(text.data, previous.data, text.size));
                previous = text;
                if (repeats) continue; // sorted columns repeat their label row after row
                texts[waiting] = text;
                rows[waiting] = k;
                if (text.data) {
                    keys[waiting] = make_key(text, 1);
                    hashes[waiting] = hash_key(keys[waiting]);
                    table_.prefetch(hashes[waiting]);
                }
                ++waiting;
            }
            sorted = waiting < stop - start || start % (16 * BLOCK) == 0; // look again now and then
            size_t next = start;
            for (size_t w = 0; w < waiting; ++w) {
                for (; next < rows[w]; ++next) codes[base + next] = previous_code;
                int64_t row = static_cast<int64_t>(base + rows[w]);
                previous_code = texts[w].data ? add(texts[w], keys[w], hashes[w], row) : -1;
                codes[base + next++] = previous_code;
            }
            for (; next < stop; ++next) codes[base + next] = previous_code;
        }
    }
    int32_t add(Text text, const Key &key, uint64_t hash, int64_t row) {
        int32_t code = table_.find_or_add(key, hash, [&](int32_t c) {
            return std::memcmp(bytes.data() + offsets[c], text.data, text.size) == 0; // the key holds the length
        });
        if (static_cast<size_t>(code) == first.size()) {
            if (!is_utf8(text.data, text.size)) refuse("the text in row " + std::to_string(row + 1) + " is not UTF-8");
            bytes.insert(bytes.end(), text.data, text.data + text.size);
            offsets.push_back(static_cast<int64_t>(bytes.size()));
            first.push_back(row);
        }
        return code;
    }
    int32_t add(Text text, int64_t row) {
        if (!text.data) return -1;
        Key key = make_key(text, 1);
        return add(text, key, hash_key(key), row);
    }

  private:
    HashTable table_;
};
