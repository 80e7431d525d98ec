/* CUDA's vector types, aligned as on a device. */
#ifndef CVMGEN_CPU_VECTORS_H
#define CVMGEN_CPU_VECTORS_H

#define CVMGEN_CPU_VECTORS(T, name, two, four)                                                 \
    struct name##1 { T x; };                                                                   \
    struct __align__(two) name##2 { T x, y; };                                                 \
    struct name##3 { T x, y, z; };                                                             \
    struct __align__(four) name##4 { T x, y, z, w; };                                          \
    static inline __device__ name##1 make_##name##1(T x) { return {x}; }                       \
    static inline __device__ name##2 make_##name##2(T x, T y) { return {x, y}; }               \
    static inline __device__ name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }       \
    static inline __device__ name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

CVMGEN_CPU_VECTORS(signed char, char, 2, 4)
CVMGEN_CPU_VECTORS(unsigned char, uchar, 2, 4)
CVMGEN_CPU_VECTORS(short, short, 4, 8)
CVMGEN_CPU_VECTORS(unsigned short, ushort, 4, 8)
CVMGEN_CPU_VECTORS(int, int, 8, 16)
CVMGEN_CPU_VECTORS(unsigned, uint, 8, 16)
CVMGEN_CPU_VECTORS(long long, longlong, 16, 16)
CVMGEN_CPU_VECTORS(unsigned long long, ulonglong, 16, 16)
CVMGEN_CPU_VECTORS(float, float, 8, 16)
CVMGEN_CPU_VECTORS(double, double, 16, 16)
#undef CVMGEN_CPU_VECTORS

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(const uint3 &from) : x(from.x), y(from.y), z(from.z) {}
};
#endif
