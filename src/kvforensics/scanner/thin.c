/* thin() finds the lines that say nothing which others do not: no greatest value, no first or last line, no gap in time.
   What lies between two lines that no layout reads is a stretch; only between those may anything happen. */
#include "functions.h"
#include "pieces.h"
#include "program.h"

#include <stddef.h>

enum { MAX_TAILS = 1024 };

/* The lines of one layout and one tail in the stretch at hand. */
typedef struct {
    uint32_t stretch, last;
} Alike;

typedef struct {
    Scan *scan;
    const char *may;            /* of each layout: whether its lines may be left out */
    int64_t gap;                /* more microseconds than this between two lines are kept */
    size_t tails;
    Alike *alike[MAX_LAYOUTS];  /* by tail, made when the first line comes */
    Value *most[MAX_LAYOUTS];   /* their greatest values so far */
    Bytes seen;                 /* of the stretch: Alike * */
    Bytes kept, left, headed;   /* rows; lines left out before each, and how many of those have a prefix */
    Bytes views, own;           /* their texts */
    Bytes marks, heads, spots;  /* of each row: whether it is kept, whether it has a prefix, where it is */
    Bytes joined;               /* lines that were cut */
    uint32_t stretch, rows;
    int64_t timed, timed_kept;  /* the last row with a time, and the last of those that is kept; -1 for none */
    int64_t time, time_kept;
} Thin;

static void mark(Thin *thin, int64_t row) { thin->marks.data[row] = 1; }

static void end_stretch(Thin *thin) {
    for (size_t at = 0; at < thin->seen.size; at += sizeof(Alike *)) mark(thin, (*(Alike **)(thin->seen.data + at))->last);
    thin->seen.size = 0;
    if (thin->timed >= 0) mark(thin, thin->timed);
    if (thin->rows > 0) mark(thin, thin->rows - 1);
    thin->stretch++;
    thin->timed = thin->timed_kept = -1;
}

/* Whether a line says more than those before it; -1: no memory. */
static int says_more(Thin *thin, const Line *line, uint32_t row) {
    Layout *layout = line->layout;
    ptrdiff_t place = layout - thin->scan->layouts;
    if (thin->alike[place] == NULL) {
        thin->alike[place] = calloc(thin->tails, sizeof(Alike));
        thin->most[place] = calloc(thin->tails * (size_t)layout->width + 1, sizeof(Value));
        if (thin->alike[place] == NULL || thin->most[place] == NULL) return -1;
    }
    Alike *alike = &thin->alike[place][line->tail];
    Value *most = &thin->most[place][line->tail * (size_t)layout->width];
    int more = alike->stretch != thin->stretch;
    if (more) {
        if (!grow(&thin->seen, sizeof alike)) return -1;
        PUSH(&thin->seen, Alike *, alike);
        memcpy(most, line->values, (size_t)layout->width * sizeof *most);
    }
    for (int number = 0; number < layout->width; number++) {
        Value value = line->values[number];
        if (layout->formats[number] == 'f' ? value.decimal <= most[number].decimal : value.whole <= most[number].whole) continue;
        most[number] = value;
        more = 1;
    }
    alike->stretch = thin->stretch, alike->last = row;
    return more;
}

/* Keep the lines at both ends of a gap, so that none seems to be where lines are left out, and where time goes back. */
static void note_gap(Thin *thin, int64_t time, uint32_t row) {
    if (thin->timed < 0 || time < thin->time) {
        if (thin->timed >= 0) mark(thin, thin->timed);
        mark(thin, row);
    } else if (thin->timed_kept >= 0 && time - thin->time_kept > thin->gap) {
        mark(thin, thin->timed);
        thin->timed_kept = thin->timed, thin->time_kept = thin->time;
        if (time - thin->time > thin->gap) mark(thin, row);
    }
    thin->timed = row, thin->time = time;
    if (thin->marks.data[row]) thin->timed_kept = row, thin->time_kept = time;
}

/* 1: done; 0: no memory */
static int take_line(Thin *thin, const Line *line) {
    uint32_t row = thin->rows;
    if (line->layout == NULL) {
        end_stretch(thin);
        mark(thin, row);
    } else {
        int more = thin->may[line->layout - thin->scan->layouts] ? says_more(thin, line, row) : 1;
        if (more < 0) return 0;
        if (more) mark(thin, row);
        thin->heads.data[row] = line->tail > 0;
    }
    if (line->timed) note_gap(thin, ((const int64_t *)thin->scan->local.data)[thin->scan->local.size / 8 - 1], row);
    thin->rows++;
    return 1;
}

/* 1: done; 0: no memory; -1: a line is odd, or there are too many */
static int take_text(void *state, const char *text, size_t size, Spot spot) {
    Thin *thin = state;
    Line line;
    if (thin->rows == UINT32_MAX) return -1;
    if (!grow(&thin->marks, 1) || !grow(&thin->heads, 1) || !grow(&thin->spots, sizeof spot)) return 0;
    PUSH(&thin->marks, char, 0);
    PUSH(&thin->heads, char, 0);
    PUSH(&thin->spots, Spot, spot);
    if (!read_line(thin->scan, text, size, &line)) return 0;
    return thin->scan->odd ? -1 : take_line(thin, &line);
}

/* Keep a row's text, so that nothing of the bytes is held on to. 1: done; 0: no memory; -1: too much */
static int keep_text(Thin *thin, const Texts *texts, uint32_t row) {
    Spot spot = ((const Spot *)thin->spots.data)[row];
    const Bytes *joined = &thin->joined;
    const char *data = spot.buffer < texts->count ? texts->buffers[spot.buffer] : joined->data;
    size_t size = (spot.buffer < texts->count ? (size_t)texts->sizes[spot.buffer] : joined->size) - spot.start;
    const char *text = data + spot.start, *end = memchr(text, '\n', size);
    if (end != NULL) size = (size_t)(end - text);
    if (size > 0 && text[size - 1] == '\r') size--;
    if (thin->own.size + size > INT32_MAX) return -1;
    if (!grow(&thin->own, size) || !add_view(&thin->views, text, size, (Spot){0, (uint32_t)thin->own.size})) return 0;
    if (size > 0) memcpy(thin->own.data + thin->own.size, text, size);
    thin->own.size += size;
    return 1;
}

/* 1: done; 0: no memory; -1: a line is odd */
static int take_array(const struct ArrowArray *array, void *state) {
    size_t size;
    int done = 1;
    for (int64_t place = array->offset; done == 1 && place < array->offset + array->length; place++) {
        if (is_null(array, place)) return -1;
        const char *text = text_at(array, place, &size);
        done = take_text(state, text, size, (Spot){0, 0});
    }
    return done;
}

/* Look at lines that lie in `texts`, or else come as a stream. 1: done; 0: no memory; -1: it cannot be told */
static int thin_lines(Thin *thin, const Texts *texts, struct ArrowArrayStream *stream) {
    thin->stretch = 1, thin->timed = thin->timed_kept = -1;
    int done = texts != NULL ? each_line(texts, &thin->joined, take_text, thin) : each_text(stream, take_array, thin);
    if (done == 1) end_stretch(thin);
    int64_t left = 0, headed = 0;
    for (uint32_t row = 0; done == 1 && row < thin->rows; row++) {
        if (!thin->marks.data[row]) {
            left++, headed += thin->heads.data[row];
            continue;
        }
        if (!grow(&thin->kept, 4) || !grow(&thin->left, 8) || !grow(&thin->headed, 8)) return 0;
        PUSH(&thin->kept, uint32_t, row);
        PUSH(&thin->left, int64_t, left);
        PUSH(&thin->headed, int64_t, headed);
        left = headed = 0;
        if (texts != NULL) done = keep_text(thin, texts, row);
    }
    return done;
}

/* The column of the texts that were kept. */
static PyObject *kept_texts(Thin *thin) {
    PyObject *none = PyTuple_New(0);
    Texts *texts = none == NULL ? NULL : new_texts(none);
    Py_XDECREF(none);
    if (texts == NULL) return NULL;
    PyObject *column = text_column(&thin->views, (int64_t)(thin->views.size / 16), texts, &thin->own);
    thin->views = thin->own = (Bytes){0};
    return column;
}

static PyObject *result_of(Thin *thin, int with_texts) {
    Column columns[] = {{"I", &thin->kept, NULL, 0}, {"l", &thin->left, NULL, 0}, {"l", &thin->headed, NULL, 0}};
    PyObject *column = with_texts ? kept_texts(thin) : Py_NewRef(Py_None);
    PyObject *rows = column == NULL ? NULL : table(columns, 3, (int64_t)(thin->kept.size / 4));
    if (rows == NULL) return Py_XDECREF(column), NULL;
    return Py_BuildValue("(NNI)", rows, column, thin->rows);
}

static void free_thin(Thin *thin) {
    for (int place = 0; place < MAX_LAYOUTS; place++) free(thin->alike[place]), free(thin->most[place]);
    free(thin->seen.data), free(thin->kept.data), free(thin->left.data), free(thin->headed.data);
    free(thin->views.data), free(thin->own.data), free(thin->joined.data);
    free(thin->marks.data), free(thin->heads.data), free(thin->spots.data);
    free_scan(thin->scan);
}

/* 0 with an exception */
static int read_may(Thin *thin, PyObject *may) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(may, &data, &size) < 0) return 0;
    thin->may = data;
    for (int number = 0; number < thin->scan->form_count; number++) thin->tails += thin->scan->forms[number].count;
    thin->tails++; /* 0: no prefix */
    if (size == thin->scan->layout_count) return 1;
    PyErr_SetString(PyExc_ValueError, "as many words as layouts are needed");
    return 0;
}

PyObject *thin(PyObject *module, PyObject *args) {
    PyObject *given, *forms, *layouts, *may, *result = NULL;
    long long gap;
    (void)module;
    let_go();
    if (!PyArg_ParseTuple(args, "OO!O!SL", &given, &PyTuple_Type, &forms, &PyTuple_Type, &layouts, &may, &gap)) return NULL;
    Texts *texts = PyTuple_Check(given) ? new_texts(given) : NULL;
    struct ArrowArrayStream *stream = PyTuple_Check(given) ? NULL : PyCapsule_GetPointer(given, "arrow_array_stream");
    if (texts == NULL && stream == NULL) return NULL;
    Thin made = {.scan = calloc(1, sizeof(Scan)), .gap = gap};
    if (made.scan == NULL) PyErr_NoMemory();
    else if (read_program(made.scan, forms, layouts) && read_may(&made, may)) {
        int done = -1;
        Py_BEGIN_ALLOW_THREADS
        if (made.tails <= MAX_TAILS) done = thin_lines(&made, texts, stream);
        Py_END_ALLOW_THREADS
        if (done == 0) PyErr_NoMemory();
        else result = done < 0 ? Py_NewRef(Py_None) : result_of(&made, texts != NULL);
    }
    free_thin(&made);
    if (texts != NULL) free_texts(texts);
    return result;
}
