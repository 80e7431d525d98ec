/* All headers for C++, calls that are right, and what is thrown of others. */
#include "cvm.hpp"
#include "mxnet.hpp"
#include "onnx.hpp"
#include "systemml.hpp"
#include "tflite.hpp"
#include "tosa.hpp"

#include <cstdio>
#include <vector>

template <class Call> static void refused(Call call) {
    try {
        call();
        std::puts("not refused");
    } catch (const std::exception &error) {
        std::puts(error.what());
    }
}

int main() {
    const std::int8_t x[] = {1, 2};
    std::vector<std::int8_t> w = {3, 4, 5, 6};
    std::int32_t y[2] = {}, *unknown = nullptr;
    cvmgen::tensor X(x, {1, 2}, 8);
    cvmgen::tensor W(w, {2, 2}, 8);
    cvmgen::tensor Y(y, {1, 2});
    cvmgen::tensor shape(unknown, {7, 7});
    static_assert(!std::is_convertible_v<decltype(X), cvmgen_tensor *>, "inputs are constant");
    static_assert(std::is_convertible_v<decltype(Y), cvmgen_tensor *>, "results are not");
    static_assert(!std::is_copy_constructible_v<cvmgen::bound>, "one owns a bound call");

    cvmgen::cvm_dense dense;
    dense.X = X, dense.W = W, dense.Y = shape;
    dense.infer();
    std::printf("%d dimensions, %d of %d, precision %d\n", shape.rank(), (int)shape.extent(1),
                (int)shape.size(), shape.precision());
    dense.Y = Y;
    dense();
    std::printf("%d %d\n", Y[0], *(Y.end() - 1));

    cvmgen::bound first = dense.bind(2), step = std::move(first);
    std::int8_t other[] = {-1, 1};
    void *data[] = {other, nullptr, nullptr};
    step(data);
    for (const std::int32_t each : Y) std::printf("%d\n", each);

    const std::int32_t t[] = {1, 2, 3, 4};
    std::int32_t total[1];
    cvmgen::tensor T(t, {2, 2});
    cvmgen::tensor S(total, {1, 1});
    cvmgen::tosa_reduce_sum sum;
    sum.input1 = T, sum.output1 = S, sum.axes = cvmgen::list({0, 1});
    sum();
    std::printf("%d\n", total[0]);
    const cvmgen_tensor *parts[] = {X, X};
    cvmgen::cvm_concatenate joined;
    std::int8_t both[4];
    cvmgen::tensor B(both, {2, 2});
    joined.I = parts, joined.I_count = 2, joined.Y = B, joined.axis = 0;
    joined();
    std::printf("%d %d\n", both[0], both[3]);

    refused([&] { cvmgen::tensor(w, {2, 3}); });
    refused([&] { cvmgen::tensor(x, {INT64_MAX, INT64_MAX}); });
    refused([&] { cvmgen::tensor(x, {-1}); });
    refused([&] { cvmgen::list({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}); });
    refused([&] { sum.keep_dims = 7, sum(); });
    dense.W = nullptr;
    refused(dense);
    refused([&] { dense.bind(); });
    return 0;
}
