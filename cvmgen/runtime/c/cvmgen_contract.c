/* Contractions by the register tile: strips, and in each of them blocks of totals. */
#include "cvmgen_geometry.h"
#include "cvmgen_runtime.h"
#include "cvmgen_threads.h"

enum {
    BLOCK_ROWS = 64,  /* of a block of totals */
    MOST_PANELS = 8,  /* of a block */
    BLOCK_PANELS = 4, /* of one of many rows whose totals are read again, from the first cache */
    BLOCK_TOTALS = BLOCK_ROWS * MOST_PANELS * CVMGEN_TILE_COLUMNS,
    ROW_STEP = 8,     /* every tile is fast with so many rows, */
    VECTOR_ROWS = 32, /* and what takes totals of rows side by side with so many */
    MOST_COPIES = 64, /* of an image */
    TASKS_EACH = 4,   /* or more for each thread, so that all end at about the same time */
};
static const int64_t STRIP_BYTES = 1 << 19;    /* of an image that stays in the second cache */
static const int64_t COPIED_BYTES = 1 << 17;   /* of an image that threads do not share */
/* Below both, threads do not pay: products, and bytes of panels that come from far away. */
static const int64_t LEAST_PRODUCTS = 1 << 22, LEAST_PANELS = 1 << 18;

/* ---------------------------------------------------------------- memory */

/* `bytes` of memory on a multiple of 64, kept for later; NULL if there is none. */
#define RESERVE(block, wanted) reserved(&(block).memory, &(block).bytes, wanted)
static void *reserved(void **memory, int64_t *bytes, int64_t wanted) {
    if (*bytes < wanted + 64) {
        free(*memory);
        *memory = malloc((size_t)wanted + 64);
        *bytes = *memory == NULL ? 0 : wanted + 64;
    }
    if (*memory == NULL) return NULL;
    return (char *)*memory + (64 - (uintptr_t)*memory % 64);
}
void cvmgen_free_workspace(cvmgen_workspace *workspace) {
    free(workspace->plan.memory);
    free(workspace->image.memory);
    free(workspace->panels.memory);
    free(workspace->tables.memory);
    free(workspace->narrow.memory);
    free(workspace->list.memory);
    memset(workspace, 0, sizeof *workspace);
}

/* Elements of int32 as int8, piece by piece. */
enum { NARROW_PIECE = 1 << 16 };
typedef struct narrowing {
    const int32_t *from;
    int8_t *to;
    int64_t count;
    int *beyond; /* set where one does not fit */
} narrowing;

static void narrow_piece(const narrowing *todo, int64_t number) {
    const int64_t at = number * NARROW_PIECE;
    const int64_t count = cvmgen_min_i64(NARROW_PIECE, todo->count - at);
    if (__atomic_load_n(todo->beyond, __ATOMIC_RELAXED)) return;
    if (!cvmgen_narrow_run(todo->to + at, todo->from + at, count))
        __atomic_store_n(todo->beyond, 1, __ATOMIC_RELAXED);
}

/* Those behind the first. */
static void narrow_others(const void *context, int64_t low, int64_t high) {
    for (int64_t number = low; number < high; ++number) narrow_piece(context, number + 1);
}

/* The elements as int8, which those of int32 become in `to`; NULL if one does not fit. */
static const int8_t *narrowed(cvmgen_factor given, int64_t count, int8_t *to) {
    int beyond = 0;
    if (!given.wide) return (const int8_t *)given.data;
    const narrowing todo = {(const int32_t *)given.data, to, count, &beyond};
    const int64_t pieces = (count + NARROW_PIECE - 1) / NARROW_PIECE;
    narrow_piece(&todo, 0); /* an element that does not fit is most often one of the first */
    if (!beyond) cvmgen_share(pieces - 1, pieces > 4, narrow_others, &todo);
    return beyond ? NULL : to;
}

/* ---------------------------------------------------------------- totals */

/* Where `count` rows begin in the image, from row `row` of the strip on. */
static void find_rows(const cvmgen_geometry *g, int64_t row, int64_t count, int64_t *starts) {
    const cvmgen_contraction *const given = g->given;
    const int last = given->line_count - 1;
    const int64_t length = given->lines[last].extent, step = g->move[last] * g->bytes[last];
    for (int64_t done = 0; done < count;) {
        int64_t rest = last == 0 ? 0 : (row + done) / length;
        const int64_t index = row + done - rest * length;
        const int64_t end = cvmgen_min_i64(count, done + length - index);
        int64_t start = index * step;
        for (int i = last - 1; i >= 0; --i) {
            start += (i == 0 ? rest : rest % given->lines[i].extent) * g->move[i] * g->bytes[i];
            rest /= given->lines[i].extent;
        }
        for (; done < end; ++done, start += step) starts[done] = start;
    }
}

typedef struct work {
    const cvmgen_geometry *g;
    const int8_t *x;
    int32_t *y; /* or NULL */
    uint8_t *image; /* the first of `copies`, so many bytes apart */
    int64_t copies, image_bytes;
    const int8_t *panels;
    const int64_t *runs;
    bool turned, threads;
    bool in_place; /* rows are read where they lie */
    int64_t block_rows, block_panels;
    cvmgen_take_totals *take;
    const void *call;
} work;

/* A copy of the image, on a line of the cache of its own. */
enum { NOT_STAGED, BEING_STAGED, STAGED };
typedef struct image_copy {
    _Alignas(64) int state;
    uint8_t *bytes;
} image_copy;

/* What is done of a strip: blocks of rows by groups of panels. Other threads get it from the cache
   of the first, in few lines. */
typedef struct strip_work {
    _Alignas(64) work todo;
    cvmgen_strip strip;
    uint64_t number; /* of this strip among all, from 1 on */
    int64_t rows, blocks, groups, tasks;
    int64_t parts;     /* of the tasks, one for each thread */
    bool panels_first; /* neighbouring tasks have the same panels, not the same rows */
    image_copy *copies;
    const uint8_t *rows_in_place; /* where they lie, if they are read there */
} strip_work;

/* How many of `count` from `first` on are in the group of the first. */
static int64_t in_group(int64_t first, int64_t count, int64_t group) {
    return first + count <= group ? count : cvmgen_min_i64(count, group - first % group);
}
/* Give a block away, group by group. */
static void give(const work *todo, const cvmgen_totals *block) {
    const cvmgen_contraction *const given = todo->g->given;
    const int64_t row_step = todo->turned ? 1 : block->step;
    const int64_t column_step = todo->turned ? block->step : 1;
    cvmgen_totals piece = *block;
    for (int64_t r = 0; r < block->rows; r += piece.rows) {
        piece.row = block->row + r;
        piece.rows = in_group(piece.row, block->rows - r, given->row_group);
        for (int64_t c = 0; c < block->columns; c += piece.columns) {
            piece.column = block->column + c;
            piece.columns = in_group(piece.column, block->columns - c, given->column_group);
            piece.totals = block->totals + r * row_step + c * column_step;
            todo->take(todo->call, &piece);
        }
    }
}

/* The index of the last loop that a position is in, which becomes that of the loops around it. */
static int64_t taken(int64_t *position, int64_t extent, bool outermost) {
    const int64_t rest = outermost ? 0 : *position / extent, index = *position - rest * extent;
    *position = rest;
    return index;
}

/* The element of y that the first total of a block is stored in, and how far apart lines are there;
   NULL where the block is not stored as it is: it goes on from one group to the next, or its last
   panel is not full. */
static int32_t *place_in_y(const work *todo, const cvmgen_totals *block, int64_t *step) {
    const cvmgen_contraction *const given = todo->g->given;
    int64_t offset = 0, rest = block->batch;
    if (todo->y == NULL || block->columns % CVMGEN_TILE_COLUMNS != 0 ||
        in_group(block->row, block->rows, given->row_group) < block->rows ||
        in_group(block->column, block->columns, given->column_group) < block->columns)
        return NULL;
    for (int i = given->batch_count - 1; i >= 0; --i)
        offset += taken(&rest, given->batches[i].extent, i == 0) * given->batches[i].y_step;
    rest = block->row;
    for (int i = given->line_count - 1; i >= 0; --i)
        offset += taken(&rest, given->lines[i].extent, i == 0) * given->lines[i].y_step;
    rest = block->column;
    for (int i = given->column_count - 1; i >= 0; --i)
        offset += taken(&rest, given->columns[i].extent, i == 0) * given->columns[i].y_step;
    *step = todo->turned ? given->columns[given->column_count - 1].y_step
                         : given->lines[given->line_count - 1].y_step;
    return todo->y + offset;
}

/* A block: some rows of a batch of a strip, and some panels. */
static void run_block(const strip_work *at, const uint8_t *image, int64_t batch, int64_t row,
                      int64_t rows, int64_t panel) {
    const work *const todo = &at->todo;
    const cvmgen_geometry *const g = todo->g;
    const cvmgen_contraction *const given = g->given;
    const int64_t panels = cvmgen_min_i64(todo->block_panels, g->panels - panel);
    const int64_t column = panel * CVMGEN_TILE_COLUMNS;
    int64_t starts[BLOCK_ROWS], w_start;
    int32_t totals[BLOCK_TOTALS];
    cvmgen_totals block = {
        .batch = at->strip.batch + batch,
        .row = at->strip.line * (g->rows / given->lines[0].extent) + row,
        .rows = rows,
        .column = column,
        .columns = cvmgen_min_i64(panels * CVMGEN_TILE_COLUMNS, g->columns - column),
        .totals = totals,
        .step = todo->turned ? rows : panels * CVMGEN_TILE_COLUMNS,
    };
    int64_t y_step = 0;
    int32_t *const y = place_in_y(todo, &block, &y_step);
    find_rows(g, row, rows, starts);
    const cvmgen_tile tile = {
        .x = image + batch * cvmgen_places_of(g, at->strip.lines) * g->bytes[0],
        .rows = starts,
        .runs = todo->runs,
        .run_count = g->run_count,
        .run_quads = g->run_quads,
        .panels = todo->panels + cvmgen_w_batch(given, block.batch, &w_start) * g->panels_bytes +
                  panel * g->panel_bytes,
        .totals = y != NULL ? y : totals,
        .step = y != NULL ? y_step : block.step,
        .row_count = rows,
        .panel_count = panels,
        .zero = (int32_t)given->zero,
        .turned = todo->turned,
        .elements = todo->in_place && !given->staged,
    };
    cvmgen_run_tile(&tile);
    if (y == NULL) give(todo, &block);
}

/* An image of the strip. A thread reads slowly what another has just written: each part has a copy,
   which whoever comes first stages. Where one is about to, another copy does. */
static const uint8_t *find_image(const strip_work *at, int64_t part) {
    const work *const todo = &at->todo;
    for (int64_t copy = part % todo->copies;; copy = (copy + 1) % todo->copies) {
        image_copy *const here = &at->copies[copy];
        int state = __atomic_load_n(&here->state, __ATOMIC_ACQUIRE);
        if (state == STAGED) return here->bytes;
        if (state == NOT_STAGED &&
            __atomic_compare_exchange_n(&here->state, &state, BEING_STAGED, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            cvmgen_stage(todo->g, &at->strip, here->bytes, todo->x, false);
            __atomic_store_n(&here->state, STAGED, __ATOMIC_RELEASE);
            return here->bytes;
        }
    }
}
/* The same one for all tasks of a thread, those that it takes from others too. */
static const uint8_t *image_for(const strip_work *at, int64_t part) {
    static _Thread_local uint64_t number;
    static _Thread_local const uint8_t *image;
    if (number != at->number) {
        image = find_image(at, part);
        number = at->number;
    }
    return image;
}

static void run_task(const strip_work *at, int64_t task) {
    const work *const todo = &at->todo;
    const int64_t part = ((task + 1) * at->parts - 1) / at->tasks;
    const int64_t of_batch = at->blocks * at->groups, within = task % of_batch;
    const int64_t block = at->panels_first ? within % at->blocks : within / at->groups;
    const int64_t group = at->panels_first ? within / at->blocks : within % at->groups;
    const int64_t row = block * todo->block_rows;
    const uint8_t *const image = todo->in_place ? at->rows_in_place : image_for(at, part);
    run_block(at, image, task / of_batch, row,
              cvmgen_min_i64(todo->block_rows, at->rows - row), group * todo->block_panels);
}
static void run_tasks(const void *context, int64_t low, int64_t high) {
    for (int64_t task = low; task < high; ++task) run_task(context, task);
}

static void run_strip(const work *todo, const cvmgen_strip *strip) {
    const cvmgen_geometry *const g = todo->g;
    static uint64_t strips;
    image_copy copies[MOST_COPIES];
    strip_work at = {.todo = *todo, .strip = *strip, .copies = copies};
    at.number = __atomic_add_fetch(&strips, 1, __ATOMIC_RELAXED);
    at.rows = g->rows / g->given->lines[0].extent * strip->lines;
    at.blocks = (at.rows + todo->block_rows - 1) / todo->block_rows;
    at.groups = (g->panels + todo->block_panels - 1) / todo->block_panels;
    /* What changes from task to task is read from further away: the smaller of both, if it can. */
    at.panels_first = at.groups > 1 && g->places[0] * g->bytes[0] <= g->panels_bytes;
    at.tasks = strip->batches * at.blocks * at.groups;
    at.parts = todo->threads ? cvmgen_min_i64(at.tasks, cvmgen_thread_count()) : 1;
    for (int64_t copy = 0; copy < todo->copies; ++copy)
        copies[copy] = (image_copy){NOT_STAGED, todo->image + copy * todo->image_bytes};
    if (todo->in_place)
        at.rows_in_place = (const uint8_t *)todo->x + g->given->x_start +
                           strip->line * g->move[0] * g->bytes[0];
    if (todo->copies == 1) {
        cvmgen_stage(g, strip, todo->image, todo->x, todo->threads);
        copies[0].state = STAGED;
    }
    cvmgen_share(at.tasks, todo->threads, run_tasks, &at);
}

/* ---------------------------------------------------------------- strips */

/* Which strip comes first: as many batches as fit the cache, or as many lines of one. */
static cvmgen_strip first_strip(const cvmgen_geometry *g) {
    const int64_t lines = g->given->lines[0].extent;
    const int64_t bytes = g->places[0] * g->bytes[0];
    const int64_t fitting = cvmgen_min_i64(g->batches, STRIP_BYTES / bytes);
    cvmgen_strip at = {.batches = cvmgen_max_i64(1, fitting),
               .lines = lines};
    if (bytes > 2 * STRIP_BYTES) {
        const int64_t line_bytes = g->move[0] * g->bytes[0];
        const int64_t least = (BLOCK_ROWS + g->rows / lines - 1) / (g->rows / lines);
        at.lines = cvmgen_max_i64(STRIP_BYTES / line_bytes, least);
        at.lines = cvmgen_min_i64(lines, at.lines);
    }
    return at;
}
/* Go to the next strip; false behind the last. `first` was the first one. */
static bool next_strip(const cvmgen_geometry *g, const cvmgen_strip *first, cvmgen_strip *at) {
    const int64_t lines = g->given->lines[0].extent;
    at->line += at->lines;
    if (at->line >= lines) {
        at->line = 0;
        at->batch += at->batches;
    }
    at->lines = cvmgen_min_i64(first->lines, lines - at->line);
    at->batches = cvmgen_min_i64(first->batches, g->batches - at->batch);
    return at->batch < g->batches;
}

/* Blocks of about as many rows, all of which but the last are whole steps. */
static int64_t rows_of_blocks(int64_t rows, int64_t step) {
    const int64_t blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    const int64_t each = (rows + blocks - 1) / blocks;
    return cvmgen_min_i64(BLOCK_ROWS, (each + step - 1) / step * step);
}

/* As many panels as leave enough tasks, of `blocks` of rows each. */
static int64_t panels_of_blocks(const work *todo, int64_t blocks) {
    const cvmgen_geometry *const g = todo->g;
    const int64_t tasks = todo->threads ? TASKS_EACH * (int64_t)cvmgen_thread_count() : 1;
    const bool read_again = todo->y == NULL && g->rows > ROW_STEP;
    int64_t panels = read_again ? BLOCK_PANELS : MOST_PANELS;
    while (panels > 2 && (g->panels + panels - 1) / panels * blocks < tasks) panels /= 2;
    return panels;
}

/* What follows from a contraction alone: the next call with it finds it in the workspace, and its
   threads in their own caches. */
typedef struct plan {
    bool made, has_runs;
    cvmgen_contraction asked; /* for any y */
    cvmgen_contraction given; /* with its lines joined */
    cvmgen_geometry g;
} plan;

static bool contract(plan *kept, cvmgen_factor x, cvmgen_factor w, work *todo,
                     cvmgen_workspace *space) {
    const cvmgen_geometry *const g = &kept->g;
    const cvmgen_contraction *const given = &kept->given;
    const int64_t depth = 4 * g->run_count * g->run_quads;
    const cvmgen_strip first = first_strip(g);
    const int64_t bytes = first.batches * cvmgen_places_of(g, first.lines) * g->bytes[0] + 64;
    const int64_t narrow_bytes = cvmgen_max_i64(x.wide ? given->x_count : 0,
                                                w.wide && !space->packed ? given->w_count : 0);
    /* What each thread would stage is not divided among them; one alone gains nothing where reading
       elements is slower. */
    todo->in_place =
        g->rows >= ROW_STEP && cvmgen_lies_staged(g) &&
        (given->staged || cvmgen_takes_elements(!todo->threads || cvmgen_thread_count() == 1));
    if (todo->in_place)
        todo->copies = 0;
    else if (todo->threads && bytes <= COPIED_BYTES)
        todo->copies = cvmgen_min_i64(MOST_COPIES, cvmgen_thread_count());
    todo->image_bytes = (bytes + 63) / 64 * 64;
    int64_t *const runs = (int64_t *)RESERVE(space->tables, (g->run_count + depth) * 8);
    uint8_t *const image = (uint8_t *)RESERVE(space->image, todo->copies * todo->image_bytes);
    int8_t *const panels = (int8_t *)RESERVE(space->panels, g->w_batches * g->panels_bytes);
    int8_t *const narrow = (int8_t *)RESERVE(space->narrow, narrow_bytes);
    if (runs == NULL || image == NULL || panels == NULL || narrow == NULL) return false;
    if (!space->packed) {
        const int8_t *const elements = narrowed(w, given->w_count, narrow);
        if (elements == NULL) return false;
        cvmgen_pack_panels(g, panels, elements, runs + g->run_count);
        space->packed = space->keeps_w;
    }
    todo->x = narrowed(x, given->x_count, narrow);
    if (todo->x == NULL) return false;
    if (!kept->has_runs) cvmgen_find_runs(g, runs);
    kept->has_runs = true;
    todo->image = image;
    todo->panels = panels;
    todo->runs = runs;
    const int64_t rows = g->rows / given->lines[0].extent * first.lines;
    todo->block_rows = rows_of_blocks(rows, todo->turned ? VECTOR_ROWS : ROW_STEP);
    todo->block_panels =
        panels_of_blocks(todo, first.batches * ((rows + todo->block_rows - 1) / todo->block_rows));
    for (cvmgen_strip at = first; ; ) {
        run_strip(todo, &at);
        if (!next_strip(g, &first, &at)) return true;
    }
}

static plan *planned(const cvmgen_contraction *contraction, cvmgen_workspace *space) {
    const bool first = space->plan.memory == NULL;
    plan *const kept = (plan *)RESERVE(space->plan, (int64_t)sizeof(plan));
    cvmgen_contraction asked = *contraction;
    asked.y = NULL;
    if (kept == NULL) return NULL;
    if (first || !kept->made || memcmp(&kept->asked, &asked, sizeof asked) != 0) {
        *kept = (plan){.asked = asked, .given = asked};
        cvmgen_join_lines(&kept->given);
        kept->g.given = &kept->given;
        kept->made = cvmgen_measure_contraction(&kept->g, space->keeps_w);
    }
    return kept->made ? kept : NULL;
}

bool cvmgen_contract(const cvmgen_contraction *contraction, cvmgen_factor x, cvmgen_factor w,
                     bool turned, cvmgen_take_totals *take, const void *call,
                     cvmgen_workspace *workspace) {
    cvmgen_workspace own = {.keeps_w = false};
    cvmgen_workspace *const space = workspace != NULL ? workspace : &own;
    plan *const kept = planned(contraction, space);
    bool done = false;
    if (kept != NULL) {
        const cvmgen_geometry *const g = &kept->g;
        work todo = {.g = g, .y = contraction->y, .copies = 1, .turned = turned};
        todo.take = take;
        todo.call = call;
        todo.threads = g->rows * g->columns * g->depth * g->batches >= LEAST_PRODUCTS ||
                       g->panels_bytes * g->w_batches >= LEAST_PANELS;
        done = contract(kept, x, w, &todo, space);
    }
    if (workspace == NULL) cvmgen_free_workspace(&own);
    return done;
}
