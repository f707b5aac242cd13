/* scan() reads the lines of a block by layouts, once over the bytes. It takes a line only where the expressions of the
   columnar way would say the same; every other line is left to them. */
#include "functions.h"
#include "program.h"

static int make_room(Layout *layout) {
    if ((size_t)layout->hits < layout->room) return 1;
    size_t more = layout->room ? layout->room : 256;
    if (!grow(&layout->rows, 4 * more) || !grow(&layout->tails, 4 * more)) return 0;
    for (int place = 0; place < layout->width; place++)
        if (!grow(&layout->columns[place], 8 * more)) return 0;
    layout->room += more;
    return 1;
}

static int keep(Scan *scan, const Line *line, uint32_t row) {
    Layout *layout = line->layout;
    if (layout == NULL) {
        if (!grow(&scan->left, 4)) return 0;
        PUSH(&scan->left, uint32_t, row);
        return 1;
    }
    if (!make_room(layout)) return 0;
    PUSH(&layout->rows, uint32_t, row);
    PUSH(&layout->tails, uint32_t, line->tail);
    for (int place = 0; place < layout->width; place++) PUSH(&layout->columns[place], Value, line->values[place]);
    layout->hits++;
    return 1;
}

/* 1: done; 0: no memory; -1: a line is odd */
static int scan_array(const struct ArrowArray *array, void *state) {
    Scan *scan = state;
    Line line;
    if (!grow(&scan->run, 4 * (size_t)array->length) || !grow(&scan->headed, 8 * (size_t)array->length)) return 0;
    for (int64_t number = 0; number < array->length; number++) {
        int64_t place = array->offset + number;
        size_t size;
        line.layout = NULL, line.timed = 0;
        if (!is_null(array, place)) {
            const char *text = text_at(array, place, &size);
            if (!read_line(scan, text, size, &line)) return 0;
            if (scan->odd) return -1;
        }
        uint32_t run = line.timed ? (uint32_t)(scan->local.size / 8 - 1) : 0;
        PUSH(&scan->run, uint32_t, run);
        PUSH(&scan->headed, int64_t, line.layout != NULL && line.tail > 0);
        if (!keep(scan, &line, (uint32_t)scan->rows++)) return 0;
    }
    return 1;
}

/* 1: done; 0: no memory; -1: a line is odd, or texts are in another form than string views */
static int scan_stream(Scan *scan, struct ArrowArrayStream *stream) {
    int64_t begin = 0; /* run 0: lines without a time */
    if (!grow(&scan->local, 8)) return 0;
    PUSH(&scan->local, int64_t, begin);
    return each_text(stream, scan_array, scan);
}

static PyObject *part_of(Layout *layout, int place) {
    Column columns[MAX_ITEMS + 2] = {{"I", &layout->rows, NULL, 0}, {"I", &layout->tails, NULL, 0}};
    for (int number = 0; number < layout->width; number++)
        columns[number + 2] = (Column){layout->formats[number] == 'f' ? "g" : "l", &layout->columns[number], NULL, 0};
    return Py_BuildValue("(iN)", place, table(columns, (size_t)layout->width + 2, layout->hits));
}

static PyObject *parts_of(Scan *scan) {
    PyObject *parts = PyList_New(0);
    for (int number = 0; parts != NULL && number < scan->layout_count; number++) {
        if (scan->layouts[number].hits == 0) continue;
        PyObject *part = part_of(&scan->layouts[number], number);
        if (part == NULL || PyList_Append(parts, part) < 0) Py_CLEAR(parts);
        Py_XDECREF(part);
    }
    return parts;
}

static PyObject *times_of(Scan *scan) {
    int64_t runs = (int64_t)(scan->local.size / 8);
    char *validity = malloc((size_t)runs / 8 + 1);
    if (validity == NULL) return PyErr_NoMemory();
    memset(validity, 0xff, (size_t)runs / 8 + 1);
    validity[0] &= (char)0xfe; /* run 0: lines without a time */
    Column local = {"tsu:", &scan->local, validity, 1};
    return table(&local, 1, runs);
}

static PyObject *result_of(Scan *scan) {
    Column left = {"I", &scan->left, NULL, 0}, each[] = {{"I", &scan->run, NULL, 0}, {"l", &scan->headed, NULL, 0}};
    int64_t left_count = (int64_t)(scan->left.size / 4);
    PyObject *made[4] = {parts_of(scan), NULL, NULL, NULL};
    if (made[0] != NULL) made[1] = table(&left, 1, left_count);
    if (made[1] != NULL) made[2] = times_of(scan);
    if (made[2] != NULL) made[3] = table(each, 2, scan->rows);
    if (made[3] != NULL) return Py_BuildValue("(NNNN)", made[0], made[1], made[2], made[3]);
    for (int number = 0; number < 3; number++) Py_XDECREF(made[number]);
    return NULL;
}

PyObject *scan(PyObject *module, PyObject *args) {
    PyObject *capsule, *forms, *layouts;
    (void)module;
    let_go();
    if (!PyArg_ParseTuple(args, "OO!O!", &capsule, &PyTuple_Type, &forms, &PyTuple_Type, &layouts)) return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    Scan *made = calloc(1, sizeof *made);
    if (made == NULL) return PyErr_NoMemory();
    PyObject *result = NULL;
    if (read_program(made, forms, layouts)) {
        int done;
        Py_BEGIN_ALLOW_THREADS
        done = scan_stream(made, stream);
        Py_END_ALLOW_THREADS
        if (done == 0) PyErr_NoMemory();
        else if (done < 0) result = Py_NewRef(Py_None);
        else result = result_of(made);
    }
    free_scan(made);
    return result;
}
