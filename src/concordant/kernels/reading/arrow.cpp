// Tables in Arrow memory: text columns become codes and the bytes of their labels, numbers become float64.
//
// The interface carries no buffer sizes, so what can be checked is checked here before a byte is read: that offsets
// never fall, that views and dictionary codes stay inside what they point into, that labels are UTF-8. Whether the
// last offset lies inside its buffer only the owner knows; vocabulary.py asks it.
#include "texts.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace {

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

// Gives a struct back to its owner, whatever happens.
template <typename T> struct Held {
    T &what;
    ~Held() {
        if (what.release) what.release(&what);
    }
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
    // Whether rows from..to-1 all say what row from-1 says: equal sizes, and bytes that repeat with that period.
    bool all_repeat(size_t from, size_t to) const {
        if (array.null_count != 0 && array.buffers[0]) return false;
        const Offset *offsets = static_cast<const Offset *>(array.buffers[1]) + array.offset;
        const char *data = static_cast<const char *>(array.buffers[2]);
        Offset size = offsets[from] - offsets[from - 1];
        bool same = true;
        for (size_t k = from; k < to; ++k) same &= offsets[k + 1] - offsets[k] == size;
        return same && data &&
               std::memcmp(data + offsets[from - 1], data + offsets[from], static_cast<size_t>(size) * (to - from)) == 0;
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
    bool all_repeat(size_t from, size_t to) const {
        if (array.null_count != 0 && array.buffers[0]) return false;
        const char *views = static_cast<const char *>(array.buffers[1]) + 16 * static_cast<size_t>(array.offset);
        return std::memcmp(views + 16 * (from - 1), views + 16 * from, 16 * (to - from)) == 0;
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

template <typename T> void copy_numbers(const ArrowArray &array, LargeVector<double> &out) {
    const T *values = static_cast<const T *>(array.buffers[1]) + array.offset;
    size_t base = out.size(), n = static_cast<size_t>(array.length);
    out.resize(base + n);
    for (size_t k = 0; k < n; ++k) out[base + k] = static_cast<double>(values[k]);
    if (array.null_count == 0 || !array.buffers[0]) return;
    for (size_t k = 0; k < n; ++k)
        if (!is_valid(array, k)) out[base + k] = std::nan("");
}

bool append_numbers(const ArrowArray &array, const char *format, LargeVector<double> &out) {
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

// ---- what must hold before anything is read ----
bool is_index(const char *format) { return format[0] && !format[1] && std::strchr("cCsSiIlL", format[0]); }

void check_shape(const ArrowArray &array, int64_t n_buffers) {
    constexpr int64_t MAX_LENGTH = int64_t{1} << 56;
    if (array.length < 0 || array.offset < 0 || array.length > MAX_LENGTH || array.offset > MAX_LENGTH)
        refuse("its length or offset is out of range");
    if (array.n_buffers < n_buffers || (n_buffers > 0 && !array.buffers)) refuse("a buffer is missing");
    if (n_buffers > 1 && array.length > 0 && !array.buffers[1]) refuse("a buffer is missing");
}

template <typename Offset> void check_offsets(const ArrowArray &array) {
    check_shape(array, 3);
    if (array.length == 0) return;
    const Offset *offsets = static_cast<const Offset *>(array.buffers[1]) + array.offset;
    bool fine = offsets[0] >= 0;
    for (int64_t k = 0; k < array.length; ++k) fine &= offsets[k] <= offsets[k + 1];
    if (!fine) refuse("its text offsets are not in order");
    if (!array.buffers[2] && offsets[array.length] > 0) refuse("a buffer is missing");
}

void check_views(const ArrowArray &array) {
    check_shape(array, 3); // the last buffer holds the sizes of those the views point into
    int64_t n_data = array.n_buffers - 3;
    auto *sizes = static_cast<const int64_t *>(array.buffers[array.n_buffers - 1]);
    if (n_data > 0 && !sizes) refuse("a buffer is missing");
    for (int64_t k = 0; k < array.length; ++k) {
        if (!is_valid(array, static_cast<size_t>(k))) continue;
        int32_t view[4]; // size, first four bytes, buffer, offset
        std::memcpy(view, static_cast<const char *>(array.buffers[1]) + 16 * (k + array.offset), 16);
        bool fine = view[0] >= 0 && (view[0] <= 12 || (view[2] >= 0 && view[2] < n_data && view[3] >= 0 &&
                                                       array.buffers[2 + view[2]] &&
                                                       int64_t{view[3]} + view[0] <= sizes[view[2]]));
        if (!fine) refuse("the text in row " + std::to_string(k + 1) + " lies outside its buffer");
    }
}

void check_texts(const ArrowArray &array, const char *format) {
    if (!std::strcmp(format, "u"))
        check_offsets<int32_t>(array);
    else if (!std::strcmp(format, "U"))
        check_offsets<int64_t>(array);
    else
        check_views(array);
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
    LargeVector<double> numbers;
};

void append(Column &column, const ArrowArray &array) {
    size_t n = array.length > 0 ? static_cast<size_t>(array.length) : 0;
    if (column.dictionary) {
        check_shape(array, 2);
        if (!array.dictionary) refuse("its dictionary is missing");
        check_texts(*array.dictionary, column.format.c_str() + 1);
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
                int64_t index = dictionary_index(array, index_format, k);
                if (index < 0 || index >= array.dictionary->length)
                    refuse("row " + std::to_string(row + 1) + " points outside its dictionary");
                size_t entry = static_cast<size_t>(index);
                if (code_of[entry] == -2) code_of[entry] = column.texts.add(get(entry), row);
                column.texts.codes.push_back(code_of[entry]);
            }
        });
    } else if (column.text) {
        check_texts(array, column.format.c_str());
        visit_texts(array, column.format.c_str(), [&](auto get) { column.texts.append(n, get); });
    } else {
        check_shape(array, column.format == "n" ? 0 : 2);
        if (!append_numbers(array, column.format.c_str(), column.numbers))
            refuse("it has the Arrow type '" + column.format + "', which is neither text nor a number");
    }
}

// Append one batch: a table is an array of structs, whose own offset and length say which rows of the columns count.
void append_batch(std::vector<Column> &columns, const ArrowArray &array, bool is_struct) {
    check_shape(array, 0);
    if (is_struct && (array.n_children < static_cast<int64_t>(columns.size()) || !array.children))
        refuse("The Arrow data lack a column");
    for (size_t c = 0; c < columns.size(); ++c) {
        ArrowArray part = is_struct ? *array.children[c] : array;
        try {
            if (is_struct) {
                check_shape(part, 0);
                if (part.length < array.offset + array.length) refuse("it is shorter than the table");
                part.offset += array.offset;
                part.length = array.length;
            }
            append(columns[c], part);
        } catch (const std::invalid_argument &problem) {
            throw std::invalid_argument("The column '" + columns[c].name + "' cannot be read: " + problem.what());
        }
    }
}

// Read a whole Arrow stream (or a single array given as a stream): one (name, kind, parts) per column, where text
// is (codes, offsets, bytes, first row of each label) with -1 for null, and numbers are float64 with NaN for null.
nb::list read_stream(nb::object capsule) {
    auto *stream = static_cast<ArrowArrayStream *>(PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
    if (!stream) throw nb::python_error();
    if (!stream->release) refuse("The Arrow stream has been read already");
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
            if (!is_utf8(column.name.data(), column.name.size())) refuse("The name of an Arrow column is not UTF-8");
            if (child.dictionary && is_text(child.dictionary->format) && is_index(child.format)) {
                column.dictionary = column.text = true;
                column.format += child.dictionary->format;
            } else if (child.dictionary) {
                column.format = "dictionary of " + std::string(child.dictionary->format);
            } else {
                column.text = is_text(child.format);
            }
            columns.push_back(std::move(column));
        };
        {
            Held<ArrowSchema> held{schema};
            if (is_struct)
                for (int64_t c = 0; c < schema.n_children; ++c) describe(*schema.children[c]);
            else
                describe(schema);
        }
        while (true) {
            ArrowArray array;
            if (stream->get_next(stream, &array)) fail();
            if (!array.release) break;
            Held<ArrowArray> held{array};
            append_batch(columns, array, is_struct);
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

void bind_arrow(nb::module_ &m) { m.def("read_stream", &read_stream, "capsule"_a); }
