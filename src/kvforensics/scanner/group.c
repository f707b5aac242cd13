/* group() adds up rows that agree in some columns. */
#include "functions.h"
#include "groups.h"

/* What group() is asked, and what it makes. */
typedef struct {
    Groups groups;
    Py_ssize_t key_count, order_count, told_count;
    struct ArrowArrayStream **keys, **orders;
    int64_t **places; /* the orders, each laid out in one piece */
    Told *told;
    size_t at; /* the next place to lay out */
} Asked;

static struct ArrowArrayStream *stream_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, "arrow_array_stream");
}

/* NULL with an exception */
static struct ArrowArrayStream **streams_of(PyObject *capsules, Py_ssize_t *count) {
    *count = PyTuple_Size(capsules);
    struct ArrowArrayStream **streams = calloc((size_t)*count + 1, sizeof *streams);
    if (streams == NULL) return (void)PyErr_NoMemory(), NULL;
    for (Py_ssize_t number = 0; number < *count; number++) {
        streams[number] = stream_of(PyTuple_GetItem(capsules, number));
        if (streams[number] == NULL) return free(streams), NULL;
    }
    return streams;
}

/* 0 with an exception */
static int read_told(Asked *asked, PyObject *given) {
    asked->told_count = PyTuple_Size(given);
    asked->told = calloc((size_t)asked->told_count + 1, sizeof *asked->told);
    if (asked->told == NULL) return PyErr_NoMemory(), 0;
    for (Py_ssize_t number = 0; number < asked->told_count; number++) {
        Told *told = &asked->told[number];
        int rule;
        PyObject *capsule;
        if (!PyArg_ParseTuple(PyTuple_GetItem(given, number), "COi", &rule, &capsule, &told->order)) return 0;
        if (rule == 0 || rule > 'z' || strchr("flnxsc", rule) == NULL || told->order >= asked->order_count) {
            PyErr_SetString(PyExc_ValueError, "there is no such rule or order");
            return 0;
        }
        told->rule = (char)rule;
        if (rule != 'c' && (told->stream = stream_of(capsule)) == NULL) return 0;
    }
    return 1;
}

static int read_asked(Asked *asked, PyObject *args) {
    Py_ssize_t height;
    PyObject *keys, *orders, *told;
    if (!PyArg_ParseTuple(args, "nO!O!O!", &height, &PyTuple_Type, &keys, &PyTuple_Type, &orders, &PyTuple_Type, &told)) return 0;
    if (height < 0 || height >= UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "more rows than can be numbered");
        return 0;
    }
    asked->groups.rows = (size_t)height;
    if ((asked->keys = streams_of(keys, &asked->key_count)) == NULL) return 0;
    if ((asked->orders = streams_of(orders, &asked->order_count)) == NULL) return 0;
    return read_told(asked, told);
}

static int lay_out(const struct ArrowArray *array, void *state) {
    Asked *asked = state;
    if (asked->at + (size_t)array->length > asked->groups.rows) return -1;
    const int64_t *values = (const int64_t *)array->buffers[1] + array->offset;
    int64_t *places = asked->places[asked->order_count];
    memcpy(places + asked->at, values, 8 * (size_t)array->length);
    asked->at += (size_t)array->length;
    return 1;
}

/* 1: done; 0: no memory; -1: it does not fit */
static int lay_out_orders(Asked *asked) {
    Py_ssize_t count = asked->order_count;
    asked->places = calloc((size_t)count + 1, sizeof *asked->places);
    if (asked->places == NULL) return 0;
    for (asked->order_count = 0; asked->order_count < count; asked->order_count++) {
        int64_t *places = asked->places[asked->order_count] = malloc(8 * asked->groups.rows + 8);
        if (places == NULL) return 0;
        asked->at = 0;
        struct ArrowArrayStream *stream = asked->orders[asked->order_count];
        if (number_format(stream) == NULL || each_array(stream, lay_out, asked) != 1 || asked->at != asked->groups.rows) return -1;
    }
    return 1;
}

static int answer(Asked *asked) {
    Groups *groups = &asked->groups;
    groups->of = calloc(groups->rows + 1, sizeof *groups->of);
    groups->first = calloc(1, sizeof *groups->first);
    if (groups->of == NULL || groups->first == NULL) return 0;
    groups->count = groups->room = groups->rows > 0;
    int done = lay_out_orders(asked);
    for (Py_ssize_t number = 0; done == 1 && number < asked->key_count; number++) done = part_by(groups, asked->keys[number]);
    for (Py_ssize_t number = 0; done == 1 && number < asked->told_count; number++) {
        Told *told = &asked->told[number];
        done = tell(groups, told, told->order < 0 ? NULL : asked->places[told->order]);
    }
    return done;
}

static PyObject *result_of(Asked *asked) {
    Groups *groups = &asked->groups;
    Bytes first = {.data = (char *)groups->first, .size = 4 * (size_t)groups->count, .room = 4 * (size_t)groups->room};
    size_t width = (size_t)asked->told_count;
    Column *columns = calloc(width + 1, sizeof *columns);
    if (columns == NULL) return PyErr_NoMemory();
    groups->first = NULL;
    columns[0] = (Column){"I", &first, NULL, 0};
    for (size_t number = 0; number < width; number++) {
        Told *told = &asked->told[number];
        columns[number + 1] = (Column){told->format, &told->made, told->validity, told->nulls};
        told->validity = NULL;
    }
    PyObject *made = table(columns, width + 1, groups->count);
    free(columns);
    return made;
}

static void free_asked(Asked *asked) {
    for (Py_ssize_t number = 0; asked->told != NULL && number < asked->told_count; number++)
        free(asked->told[number].made.data), free(asked->told[number].validity);
    for (int64_t **places = asked->places; places != NULL && *places != NULL; places++) free(*places);
    free(asked->keys), free(asked->orders), free(asked->places), free(asked->told);
    free(asked->groups.of), free(asked->groups.first);
}

PyObject *group(PyObject *module, PyObject *args) {
    Asked asked = {0};
    PyObject *result = NULL;
    (void)module;
    if (read_asked(&asked, args)) {
        int done;
        Py_BEGIN_ALLOW_THREADS
        done = answer(&asked);
        Py_END_ALLOW_THREADS
        if (done == 0) PyErr_NoMemory();
        else if (done < 0) PyErr_SetString(PyExc_ValueError, "columns that do not fit together");
        else result = result_of(&asked);
    }
    free_asked(&asked);
    return result;
}
