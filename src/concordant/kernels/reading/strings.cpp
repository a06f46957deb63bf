// Labels to codes: lists of str and integer arrays become int32 codes in order of first appearance.
//
// Strings are the hot path of real data, so this family and arrow.cpp are the ones that see more than plain arrays.
#include "encoding.hpp"

#include <algorithm>

namespace {

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
    HashTable table;
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

nb::tuple encode_objects(nb::list values) {
    Buffer<int32_t> codes(nb::len(values));
    std::vector<int64_t> first;
    int64_t bad = encode_pointers(PySequence_Fast_ITEMS(values.ptr()), codes.size, codes.get(), first);
    return nb::make_tuple(codes.give(), to_numpy(std::move(first)), bad);
}

// Put the elements of all lists or tuples one after the other; false if a member is neither.
bool flatten(nb::list &lists, std::vector<PyObject *> &flat, int64_t *indptr) {
    PyObject *const *members = PySequence_Fast_ITEMS(lists.ptr());
    indptr[0] = 0;
    for (size_t b = 0; b < nb::len(lists); ++b) {
        if (!PyList_Check(members[b]) && !PyTuple_Check(members[b])) return false;
        PyObject **items = PySequence_Fast_ITEMS(members[b]);
        flat.insert(flat.end(), items, items + PySequence_Fast_GET_SIZE(members[b]));
        indptr[b + 1] = static_cast<int64_t>(flat.size());
    }
    return true;
}

// Ballots from a list of lists of str, best first; bad is the flat index of the first element that is no str, -2 if a
// member is neither list nor tuple, else -1.
nb::object encode_lists(nb::list lists) {
    size_t ballots = nb::len(lists);
    std::vector<PyObject *> flat;
    Buffer<int64_t> indptr(ballots + 1);
    bool are_lists = flatten(lists, flat, indptr.get());
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
    return named("LabelLists", codes.give(), labels, indptr.give(), tier.give(), bad);
}

// Reciprocal rank fusion of lists of str, best first: (labels by first appearance, scores, fine), where list b adds
// weight[b] / (k + place). Not fine are members that are no lists or tuples, elements that are no str, an item twice in
// a list: then nothing is fused. One call, because a search service fuses thirty labels in as many microseconds.
nb::tuple fuse_lists(nb::list lists, In<double> weight, double k) {
    size_t ballots = nb::len(lists);
    std::vector<PyObject *> flat;
    std::vector<int64_t> indptr(ballots + 1);
    bool fine = flatten(lists, flat, indptr.data());
    std::vector<int32_t> codes(flat.size());
    std::vector<int64_t> first;
    fine = fine && encode_pointers(flat.data(), flat.size(), codes.data(), first) == -1;
    Buffer<double> score(fine ? first.size() : 0);
    nb::list labels;
    if (fine) {
        std::fill(score.get(), score.get() + first.size(), 0.0);
        std::vector<size_t> last_seen(first.size(), ballots);
        for (size_t b = 0; b < ballots; ++b)
            for (int64_t at = indptr[b]; at < indptr[b + 1]; ++at) {
                fine = fine && last_seen[codes[at]] != b;
                last_seen[codes[at]] = b;
                score[codes[at]] += weight.data()[b] / (k + static_cast<double>(at - indptr[b] + 1));
            }
        for (int64_t row : first) labels.append(nb::borrow(flat[row]));
    }
    return nb::make_tuple(labels, score.give(), fine);
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

// Whole numbers of a list of int; the index of the first other element (a bool, a huge int) comes last, else -1.
nb::tuple list_integers(nb::list values) {
    size_t n = nb::len(values);
    Buffer<int64_t> out(n, 0);
    PyObject *const *objects = PySequence_Fast_ITEMS(values.ptr());
    int64_t bad = -1;
    for (size_t k = 0; k < n && bad < 0; ++k) {
        PREFETCH(objects[k + BLOCK < n ? k + BLOCK : k]);
        int overflow = !PyLong_CheckExact(objects[k]);
        if (!overflow) out[k] = PyLong_AsLongLongAndOverflow(objects[k], &overflow);
        if (overflow) bad = static_cast<int64_t>(k);
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
            HashTable table;
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

} // namespace

void bind_strings(nb::module_ &m) {
    m.def("encode_objects", &encode_objects, "values"_a);
    m.def("encode_lists", &encode_lists, "lists"_a);
    m.def("fuse_lists", &fuse_lists, "lists"_a, "weight"_a.noconvert(), "k"_a);
    m.def("list_integers", &list_integers, "values"_a);
    m.def("list_numbers", &list_numbers, "values"_a);
    m.def("encode_ints", &encode_ints, "values"_a.noconvert());
}
