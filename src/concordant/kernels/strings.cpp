// Labels to codes: lists of str, integer arrays and Arrow streams become int32 codes in order of first appearance.
//
// Strings are the hot path of real data, so this is the one family that sees Python objects. Every encoder keeps
// an open-addressing table of (hash, code); rows go through in blocks so that table lines are prefetched before
// they are needed: a vocabulary larger than the cache costs one overlapped miss per row instead of a stall.
#include "common.hpp"

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

struct Entry {
    uint64_t hash;
    int32_t code; // -1 = free
};

class Table {
  public:
    explicit Table(size_t expected = 256) {
        size_t size = 512;
        while (size < 2 * expected) size *= 2;
        resize(size);
    }
    void prefetch(uint64_t hash) const { PREFETCH(&entries_[hash & mask_]); }
    int32_t peek(uint64_t hash) const {
        const Entry &entry = entries_[hash & mask_];
        return entry.hash == hash ? entry.code : -1;
    }

    // The code of the key with this hash, or a new one (= count) if `same(code)` holds for none.
    template <typename Same> int32_t find_or_add(uint64_t hash, Same same) {
        size_t at = hash & mask_;
        while (entries_[at].code >= 0) {
            if (entries_[at].hash == hash && same(entries_[at].code)) return entries_[at].code;
            at = (at + 1) & mask_;
        }
        if (count_ == std::numeric_limits<int32_t>::max()) throw std::length_error("more than 2^31 distinct labels");
        entries_[at] = {hash, static_cast<int32_t>(count_)};
        int32_t code = static_cast<int32_t>(count_++);
        if (2 * count_ > mask_) resize(4 * (mask_ + 1));
        return code;
    }
    size_t count() const { return count_; }

  private:
    std::vector<Entry> entries_;
    size_t mask_ = 0, count_ = 0;

    void resize(size_t size) {
        std::vector<Entry> old(size, Entry{0, -1});
        old.swap(entries_);
        mask_ = size - 1;
        for (const Entry &entry : old) {
            if (entry.code < 0) continue;
            size_t at = entry.hash & mask_;
            while (entries_[at].code >= 0) at = (at + 1) & mask_;
            entries_[at] = entry;
        }
    }
};

inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __uint128_t product = static_cast<__uint128_t>(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xD6E8FEB86659FD93ull);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#else
    a = (a ^ b) * 0x9E3779B97F4A7C15ull;
    return a ^ (a >> 32);
#endif
}

inline uint64_t read_word(const char *p, size_t n) {
    uint64_t word = 0;
    std::memcpy(&word, p, n);
    return word;
}

inline uint64_t hash_bytes(const char *p, size_t n) {
    uint64_t state = mix(n, 0x2545F4914F6CDD1Dull);
    while (n > 8) {
        state = mix(state, read_word(p, 8));
        p += 8;
        n -= 8;
    }
    return mix(state, read_word(p, n));
}

bool same_text(PyObject *a, PyObject *b) {
    if (a == b) return true;
    Py_ssize_t n = PyUnicode_GET_LENGTH(a);
    if (n != PyUnicode_GET_LENGTH(b)) return false;
    int kind = PyUnicode_KIND(a);
    if (kind != static_cast<int>(PyUnicode_KIND(b))) return false;
    return std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), static_cast<size_t>(n) * kind) == 0;
}

// Codes of a list of str. Stops at the first element that is not a str: its index is returned last, else -1.
//
// Columns often repeat the same str object (query ids, pooled labels), so a small table of object addresses is
// asked first; it is given up when the first rows show that every row is an object of its own.
nb::tuple encode_objects(nb::list values) {
    size_t n = nb::len(values);
    Buffer<int32_t> codes(n);
    std::vector<int64_t> first;
    std::vector<PyObject *> labels;
    Table by_text;
    struct Address {
        PyObject *object;
        int32_t code;
    };
    std::vector<Address> by_address(1024, Address{nullptr, -1});
    size_t address_mask = by_address.size() - 1, addresses = 0, hits = 0, asked = 0;
    bool use_addresses = true;
    PyObject *previous = nullptr;
    int32_t previous_code = -1;
    uint64_t hashes[BLOCK];
    PyObject *pending[BLOCK];
    size_t rows[BLOCK];
    auto slot_of = [&](PyObject *object) {
        return mix(reinterpret_cast<uintptr_t>(object) >> 4, 0xA0761D6478BD642Full) & address_mask;
    };
    auto remember = [&](PyObject *object, int32_t code) {
        if (2 * (addresses + 1) > by_address.size()) {
            std::vector<Address> old(4 * by_address.size(), Address{nullptr, -1});
            old.swap(by_address);
            address_mask = by_address.size() - 1;
            for (const Address &entry : old) {
                if (!entry.object) continue;
                size_t at = slot_of(entry.object);
                while (by_address[at].object) at = (at + 1) & address_mask;
                by_address[at] = entry;
            }
        }
        size_t at = slot_of(object);
        while (by_address[at].object && by_address[at].object != object) at = (at + 1) & address_mask;
        if (!by_address[at].object) ++addresses;
        by_address[at] = {object, code};
    };
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t stop = start + BLOCK < n ? start + BLOCK : n, waiting = 0;
        if (use_addresses && asked > 8192 && 2 * hits < asked) use_addresses = false;
        for (size_t k = start; k < stop; ++k) {
            PyObject *object = PyList_GET_ITEM(values.ptr(), static_cast<Py_ssize_t>(k));
            if (object == previous) {
                codes[k] = previous_code;
                continue;
            }
            if (use_addresses) {
                ++asked;
                size_t at = slot_of(object);
                while (by_address[at].object && by_address[at].object != object) at = (at + 1) & address_mask;
                if (by_address[at].object) {
                    ++hits;
                    previous = object;
                    previous_code = codes[k] = by_address[at].code;
                    continue;
                }
            }
            if (!PyUnicode_Check(object))
                return nb::make_tuple(codes.give(), Buffer<int64_t>(0).give(), static_cast<int64_t>(k));
            uint64_t hash = mix(static_cast<uint64_t>(PyObject_Hash(object)), 1);
            by_text.prefetch(hash);
            hashes[waiting] = hash;
            rows[waiting] = k;
            pending[waiting++] = object;
        }
        for (size_t w = 0; w < waiting; ++w) {
            int32_t likely = by_text.peek(hashes[w]);
            if (likely >= 0) PREFETCH(labels[likely]);
        }
        for (size_t w = 0; w < waiting; ++w) {
            PyObject *object = pending[w];
            int32_t code = by_text.find_or_add(hashes[w], [&](int32_t c) { return same_text(labels[c], object); });
            if (static_cast<size_t>(code) == labels.size()) {
                labels.push_back(object);
                first.push_back(static_cast<int64_t>(rows[w]));
            }
            codes[rows[w]] = code;
            if (use_addresses) remember(object, code);
            previous = object;
            previous_code = code;
        }
    }
    Buffer<int64_t> where(first.size());
    std::copy(first.begin(), first.end(), where.get());
    return nb::make_tuple(codes.give(), where.give(), static_cast<int64_t>(-1));
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
                uint64_t hash = mix(static_cast<uint64_t>(v[k]), 2);
                int32_t code = table.find_or_add(hash, [&](int32_t c) { return v[first[c]] == v[k]; });
                if (static_cast<size_t>(code) == first.size()) first.push_back(static_cast<int64_t>(k));
                codes[k] = code;
            }
        }
    }
    Buffer<int64_t> where(first.size());
    std::copy(first.begin(), first.end(), where.get());
    return nb::make_tuple(codes.give(), where.give());
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

struct Text {
    const char *data;
    size_t size;
};

// Distinct strings of one column with their bytes kept end to end.
class TextEncoder {
  public:
    std::vector<int32_t> codes;
    std::vector<int64_t> offsets{0}, first;
    std::vector<char> bytes;

    template <typename Get> void append(size_t n, Get get) {
        size_t base = codes.size();
        codes.resize(base + n);
        uint64_t hashes[BLOCK];
        Text texts[BLOCK];
        for (size_t start = 0; start < n; start += BLOCK) {
            size_t stop = start + BLOCK < n ? start + BLOCK : n;
            for (size_t k = start; k < stop; ++k) {
                Text text = texts[k - start] = get(k);
                if (!text.data) continue;
                hashes[k - start] = hash_bytes(text.data, text.size);
                table_.prefetch(hashes[k - start]);
            }
            for (size_t k = start; k < stop; ++k) {
                if (!texts[k - start].data) continue;
                int32_t likely = table_.peek(hashes[k - start]);
                if (likely >= 0) PREFETCH(bytes.data() + offsets[likely]);
            }
            for (size_t k = start; k < stop; ++k)
                codes[base + k] = add(texts[k - start], hashes[k - start], static_cast<int64_t>(base + k));
        }
    }
    int32_t add(Text text, uint64_t hash, int64_t row) {
        if (!text.data) return -1;
        int32_t code = table_.find_or_add(hash, [&](int32_t c) {
            size_t size = static_cast<size_t>(offsets[c + 1] - offsets[c]);
            return size == text.size && std::memcmp(bytes.data() + offsets[c], text.data, size) == 0;
        });
        if (static_cast<size_t>(code) == first.size()) {
            bytes.insert(bytes.end(), text.data, text.data + text.size);
            offsets.push_back(static_cast<int64_t>(bytes.size()));
            first.push_back(row);
        }
        return code;
    }
    int32_t add(Text text, int64_t row) { return add(text, text.data ? hash_bytes(text.data, text.size) : 0, row); }

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
    for (size_t k = 0; k < static_cast<size_t>(array.length); ++k)
        out.push_back(is_valid(array, k) ? static_cast<double>(values[k]) : std::nan(""));
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

template <typename T> Out<T> to_numpy(const std::vector<T> &values) {
    Buffer<T> out(values.size());
    std::copy(values.begin(), values.end(), out.get());
    return out.give();
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
            Buffer<uint8_t> bytes(column.texts.bytes.size());
            if (bytes.size) std::memcpy(bytes.get(), column.texts.bytes.data(), bytes.size);
            out.append(nb::make_tuple(column.name.c_str(), "text",
                                      nb::make_tuple(to_numpy(column.texts.codes), to_numpy(column.texts.offsets),
                                                     bytes.give(), to_numpy(column.texts.first))));
        } else {
            out.append(nb::make_tuple(column.name.c_str(), "number", to_numpy(column.numbers)));
        }
    }
    return out;
}

} // namespace

void bind_strings(nb::module_ &m) {
    m.def("encode_objects", &encode_objects, "values"_a);
    m.def("encode_ints", &encode_ints, "values"_a.noconvert());
    m.def("read_stream", &read_stream, "capsule"_a);
}
