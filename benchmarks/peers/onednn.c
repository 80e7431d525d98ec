/* oneDNN, version 2 or 3: primitives that are made once and run many times.
 *
 * A plan has up to three steps: bring the input into the layout that the library prefers, compute,
 * bring the result back. Constant weights are brought there while it is made. Without `around`
 * only the step in the middle is run, as in a network whose operators share a layout. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#define MOST 16

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t view;
#else
typedef const dnnl_memory_desc_t *view;
#endif

typedef struct {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[3];
    int count;
} step;

typedef struct {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    step in, middle, out;
    int failed;
#if DNNL_VERSION_MAJOR < 3
    dnnl_memory_desc_t descriptions[MOST];
#endif
    int described;
} plan;

const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *version = dnnl_version();
    int numbers[] = {version->major, version->minor, version->patch}, at = 0;
    for (int i = 0; i < 3; ++i) {
        char digits[8];
        int length = 0;
        do
            digits[length++] = (char)('0' + numbers[i] % 10);
        while ((numbers[i] /= 10) > 0 && length < 8);
        while (length > 0)
            text[at++] = digits[--length];
        text[at++] = i < 2 ? '.' : '\0';
    }
    return text;
}

static void check(plan *p, dnnl_status_t status)
{
    if (status != dnnl_success)
        p->failed = 1;
}

static plan *begin(void)
{
    plan *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    check(p, dnnl_engine_create(&p->engine, dnnl_cpu, 0));
    if (!p->failed)
        check(p, dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags));
    return p;
}

/* Row-major where no strides are given; with `any`, as the library likes it best. */
static view describe(plan *p, int rank, const int64_t *extents, dnnl_data_type_t type,
                     const int64_t *strides, int any)
{
    int64_t plain[DNNL_MAX_NDIMS];
    if (strides == NULL) {
        plain[rank - 1] = 1;
        for (int i = rank - 1; i > 0; --i)
            plain[i - 1] = plain[i] * extents[i];
        strides = plain;
    }
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t made = NULL;
    check(p, any ? dnnl_memory_desc_create_with_tag(&made, rank, extents, type,
                                                    dnnl_format_tag_any)
                 : dnnl_memory_desc_create_with_strides(&made, rank, extents, type, strides));
    return made;
#else
    dnnl_memory_desc_t *made = &p->descriptions[p->described++];
    check(p, any ? dnnl_memory_desc_init_by_tag(made, rank, extents, type, dnnl_format_tag_any)
                 : dnnl_memory_desc_init_by_strides(made, rank, extents, type, strides));
    return made;
#endif
}

static dnnl_memory_t memory(plan *p, view description, void *data)
{
    dnnl_memory_t made = NULL;
    if (!p->failed)
        check(p, dnnl_memory_create(&made, description, p->engine, data));
    return made;
}

static void argument(step *s, int which, dnnl_memory_t data)
{
    s->arguments[s->count].arg = which;
    s->arguments[s->count++].memory = data;
}

static void run(plan *p, const step *s)
{
    if (s->primitive != NULL)
        check(p, dnnl_primitive_execute(s->primitive, p->stream, s->count, s->arguments));
}

/* Fill a step from the description of its primitive, which is given up. */
static void finish(plan *p, step *s, dnnl_primitive_desc_t description)
{
    if (!p->failed)
        check(p, dnnl_primitive_create(&s->primitive, description));
    dnnl_primitive_desc_destroy(description);
}

/* The memory `from` in the layout `to`: itself, or other memory that the step `s` fills. */
static dnnl_memory_t brought(plan *p, step *s, dnnl_memory_t from, view has, view to)
{
    if (p->failed || dnnl_memory_desc_equal(has, to))
        return from;
    dnnl_memory_t other = memory(p, to, DNNL_MEMORY_ALLOCATE);
    dnnl_primitive_desc_t description = NULL;
    check(p, dnnl_reorder_primitive_desc_create(&description, has, p->engine, to, p->engine, NULL));
    if (p->failed)
        return from;
    finish(p, s, description);
    argument(s, DNNL_ARG_FROM, from);
    argument(s, DNNL_ARG_TO, other);
    return other;
}

/* The steps around a primitive whose operands lie in `x`, `w` and `y` as has_* say. */
static plan *assemble(plan *p, dnnl_primitive_desc_t description, void *x, view has_x, void *w,
                      view has_w, void *y, view has_y)
{
    if (p->failed)
        return p;
    view to_x = dnnl_primitive_desc_query_md(description, dnnl_query_src_md, 0);
    view to_y = dnnl_primitive_desc_query_md(description, dnnl_query_dst_md, 0);
    argument(&p->middle, DNNL_ARG_SRC, brought(p, &p->in, memory(p, has_x, x), has_x, to_x));
    if (w != NULL) {
        view to_w = dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
        step once = {0};
        dnnl_memory_t weights = brought(p, &once, memory(p, has_w, w), has_w, to_w);
        run(p, &once);
        check(p, dnnl_stream_wait(p->stream));
        argument(&p->middle, DNNL_ARG_WEIGHTS, weights);
    }
    dnnl_memory_t result = memory(p, has_y, y);
    if (!p->failed && !dnnl_memory_desc_equal(to_y, has_y)) {
        dnnl_memory_t own = memory(p, to_y, DNNL_MEMORY_ALLOCATE);
        dnnl_primitive_desc_t back = NULL;
        check(p, dnnl_reorder_primitive_desc_create(&back, to_y, p->engine, has_y, p->engine,
                                                    NULL));
        if (!p->failed)
            finish(p, &p->out, back);
        argument(&p->out, DNNL_ARG_FROM, own);
        argument(&p->out, DNNL_ARG_TO, result);
        result = own;
    }
    argument(&p->middle, DNNL_ARG_DST, result);
    finish(p, &p->middle, description);
    run(p, &p->in);
    check(p, dnnl_stream_wait(p->stream));
    return p;
}

/* extents: N, C, H, W, OC, KH, KW, OH, OW, groups; then stride and padding of both directions */
plan *onednn_convolution(const int64_t *extents, int8_t *x, int8_t *w, int32_t *y)
{
    plan *p = begin();
    if (p == NULL || p->failed)
        return p;
    const int64_t n = extents[0], c = extents[1], oc = extents[4], groups = extents[9];
    const dnnl_dims_t from = {n, c, extents[2], extents[3]};
    const dnnl_dims_t to = {n, oc, extents[7], extents[8]};
    const dnnl_dims_t grouped = {groups, oc / groups, c / groups, extents[5], extents[6]};
    const dnnl_dims_t whole = {oc, c, extents[5], extents[6]};
    const int64_t *filters = groups > 1 ? grouped : whole;
    const int rank = groups > 1 ? 5 : 4;
    const int64_t *stride = extents + 10, *padding = extents + 12;
    const dnnl_dims_t dense = {0};
    view has_x = describe(p, 4, from, dnnl_s8, NULL, 0);
    view any_x = describe(p, 4, from, dnnl_s8, NULL, 1);
    view has_w = describe(p, rank, filters, dnnl_s8, NULL, 0);
    view any_w = describe(p, rank, filters, dnnl_s8, NULL, 1);
    view has_y = describe(p, 4, to, dnnl_s32, NULL, 0);
    view any_y = describe(p, 4, to, dnnl_s32, NULL, 1);
    dnnl_primitive_desc_t description = NULL;
    /* What lies behind the image is as wide as what lies before, but for what no window reaches. */
    const dnnl_dims_t behind = {
        (to[2] - 1) * stride[0] + extents[5] - from[2] - padding[0],
        (to[3] - 1) * stride[1] + extents[6] - from[3] - padding[1],
    };
#if DNNL_VERSION_MAJOR >= 3
    check(p, dnnl_convolution_forward_primitive_desc_create(
                 &description, p->engine, dnnl_forward_inference, dnnl_convolution_direct, any_x,
                 any_w, NULL, any_y, stride, dense, padding, behind, NULL));
#else
    dnnl_convolution_desc_t made;
    check(p, dnnl_dilated_convolution_forward_desc_init(&made, dnnl_forward_inference,
                                                        dnnl_convolution_direct, any_x, any_w, NULL,
                                                        any_y, stride, dense, padding, behind));
    if (!p->failed)
        check(p, dnnl_primitive_desc_create(&description, &made, NULL, p->engine, NULL));
#endif
    return assemble(p, description, x, has_x, w, has_w, y, has_y);
}

/* extents: M, K, N; as an inner product, or as a matrix product with its weights turned */
plan *onednn_dense(const int64_t *extents, int as_matmul, int8_t *x, int8_t *w, int32_t *y)
{
    plan *p = begin();
    if (p == NULL || p->failed)
        return p;
    const int64_t m = extents[0], k = extents[1], n = extents[2];
    const dnnl_dims_t from = {m, k}, turned = {k, n}, straight = {n, k}, to = {m, n};
    const dnnl_dims_t strides = {1, k};
    const int64_t *shape = as_matmul ? turned : straight;
    view has_x = describe(p, 2, from, dnnl_s8, NULL, 0);
    view has_y = describe(p, 2, to, dnnl_s32, NULL, 0);
    view has_w = describe(p, 2, shape, dnnl_s8, as_matmul ? strides : NULL, 0);
    view any_w = describe(p, 2, shape, dnnl_s8, NULL, 1);
    dnnl_primitive_desc_t description = NULL;
#if DNNL_VERSION_MAJOR >= 3
    check(p, as_matmul
                 ? dnnl_matmul_primitive_desc_create(&description, p->engine, has_x, any_w, NULL,
                                                     has_y, NULL)
                 : dnnl_inner_product_forward_primitive_desc_create(
                       &description, p->engine, dnnl_forward_inference, has_x, any_w, NULL, has_y,
                       NULL));
#else
    dnnl_matmul_desc_t product;
    dnnl_inner_product_desc_t inner;
    check(p, as_matmul ? dnnl_matmul_desc_init(&product, has_x, any_w, NULL, has_y)
                       : dnnl_inner_product_forward_desc_init(&inner, dnnl_forward_inference, has_x,
                                                              any_w, NULL, has_y));
    const void *made = as_matmul ? (const void *)&product : (const void *)&inner;
    if (!p->failed)
        check(p, dnnl_primitive_desc_create(&description, made, NULL, p->engine, NULL));
#endif
    return assemble(p, description, x, has_x, w, has_w, y, has_y);
}

/* extents: N, C, H, W, OH, OW; then window, stride and padding of both directions. The elements are
 * float32, or int32, for which the library has no fast kernel. */
plan *onednn_max_pool(const int64_t *extents, int real, void *x, void *y)
{
    const dnnl_data_type_t type = real ? dnnl_f32 : dnnl_s32;
    plan *p = begin();
    if (p == NULL || p->failed)
        return p;
    const dnnl_dims_t from = {extents[0], extents[1], extents[2], extents[3]};
    const dnnl_dims_t to = {extents[0], extents[1], extents[4], extents[5]};
    const int64_t *window = extents + 6, *stride = extents + 8, *padding = extents + 10;
    const dnnl_dims_t behind = {
        (to[2] - 1) * stride[0] + window[0] - from[2] - padding[0],
        (to[3] - 1) * stride[1] + window[1] - from[3] - padding[1],
    };
    view has_x = describe(p, 4, from, type, NULL, 0);
    view has_y = describe(p, 4, to, type, NULL, 0);
    dnnl_primitive_desc_t description = NULL;
#if DNNL_VERSION_MAJOR >= 3
    const dnnl_dims_t dense = {0};
    check(p, dnnl_pooling_forward_primitive_desc_create(
                 &description, p->engine, dnnl_forward_inference, dnnl_pooling_max, has_x, has_y,
                 stride, window, dense, padding, behind, NULL));
#else
    dnnl_pooling_desc_t made;
    check(p, dnnl_pooling_forward_desc_init(&made, dnnl_forward_inference, dnnl_pooling_max, has_x,
                                            has_y, stride, window, padding, behind));
    if (!p->failed)
        check(p, dnnl_primitive_desc_create(&description, &made, NULL, p->engine, NULL));
#endif
    return assemble(p, description, x, has_x, NULL, NULL, y, has_y);
}

/* A copy of int32 elements between tensors of these extents, from one list of strides to another */
plan *onednn_reorder(int64_t rank, const int64_t *extents, const int64_t *strides,
                     const int64_t *to_strides, int32_t *x, int32_t *y)
{
    plan *p = begin();
    if (p == NULL || p->failed)
        return p;
    view from = describe(p, (int)rank, extents, dnnl_s32, strides, 0);
    view to = describe(p, (int)rank, extents, dnnl_s32, to_strides, 0);
    dnnl_primitive_desc_t description = NULL;
    check(p, dnnl_reorder_primitive_desc_create(&description, from, p->engine, to, p->engine,
                                                NULL));
    if (p->failed)
        return p;
    finish(p, &p->middle, description);
    argument(&p->middle, DNNL_ARG_FROM, memory(p, from, x));
    argument(&p->middle, DNNL_ARG_TO, memory(p, to, y));
    return p;
}

int onednn_failed(const plan *p)
{
    return p == NULL || p->failed;
}

/* Whether anything must be brought into another layout. */
int onednn_moves(const plan *p)
{
    return p->in.primitive != NULL || p->out.primitive != NULL;
}

int onednn_run(plan *p, int around)
{
    if (around)
        run(p, &p->in);
    run(p, &p->middle);
    if (around)
        run(p, &p->out);
    check(p, dnnl_stream_wait(p->stream));
    return p->failed;
}

/* Bring the result of a run without `around` to its place. */
int onednn_bring_back(plan *p)
{
    run(p, &p->out);
    check(p, dnnl_stream_wait(p->stream));
    return p->failed;
}
