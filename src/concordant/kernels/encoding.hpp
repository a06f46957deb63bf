// The table behind every encoder: labels become codes in order of first appearance.
//
// Short labels stand inside the entries, and rows go through in blocks so that table lines are prefetched before they
// are needed: a vocabulary larger than the cache costs one overlapped miss per row.
#pragma once
#include "common.hpp"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

constexpr size_t BLOCK = 64;

inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __uint128_t product = static_cast<__uint128_t>(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xD6E8FEB86659FD93ull);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
    a = (a ^ b) * 0x9E3779B97F4A7C15ull;
    return (a ^ (a >> 32)) * 0xD6E8FEB86659FD93ull;
#endif
}

struct Text {
    const char *data;
    size_t size;
};

// A label as three words: up to 22 bytes stand in the key itself (then length and character width in the top bytes),
// longer ones are represented by length and two hashes and compared in full where those agree.
struct Key {
    uint64_t word[3];
    bool operator==(const Key &other) const {
        return word[0] == other.word[0] && word[1] == other.word[1] && word[2] == other.word[2];
    }
};
constexpr size_t SHORT = 22;
constexpr uint64_t LONG = 255ull << 56;

inline bool is_short(const Key &key) { return (key.word[2] & LONG) != LONG; }

template <typename T> inline uint64_t load(const char *p) {
    T value;
    std::memcpy(&value, p, sizeof(T));
    return value;
}

// The n <= 8 bytes at p as one word, zeros above (byte order as on every machine we build for: little endian).
inline uint64_t load_up_to_8(const char *p, size_t n) {
    if (n == 8) return load<uint64_t>(p);
    if (n >= 4) return load<uint32_t>(p) | load<uint32_t>(p + n - 4) << (8 * (n - 4));
    if (n >= 2) return load<uint16_t>(p) | load<uint16_t>(p + n - 2) << (8 * (n - 2));
    return n ? load<uint8_t>(p) : 0;
}

inline bool same_bytes(const char *a, const char *b, size_t n) {
    if (n <= 8) return load_up_to_8(a, n) == load_up_to_8(b, n);
    return load<uint64_t>(a) == load<uint64_t>(b) && std::memcmp(a + 8, b + 8, n - 8) == 0;
}

inline Key make_key(Text text, int width) {
    const char *p = text.data;
    size_t n = text.size;
    if (n <= SHORT) {
        uint64_t top = static_cast<uint64_t>(n) << 56 | static_cast<uint64_t>(width) << 48;
        if (n <= 8) return {{load_up_to_8(p, n), 0, top}};
        if (n <= 16) return {{load<uint64_t>(p), load<uint64_t>(p + n - 8) >> (8 * (16 - n)), top}};
        return {{load<uint64_t>(p), load<uint64_t>(p + 8), load<uint64_t>(p + n - 8) >> (8 * (24 - n)) | top}};
    }
    uint64_t one = n, two = static_cast<uint64_t>(width);
    for (; n > 8; p += 8, n -= 8) {
        uint64_t word = load<uint64_t>(p);
        one = mix(one, word);
        two = mix(word, two + 0xA0761D6478BD642Full);
    }
    uint64_t last = load_up_to_8(p, n);
    return {{mix(one, last), mix(last, two), LONG | (text.size & ~LONG)}};
}

inline uint64_t hash_key(const Key &key) { return mix(mix(key.word[0], key.word[1]), key.word[2]); }

// Open addressing with the whole short label inside the entry: one cache line per look-up, prefetched a block ahead.
class HashTable {
  public:
    struct Entry {
        Key key;
        int32_t code; // -1 = free
    };
    HashTable() : entries_(64, Entry{{{0, 0, 0}}, -1}) {}
    void prefetch(uint64_t hash) const { PREFETCH(&entries_[hash & (entries_.size() - 1)]); }

    // The code of this key, or a new one (= count). `same(code)` settles long labels.
    template <typename Same> int32_t find_or_add(const Key &key, uint64_t hash, Same same) {
        size_t mask = entries_.size() - 1, at = hash & mask;
        while (entries_[at].code >= 0) {
            if (entries_[at].key == key && (is_short(key) || same(entries_[at].code))) return entries_[at].code;
            at = (at + 1) & mask;
        }
        if (count_ == std::numeric_limits<int32_t>::max()) throw std::length_error("more than 2^31 distinct labels");
        entries_[at] = {key, count_};
        if (2 * static_cast<size_t>(++count_) > mask) grow();
        return count_ - 1;
    }

  private:
    std::vector<Entry> entries_;
    int32_t count_ = 0;

    void grow() {
        std::vector<Entry> old(2 * entries_.size(), Entry{{{0, 0, 0}}, -1});
        old.swap(entries_);
        size_t mask = entries_.size() - 1;
        for (const Entry &entry : old) {
            if (entry.code < 0) continue;
            size_t at = hash_key(entry.key) & mask;
            while (entries_[at].code >= 0) at = (at + 1) & mask;
            entries_[at] = entry;
        }
    }
};

// Hand a vector to NumPy without copying it.
template <typename T, typename A> Out<T> to_numpy(std::vector<T, A> values) {
    using Vector = std::vector<T, A>;
    auto *kept = new Vector(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<Vector *>(p); });
    return Out<T>(kept->data(), {kept->size()}, owner);
}

