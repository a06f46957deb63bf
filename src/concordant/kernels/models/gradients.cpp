// Gradients of voters as sparse rows: entries joined by voter, and the sum of the outer products of all rows.
#include "common.hpp"

#include <algorithm>

namespace {

// Entries (row, slot, value) by row; several of one row and slot are added up, where the first of them stands.
nb::tuple join_entries(In<int64_t> row, In<int64_t> slot, In<double> value, int64_t n_rows, int64_t n_slots) {
    size_t n = row.size(), rows = static_cast<size_t>(n_rows);
    Buffer<int64_t> ptr(rows + 1, 0), joined_slot(n);
    Buffer<double> joined(n);
    size_t end = 0;
    {
        nb::gil_scoped_release unlocked;
        const int64_t *r = row.data(), *s = slot.data();
        for (size_t k = 0; k < n; ++k) ++ptr[static_cast<size_t>(r[k]) + 1];
        for (size_t v = 0; v < rows; ++v) ptr[v + 1] += ptr[v];
        LargeVector<int64_t> next(ptr.get(), ptr.get() + rows), entry(n);
        for (size_t k = 0; k < n; ++k) entry[static_cast<size_t>(next[static_cast<size_t>(r[k])]++)] = static_cast<int64_t>(k);
        LargeVector<size_t> place(static_cast<size_t>(n_slots), n); // of the slot in the row, if not before its start
        Interrupts interrupts;
        for (size_t v = 0, from = 0; v < rows; ++v) {
            size_t to = static_cast<size_t>(ptr[v + 1]), start = end;
            interrupts.poll(to - from);
            for (size_t k = from; k < to; ++k) {
                size_t e = static_cast<size_t>(entry[k]), i = static_cast<size_t>(s[e]), at = place[i];
                if (at < n && at >= start) {
                    joined[at] += value.data()[e];
                } else {
                    place[i] = end;
                    joined_slot[end] = s[e];
                    joined[end++] = value.data()[e];
                }
            }
            from = to;
            ptr[v + 1] = static_cast<int64_t>(end);
        }
    }
    return nb::make_tuple(ptr.give(), joined_slot.give_first(end), joined.give_first(end));
}

// The sum over rows of the outer products of each with itself.
Out2<double> outer_products(In<int64_t> ptr, In<int64_t> slot, In<double> value, int64_t n_slots) {
    size_t n = static_cast<size_t>(n_slots);
    Buffer<double> sum(n * n, 0.0);
    {
        nb::gil_scoped_release unlocked;
        const int64_t *s = slot.data();
        const double *x = value.data();
        Interrupts interrupts;
        for (size_t v = 0; v + 1 < ptr.size(); ++v) {
            size_t from = static_cast<size_t>(ptr.data()[v]), to = static_cast<size_t>(ptr.data()[v + 1]);
            interrupts.poll((to - from) * (to - from));
            for (size_t a = from; a < to; ++a) {
                size_t i = static_cast<size_t>(s[a]);
                sum[i * n + i] += x[a] * x[a];
                for (size_t b = from; b < a; ++b) {
                    size_t j = static_cast<size_t>(s[b]);
                    sum[std::min(i, j) * n + std::max(i, j)] += x[a] * x[b];
                }
            }
        }
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i + 1; j < n; ++j) sum[j * n + i] = sum[i * n + j];
    }
    return sum.give2(n, n);
}

} // namespace

void bind_gradients(nb::module_ &m) {
    m.def("join_entries", &join_entries, "row"_a.noconvert(), "slot"_a.noconvert(), "value"_a.noconvert(), "n_rows"_a,
          "n_slots"_a);
    m.def("outer_products", &outer_products, "ptr"_a.noconvert(), "slot"_a.noconvert(), "value"_a.noconvert(),
          "n_slots"_a);
}
