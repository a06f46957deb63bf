// What rankings cost: totals of given rankings, and of every ballot taken as the consensus of its own instance.
//
// Problems and costs are laid out as in search.cpp.
#include "ballots.hpp"
#include "search.hpp"

#include <limits>

namespace {

double total_of(size_t m, const double *before, const double *tied, const int64_t *tier) {
    double total = 0;
    for (size_t i = 0; i < m; ++i)
        for (size_t j = i + 1; j < m; ++j)
            total += tier[i] < tier[j] ? before[i * m + j] : tier[i] > tier[j] ? before[j * m + i] : tied[i * m + j];
    return total;
}

Out2<double> ranking_totals(In<int64_t> ptr, In<double> before, In<double> tied, In2<int64_t> tier) {
    size_t problems = ptr.size() - 1, rankings = tier.shape(0), items = tier.shape(1);
    Buffer<double> total(rankings * problems, 0.0);
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, rankings, [&](size_t q, size_t base, size_t m, size_t at) {
            for (size_t r = 0; r < rankings; ++r)
                total[r * problems + q] =
                    total_of(m, before.data() + at, tied.data() + at, tier.data() + r * items + base);
        });
    }
    return total.give2(rankings, problems);
}

constexpr size_t BALLOTS_AT_ONCE = 256;

Out<double> ballot_totals(BallotArrays ballots, In<double> before, In<double> tied) {
    Ballots all(ballots);
    Buffer<double> total(all.n);
    {
        nb::gil_scoped_release release;
        std::vector<size_t> start = matrix_starts(all);
        auto some = [&](size_t chunk) {
            std::vector<int64_t> place;
            for (size_t b = chunk * BALLOTS_AT_ONCE; b < std::min(all.n, (chunk + 1) * BALLOTS_AT_ONCE); ++b) {
                size_t q = static_cast<size_t>(all.instance[b]), m = all.candidates(q);
                place.assign(m, std::numeric_limits<int64_t>::max()); // left out: the last tier
                for (int64_t k = all.indptr[b]; k < all.indptr[b + 1]; ++k)
                    place[static_cast<size_t>(all.slot[k] - all.slot_ptr[q])] = all.tier[k];
                total[b] = total_of(m, before.data() + start[q], tied.data() + start[q], place.data());
            }
        };
        for_each_task((all.n + BALLOTS_AT_ONCE - 1) / BALLOTS_AT_ONCE, some);
    }
    return total.give();
}

} // namespace

void bind_totals(nb::module_ &m) {
    m.def("ranking_totals", &ranking_totals, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert(),
          "tier"_a.noconvert());
    m.def("ballot_totals", &ballot_totals, "ballots"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert());
}
