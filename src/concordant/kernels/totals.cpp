// What rankings cost: totals of given rankings, and of every ballot taken as the consensus of its own instance.
//
// Problems and costs are laid out as in search.cpp.
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

Out<double> ballot_totals(In<int64_t> slot_ptr, In<int32_t> instance_of_ballot, In<int64_t> indptr,
                          In<int64_t> entry_slot, In<int32_t> tier, In<double> before, In<double> tied) {
    size_t instances = slot_ptr.size() - 1, ballots = indptr.size() - 1;
    Buffer<double> total(ballots);
    {
        nb::gil_scoped_release release;
        std::vector<size_t> start(instances + 1, 0);
        for (size_t q = 0; q < instances; ++q) {
            size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - slot_ptr.data()[q]);
            start[q + 1] = start[q] + m * m;
        }
        auto some = [&](size_t chunk) {
            std::vector<int64_t> place;
            for (size_t b = chunk * BALLOTS_AT_ONCE; b < std::min(ballots, (chunk + 1) * BALLOTS_AT_ONCE); ++b) {
                size_t q = static_cast<size_t>(instance_of_ballot.data()[b]);
                int64_t base = slot_ptr.data()[q];
                size_t m = static_cast<size_t>(slot_ptr.data()[q + 1] - base);
                place.assign(m, std::numeric_limits<int64_t>::max()); // left out: the last tier
                for (int64_t k = indptr.data()[b]; k < indptr.data()[b + 1]; ++k)
                    place[static_cast<size_t>(entry_slot.data()[k] - base)] = tier.data()[k];
                total[b] = total_of(m, before.data() + start[q], tied.data() + start[q], place.data());
            }
        };
        for_each_task((ballots + BALLOTS_AT_ONCE - 1) / BALLOTS_AT_ONCE, some);
    }
    return total.give();
}

} // namespace

void bind_totals(nb::module_ &m) {
    m.def("ranking_totals", &ranking_totals, "ptr"_a.noconvert(), "before"_a.noconvert(), "tied"_a.noconvert(),
          "tier"_a.noconvert());
    m.def("ballot_totals", &ballot_totals, "slot_ptr"_a.noconvert(), "instance_of_ballot"_a.noconvert(),
          "indptr"_a.noconvert(), "entry_slot"_a.noconvert(), "tier"_a.noconvert(), "before"_a.noconvert(),
          "tied"_a.noconvert());
}
