// Orders from preference matrices, greedily: the item of largest net preference goes first, then is taken out.
//
// Problems stand side by side: problem q has items ptr[q] … ptr[q+1] - 1 and its own square matrix, row-major.
#include "search.hpp"

namespace {

void order_one(const double *preference, size_t m, int64_t *order) {
    std::vector<double> net(m, 0.0);
    std::vector<size_t> left(m);
    for (size_t i = 0; i < m; ++i) {
        left[i] = i;
        for (size_t j = 0; j < m; ++j) net[i] += preference[i * m + j] - preference[j * m + i];
    }
    for (size_t place = 0; place < m; ++place) {
        size_t best = 0;
        for (size_t k = 1; k < left.size(); ++k)
            if (net[left[k]] > net[left[best]]) best = k;
        size_t gone = left[best];
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(best)); // keeps input order among equals
        for (size_t i : left) net[i] += preference[gone * m + i] - preference[i * m + gone];
        order[place] = static_cast<int64_t>(gone);
    }
}

Out<int64_t> greedy_orders(In<int64_t> ptr, In<double> preference) {
    size_t problems = ptr.size() - 1;
    Buffer<int64_t> order(static_cast<size_t>(ptr.data()[problems]));
    {
        nb::gil_scoped_release release;
        for_each_problem(ptr.data(), problems, 2, [&](size_t, size_t base, size_t m, size_t at) {
            order_one(preference.data() + at, m, order.get() + base);
        });
    }
    return order.give();
}

} // namespace

void bind_ordering(nb::module_ &m) {
    m.def("greedy_orders", &greedy_orders, "ptr"_a.noconvert(), "preference"_a.noconvert());
}
