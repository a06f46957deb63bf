// What pairs cost, and what follows from the sign of a pair: each matrix is met with its mirror image tile by tile, so
// that neither is read across its rows and no transposed copy is made.
#include "common.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr size_t SIDE = 32;

// Every tile of a square matrix, and every row within it: visit(i, first column, end column).
template <typename Visit> ALWAYS_INLINE void for_tile_rows(size_t m, Visit visit) {
    for (size_t row = 0; row < m; row += SIDE)
        for (size_t column = 0; column < m; column += SIDE)
            for (size_t i = row; i < std::min(row + SIDE, m); ++i) visit(i, column, std::min(column + SIDE, m));
}

// Every problem with its size and where its items and its matrix start.
template <typename Visit> void for_each_square(const In<int64_t> &ptr, Visit visit) {
    size_t at = 0;
    for (size_t q = 0; q + 1 < ptr.size(); ++q) {
        size_t base = static_cast<size_t>(ptr.data()[q]), m = static_cast<size_t>(ptr.data()[q + 1]) - base;
        visit(q, base, m, at);
        at += m * m;
    }
}

SIMD_CLONES void cost_square(size_t m, double per_unit, const double *wins, const double *ties, double *before,
                             double *tied) {
    for_tile_rows(m, [=](size_t i, size_t from, size_t to) {
        for (size_t j = from; j < to; ++j) {
            double against = wins[j * m + i];
            before[i * m + j] = std::nearbyint((against + ties[i * m + j] / 2) * per_unit);
            tied[i * m + j] = std::nearbyint((against + wins[i * m + j]) / 2 * per_unit);
        }
    });
}

nb::tuple pair_costs(In<int64_t> slot_ptr, In<double> wins, In<double> ties, In<double> unit) {
    Buffer<double> before(wins.size()), tied(wins.size());
    {
        nb::gil_scoped_release release;
        for_each_square(slot_ptr, [&](size_t q, size_t, size_t m, size_t at) {
            cost_square(m, 1 / unit.data()[q], wins.data() + at, ties.data() + at, before.get() + at, tied.get() + at);
        });
    }
    return nb::make_tuple(before.give(), tied.give());
}

// Costs are whole numbers: sums by column and by row are exact in any order.
double sum_of_row(const double *row, size_t m) {
    double part[4] = {};
    size_t j = 0;
    for (; j + 4 <= m; j += 4)
        for (size_t k = 0; k < 4; ++k) part[k] += row[j + k];
    for (; j < m; ++j) part[0] += row[j];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

Out<double> net_costs(In<int64_t> ptr, In<double> before) {
    Buffer<double> net(static_cast<size_t>(ptr.data()[ptr.size() - 1]), 0.0);
    {
        nb::gil_scoped_release release;
        for_each_square(ptr, [&](size_t, size_t base, size_t m, size_t at) {
            double *own = net.get() + base;
            const double *row = before.data() + at;
            for (size_t i = 0; i < m; ++i, row += m) {
                for (size_t j = 0; j < m; ++j) own[j] += row[j];
                own[i] -= sum_of_row(row, m);
            }
        });
    }
    return net.give();
}

Out<double> majority_chances(In<int64_t> ptr, In<double> before) {
    Buffer<double> chance(before.size());
    {
        nb::gil_scoped_release release;
        for_each_square(ptr, [&](size_t, size_t, size_t m, size_t at) {
            const double *cost = before.data() + at;
            double *own = chance.get() + at;
            for_tile_rows(m, [=](size_t i, size_t from, size_t to) {
                for (size_t j = from; j < to; ++j) {
                    double here = cost[i * m + j], there = cost[j * m + i];
                    own[i * m + j] = here < there ? 1.0 : here > there ? 0.0 : 0.5;
                }
            });
        });
    }
    return chance.give();
}

nb::tuple count_majorities(In<int64_t> slot_ptr, In<double> wins) {
    size_t slots = static_cast<size_t>(slot_ptr.data()[slot_ptr.size() - 1]);
    Buffer<double> defeats(slots, 0.0), draws(slots, 0.0);
    {
        nb::gil_scoped_release release;
        for_each_square(slot_ptr, [&](size_t, size_t base, size_t m, size_t at) {
            const double *own = wins.data() + at;
            double *beaten = defeats.get() + base, *level = draws.get() + base;
            for_tile_rows(m, [=](size_t i, size_t from, size_t to) {
                int more = 0, same = 0;
                for (size_t j = from; j < to; ++j) {
                    more += own[i * m + j] > own[j * m + i];
                    same += own[i * m + j] == own[j * m + i];
                }
                beaten[i] += more;
                level[i] += same - (from <= i && i < to);
            });
        });
    }
    return nb::make_tuple(defeats.give(), draws.give());
}

Out<double> take_blocks(In<int64_t> ptr, In<double> matrix, In<int64_t> item, In<int64_t> block_ptr) {
    size_t blocks = block_ptr.size() - 1, cells = 0;
    const int64_t *from = block_ptr.data();
    for (size_t b = 0; b < blocks; ++b) cells += static_cast<size_t>((from[b + 1] - from[b]) * (from[b + 1] - from[b]));
    Buffer<double> taken(cells);
    {
        nb::gil_scoped_release release;
        double *out = taken.get();
        size_t b = 0;
        for_each_square(ptr, [&](size_t, size_t base, size_t m, size_t at) {
            for (; b < blocks && from[b] < static_cast<int64_t>(base + m); ++b)
                for (int64_t i = from[b]; i < from[b + 1]; ++i) {
                    const double *row = matrix.data() + at + (static_cast<size_t>(item.data()[i]) - base) * m;
                    for (int64_t j = from[b]; j < from[b + 1]; ++j) *out++ = row[static_cast<size_t>(item.data()[j]) - base];
                }
        });
    }
    return taken.give();
}

} // namespace

void bind_costs(nb::module_ &m) {
    m.def("pair_costs", &pair_costs, "slot_ptr"_a.noconvert(), "wins"_a.noconvert(), "ties"_a.noconvert(),
          "unit"_a.noconvert());
    m.def("net_costs", &net_costs, "ptr"_a.noconvert(), "before"_a.noconvert());
    m.def("majority_chances", &majority_chances, "ptr"_a.noconvert(), "before"_a.noconvert());
    m.def("count_majorities", &count_majorities, "slot_ptr"_a.noconvert(), "wins"_a.noconvert());
    m.def("take_blocks", &take_blocks, "ptr"_a.noconvert(), "matrix"_a.noconvert(), "item"_a.noconvert(),
          "block_ptr"_a.noconvert());
}
