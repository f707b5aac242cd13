/* How texts begin, and whether they are printable. */
#include "functions.h"

/* The first bytes of a text lie in its view, whatever its length. */
static int note_beginnings(const struct ArrowArray *array, void *state) {
    uint8_t *seen = state;
    for (int64_t place = array->offset; place < array->offset + array->length; place++) {
        if (is_null(array, place)) continue;
        const uint8_t *view = (const uint8_t *)array->buffers[1] + 16 * place;
        int32_t size;
        memcpy(&size, view, 4);
        unsigned pair = (unsigned)(size > 0 ? view[4] : 0) << 8 | (size > 1 ? view[5] : 0);
        seen[pair >> 3] |= (uint8_t)(1 << (pair & 7));
    }
    return 1;
}

PyObject *beginnings(PyObject *module, PyObject *capsule) {
    (void)module;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    uint8_t seen[8192] = {0};
    int views;
    Py_BEGIN_ALLOW_THREADS
    views = each_text(stream, note_beginnings, seen) == 1;
    Py_END_ALLOW_THREADS
    if (!views) return Py_NewRef(Py_None);
    char *pairs = malloc(2 * 65536);
    if (pairs == NULL) return PyErr_NoMemory();
    Py_ssize_t size = 0;
    for (unsigned pair = 0; pair < 65536; pair++) {
        if (!((seen[pair >> 3] >> (pair & 7)) & 1)) continue;
        pairs[size++] = (char)(pair >> 8);
        pairs[size++] = (char)(pair & 0xff);
    }
    PyObject *result = PyBytes_FromStringAndSize(pairs, size);
    free(pairs);
    return result;
}

static int all_printable(const char *text, size_t size) {
    unsigned odd = 0; /* without a branch, so that the compiler may take many bytes at once */
    for (size_t at = 0; at < size; at++) odd |= (uint8_t)(text[at] - 0x20) > 0x5e;
    return !odd;
}

static int printable_array(const struct ArrowArray *array, void *state) {
    (void)state;
    for (int64_t place = array->offset; place < array->offset + array->length; place++) {
        if (is_null(array, place)) continue;
        size_t size;
        const char *text = text_at(array, place, &size);
        if (!all_printable(text, size)) return 0;
    }
    return 1;
}

PyObject *are_printable(PyObject *module, PyObject *capsule) {
    (void)module;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    int printable;
    Py_BEGIN_ALLOW_THREADS
    printable = each_text(stream, printable_array, NULL) == 1;
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(printable);
}
