// Labels to codes: lists of str, integer arrays and Arrow streams become int32 codes in order of first appearance.
//
// Strings are the hot path of real data, so this is the one family that sees Python objects. Every encoder keeps
// an open-addressing table with short labels inside its entries; rows go through in blocks so that table lines are
// prefetched before they are needed: a vocabulary larger than the cache costs one overlapped miss per row.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) (void)(address)
#endif

namespace {

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
class Table {
  public:
    struct Entry {
        Key key;
        int32_t code; // -1 = free
    };
    Table() : entries_(64, Entry{{{0, 0, 0}}, -1}) {}
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

inline Text text_of(PyObject *object, int *width) {
    *width = static_cast<int>(PyUnicode_KIND(object));
    return {static_cast<const char *>(PyUnicode_DATA(object)),
            static_cast<size_t>(PyUnicode_GET_LENGTH(object)) * static_cast<size_t>(*width)};
}

bool same_text(PyObject *a, PyObject *b) {
    int width_a, width_b;
    Text one = text_of(a, &width_a), two = text_of(b, &width_b);
    return width_a == width_b && one.size == two.size && std::memcmp(one.data, two.data, one.size) == 0;
}

// Codes of n str objects in order of first appearance. Returns the index of the first element that is no str, else -1.
int64_t encode_pointers(PyObject *const *objects, size_t n, int32_t *codes, std::vector<int64_t> &first) {
    Table table;
    Key keys[BLOCK], previous{{0, 0, ~0ull}};
    uint64_t hashes[BLOCK];
    size_t rows[BLOCK];
    int32_t previous_code = -1;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t stop = start + BLOCK < n ? start + BLOCK : n, waiting = 0;
        for (size_t k = start; k < stop; ++k) {
            if (k > 0 && objects[k] == objects[k - 1]) continue; // sorted columns repeat their label row after row
            if (k + BLOCK < n) {
                PREFETCH(objects[k + BLOCK]);
                PREFETCH(reinterpret_cast<const char *>(objects[k + BLOCK]) + sizeof(PyASCIIObject));
            }
            if (!PyUnicode_Check(objects[k])) return static_cast<int64_t>(k);
            int width;
            Text text = text_of(objects[k], &width);
            Key key = make_key(text, width);
            keys[waiting] = key;
            hashes[waiting] = hash_key(key);
            table.prefetch(hashes[waiting]);
            rows[waiting++] = k;
        }
        size_t next = start;
        for (size_t w = 0; w < waiting; ++w) {
            size_t k = rows[w];
            for (; next < k; ++next) codes[next] = previous_code;
            if (!(keys[w] == previous && is_short(previous))) {
                previous_code = table.find_or_add(
                    keys[w], hashes[w], [&](int32_t c) { return same_text(objects[first[c]], objects[k]); });
                if (static_cast<size_t>(previous_code) == first.size()) first.push_back(static_cast<int64_t>(k));
                previous = keys[w];
            }
            codes[next++] = previous_code;
        }
        for (; next < stop; ++next) codes[next] = previous_code;
    }
    return -1;
}

// Hand a vector to NumPy without copying it.
template <typename T> Out<T> to_numpy(std::vector<T> values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Out<T>(kept->data(), {kept->size()}, owner);
}

nb::tuple encode_objects(nb::list values) {
    Buffer<int32_t> codes(nb::len(values));
    std::vector<int64_t> first;
    int64_t bad = encode_pointers(PySequence_Fast_ITEMS(values.ptr()), codes.size, codes.get(), first);
    return nb::make_tuple(codes.give(), to_numpy(std::move(first)), bad);
}

// Ballots from a list of lists of str, best first: (codes, labels, indptr, tier, bad), where bad is the flat index of
// the first element that is no str, -2 if a member is neither list nor tuple, else -1.
nb::tuple encode_lists(nb::list lists) {
    size_t ballots = nb::len(lists);
    PyObject *const *members = PySequence_Fast_ITEMS(lists.ptr());
    std::vector<PyObject *> flat;
    Buffer<int64_t> indptr(ballots + 1);
    indptr[0] = 0;
    bool are_lists = true;
    for (size_t b = 0; b < ballots && are_lists; ++b) {
        are_lists = PyList_Check(members[b]) || PyTuple_Check(members[b]);
        if (!are_lists) break;
        PyObject **items = PySequence_Fast_ITEMS(members[b]);
        flat.insert(flat.end(), items, items + PySequence_Fast_GET_SIZE(members[b]));
        indptr[b + 1] = static_cast<int64_t>(flat.size());
    }
    Buffer<int32_t> codes(flat.size()), tier(flat.size());
    std::vector<int64_t> first;
    int64_t bad = are_lists ? encode_pointers(flat.data(), flat.size(), codes.get(), first) : -2;
    nb::list labels;
    if (bad == -1) {
        for (size_t b = 0; b < ballots; ++b)
            for (int64_t k = indptr[b]; k < indptr[b + 1]; ++k) tier[k] = static_cast<int32_t>(k - indptr[b]);
        for (int64_t k : first) labels.append(nb::borrow(flat[k]));
    } else {
        std::fill(indptr.get(), indptr.get() + ballots + 1, 0);
    }
    return nb::make_tuple(codes.give(), labels, indptr.give(), tier.give(), bad);
}

// Numbers of a list of int, float and bool; the index of the first other element (or huge int) comes last, else -1.
nb::tuple list_numbers(nb::list values) {
    size_t n = nb::len(values);
    Buffer<double> out(n);
    PyObject *const *objects = PySequence_Fast_ITEMS(values.ptr());
    int64_t bad = -1;
    for (size_t k = 0; k < n && bad < 0; ++k) {
        PREFETCH(objects[k + BLOCK < n ? k + BLOCK : k]);
        if (PyFloat_CheckExact(objects[k])) {
            out[k] = PyFloat_AS_DOUBLE(objects[k]);
        } else if (PyLong_Check(objects[k])) {
            out[k] = PyLong_AsDouble(objects[k]);
            if (out[k] == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                bad = static_cast<int64_t>(k);
            }
        } else {
            bad = static_cast<int64_t>(k);
        }
    }
    return nb::make_tuple(out.give(), bad);
}

// Codes of an integer column: a direct table when the range is modest, hashing otherwise.
nb::tuple encode_ints(In<int64_t> values) {
    size_t n = values.size();
    const int64_t *v = values.data();
    Buffer<int32_t> codes(n);
    std::vector<int64_t> first;
    {
        nb::gil_scoped_release release;
        int64_t low = n ? v[0] : 0, high = low;
        for (size_t k = 1; k < n; ++k) {
            low = v[k] < low ? v[k] : low;
            high = v[k] > high ? v[k] : high;
        }
        uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
        if (range < 4 * n + 1024) {
            std::vector<int32_t> code_of(range + 1, -1);
            for (size_t k = 0; k < n; ++k) {
                int32_t &code = code_of[static_cast<uint64_t>(v[k]) - static_cast<uint64_t>(low)];
                if (code < 0) {
                    code = static_cast<int32_t>(first.size());
                    first.push_back(static_cast<int64_t>(k));
                }
                codes[k] = code;
            }
        } else {
            Table table;
            for (size_t k = 0; k < n; ++k) {
                Key key{{static_cast<uint64_t>(v[k]), 0, 0}};
                int32_t code = table.find_or_add(key, hash_key(key), [](int32_t) { return true; });
                if (static_cast<size_t>(code) == first.size()) first.push_back(static_cast<int64_t>(k));
                codes[k] = code;
            }
        }
    }
    return nb::make_tuple(codes.give(), to_numpy(std::move(first)));
}

// ---- Arrow C data interface (the published ABI: three structs) ----
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    ArrowSchema **children;
    ArrowSchema *dictionary;
    void (*release)(ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    ArrowArray **children;
    ArrowArray *dictionary;
    void (*release)(ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(ArrowArrayStream *, ArrowSchema *);
    int (*get_next)(ArrowArrayStream *, ArrowArray *);
    const char *(*get_last_error)(ArrowArrayStream *);
    void (*release)(ArrowArrayStream *);
    void *private_data;
};

// Distinct strings of one column with their bytes kept end to end.
class TextEncoder {
  public:
    std::vector<int32_t> codes;
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
        for (size_t start = 0; start < n; start += BLOCK) {
            size_t stop = start + BLOCK < n ? start + BLOCK : n, waiting = 0;
            for (size_t k = start; k < stop; ++k) {
                Text text = get(k);
                bool repeats = text.size == previous.size && k > 0 && !text.data == !previous.data &&
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
    Table table_;
};

inline bool is_valid(const ArrowArray &array, size_t k) {
    if (array.null_count == 0 || !array.buffers[0]) return true;
    size_t bit = k + static_cast<size_t>(array.offset);
    return (static_cast<const uint8_t *>(array.buffers[0])[bit >> 3] >> (bit & 7)) & 1;
}

template <typename Offset> struct PlainTexts {
    const ArrowArray &array;
    Text operator()(size_t k) const {
        if (!is_valid(array, k)) return {nullptr, 0};
        const Offset *offsets = static_cast<const Offset *>(array.buffers[1]) + array.offset;
        const char *data = static_cast<const char *>(array.buffers[2]);
        return {data ? data + offsets[k] : "", static_cast<size_t>(offsets[k + 1] - offsets[k])};
    }
};

struct ViewTexts {
    const ArrowArray &array;
    Text operator()(size_t k) const {
        if (!is_valid(array, k)) return {nullptr, 0};
        const char *view = static_cast<const char *>(array.buffers[1]) + 16 * (k + static_cast<size_t>(array.offset));
        int32_t size, buffer, offset;
        std::memcpy(&size, view, 4);
        if (size <= 12) return {view + 4, static_cast<size_t>(size)};
        std::memcpy(&buffer, view + 8, 4);
        std::memcpy(&offset, view + 12, 4);
        return {static_cast<const char *>(array.buffers[2 + buffer]) + offset, static_cast<size_t>(size)};
    }
};

bool is_text(const char *format) {
    return !std::strcmp(format, "u") || !std::strcmp(format, "U") || !std::strcmp(format, "vu");
}

template <typename Visit> void visit_texts(const ArrowArray &array, const char *format, Visit visit) {
    if (!std::strcmp(format, "u"))
        visit(PlainTexts<int32_t>{array});
    else if (!std::strcmp(format, "U"))
        visit(PlainTexts<int64_t>{array});
    else
        visit(ViewTexts{array});
}

template <typename T> void copy_numbers(const ArrowArray &array, std::vector<double> &out) {
    const T *values = static_cast<const T *>(array.buffers[1]) + array.offset;
    size_t base = out.size(), n = static_cast<size_t>(array.length);
    out.resize(base + n);
    for (size_t k = 0; k < n; ++k) out[base + k] = static_cast<double>(values[k]);
    if (array.null_count == 0 || !array.buffers[0]) return;
    for (size_t k = 0; k < n; ++k)
        if (!is_valid(array, k)) out[base + k] = std::nan("");
}

bool append_numbers(const ArrowArray &array, const char *format, std::vector<double> &out) {
    if (format[0] == 0 || format[1] != 0) return false;
    switch (format[0]) {
    case 'c': copy_numbers<int8_t>(array, out); return true;
    case 'C': copy_numbers<uint8_t>(array, out); return true;
    case 's': copy_numbers<int16_t>(array, out); return true;
    case 'S': copy_numbers<uint16_t>(array, out); return true;
    case 'i': copy_numbers<int32_t>(array, out); return true;
    case 'I': copy_numbers<uint32_t>(array, out); return true;
    case 'l': copy_numbers<int64_t>(array, out); return true;
    case 'L': copy_numbers<uint64_t>(array, out); return true;
    case 'f': copy_numbers<float>(array, out); return true;
    case 'g': copy_numbers<double>(array, out); return true;
    case 'n': out.insert(out.end(), static_cast<size_t>(array.length), std::nan("")); return true;
    case 'b':
        for (size_t k = 0; k < static_cast<size_t>(array.length); ++k) {
            size_t bit = k + static_cast<size_t>(array.offset);
            bool on = (static_cast<const uint8_t *>(array.buffers[1])[bit >> 3] >> (bit & 7)) & 1;
            out.push_back(is_valid(array, k) ? on : std::nan(""));
        }
        return true;
    default: return false;
    }
}

int64_t dictionary_index(const ArrowArray &array, char format, size_t k) {
    size_t at = k + static_cast<size_t>(array.offset);
    switch (format) {
    case 'c': return static_cast<const int8_t *>(array.buffers[1])[at];
    case 'C': return static_cast<const uint8_t *>(array.buffers[1])[at];
    case 's': return static_cast<const int16_t *>(array.buffers[1])[at];
    case 'S': return static_cast<const uint16_t *>(array.buffers[1])[at];
    case 'i': return static_cast<const int32_t *>(array.buffers[1])[at];
    case 'I': return static_cast<const uint32_t *>(array.buffers[1])[at];
    default: return static_cast<const int64_t *>(array.buffers[1])[at];
    }
}

struct Column {
    std::string name, format;
    bool text = false, dictionary = false;
    TextEncoder texts;
    std::vector<double> numbers;
};

void append(Column &column, const ArrowArray &array) {
    size_t n = static_cast<size_t>(array.length);
    if (column.dictionary) {
        // Only entries that occur get a code, in order of first use; each dictionary entry is hashed once.
        std::vector<int32_t> code_of(static_cast<size_t>(array.dictionary->length), -2);
        char index_format = column.format[0];
        const char *value_format = column.format.c_str() + 1;
        visit_texts(*array.dictionary, value_format, [&](auto get) {
            for (size_t k = 0; k < n; ++k) {
                int64_t row = static_cast<int64_t>(column.texts.codes.size());
                if (!is_valid(array, k)) {
                    column.texts.codes.push_back(-1);
                    continue;
                }
                size_t entry = static_cast<size_t>(dictionary_index(array, index_format, k));
                if (code_of[entry] == -2) code_of[entry] = column.texts.add(get(entry), row);
                column.texts.codes.push_back(code_of[entry]);
            }
        });
    } else if (column.text) {
        visit_texts(array, column.format.c_str(), [&](auto get) { column.texts.append(n, get); });
    } else if (!append_numbers(array, column.format.c_str(), column.numbers)) {
        throw std::invalid_argument("column '" + column.name + "' has the Arrow type '" + column.format +
                                    "', which is neither text nor a number");
    }
}

// Read a whole Arrow stream (or a single array given as a stream): one (name, kind, parts) per column, where text
// is (codes, offsets, bytes, first row of each label) with -1 for null, and numbers are float64 with NaN for null.
nb::list read_stream(nb::object capsule) {
    auto *stream = static_cast<ArrowArrayStream *>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!stream) throw nb::python_error();
    std::vector<Column> columns;
    bool is_struct = true;
    {
        nb::gil_scoped_release release;
        auto fail = [&]() {
            const char *why = stream->get_last_error(stream);
            throw std::runtime_error(why ? why : "the Arrow stream failed without a reason");
        };
        ArrowSchema schema;
        if (stream->get_schema(stream, &schema)) fail();
        is_struct = !std::strcmp(schema.format, "+s");
        auto describe = [&](const ArrowSchema &child) {
            Column column;
            column.name = child.name ? child.name : "";
            column.format = child.format;
            if (child.dictionary && is_text(child.dictionary->format)) {
                column.dictionary = column.text = true;
                column.format += child.dictionary->format;
            } else {
                column.text = is_text(child.format);
            }
            columns.push_back(std::move(column));
        };
        if (is_struct)
            for (int64_t c = 0; c < schema.n_children; ++c) describe(*schema.children[c]);
        else
            describe(schema);
        if (schema.release) schema.release(&schema);
        while (true) {
            ArrowArray array;
            if (stream->get_next(stream, &array)) fail();
            if (!array.release) break;
            try {
                for (size_t c = 0; c < columns.size(); ++c) append(columns[c], is_struct ? *array.children[c] : array);
            } catch (...) {
                array.release(&array);
                throw;
            }
            array.release(&array);
        }
    }
    nb::list out;
    for (Column &column : columns) {
        if (column.text) {
            TextEncoder &texts = column.texts;
            out.append(nb::make_tuple(column.name.c_str(), "text",
                                      nb::make_tuple(to_numpy(std::move(texts.codes)), to_numpy(std::move(texts.offsets)),
                                                     to_numpy(std::move(texts.bytes)), to_numpy(std::move(texts.first)))));
        } else {
            out.append(nb::make_tuple(column.name.c_str(), "number", to_numpy(std::move(column.numbers))));
        }
    }
    return out;
}

} // namespace

void bind_strings(nb::module_ &m) {
    m.def("encode_objects", &encode_objects, "values"_a);
    m.def("encode_lists", &encode_lists, "lists"_a);
    m.def("list_numbers", &list_numbers, "values"_a);
    m.def("encode_ints", &encode_ints, "values"_a.noconvert());
    m.def("read_stream", &read_stream, "capsule"_a);
}
