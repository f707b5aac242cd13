/* Columns in and out: what polars takes over, and what it lends. */
#include "arrow.h"

int enlarge(Bytes *bytes, size_t more) {
    size_t room = bytes->room ? bytes->room : 4096;
    while (room < bytes->size + more) room += room / 2 + 4096;
    char *data = realloc(bytes->data, room);
    if (data == NULL) return 0;
    bytes->data = data;
    bytes->room = room;
    return 1;
}

static void drop_schema(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema == NULL) return;
    if (schema->release != NULL) schema->release(schema);
    free(schema);
}

static void drop_array(PyObject *capsule) {
    struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array == NULL) return;
    if (array->release != NULL) array->release(array);
    free(array);
}

PyObject *capsules(struct ArrowSchema *schema, struct ArrowArray *array) {
    PyObject *first = PyCapsule_New(schema, "arrow_schema", drop_schema);
    if (first == NULL) {
        schema->release(schema), array->release(array);
        free(schema), free(array);
        return NULL;
    }
    PyObject *second = PyCapsule_New(array, "arrow_array", drop_array);
    if (second == NULL) {
        array->release(array);
        free(array);
        Py_DECREF(first);
        return NULL;
    }
    return Py_BuildValue("(NN)", first, second);
}

/* Return which of some formats, the last of them NULL, a stream has. */
static const char *format_among(struct ArrowArrayStream *stream, const char *const *formats) {
    struct ArrowSchema schema = {0};
    if (stream->get_schema(stream, &schema) != 0) return NULL;
    while (*formats != NULL && strcmp(schema.format, *formats) != 0) formats++;
    if (schema.release != NULL) schema.release(&schema);
    return *formats;
}

const char *number_format(struct ArrowArrayStream *stream) {
    static const char *const formats[] = {"l", "g", "tsu:", NULL};
    return format_among(stream, formats);
}

int each_array(struct ArrowArrayStream *stream, Take *take, void *state) {
    for (;;) {
        struct ArrowArray array = {0};
        if (stream->get_next(stream, &array) != 0) return -1;
        if (array.release == NULL) return 1;
        int done = array.n_buffers >= 2 ? take(&array, state) : -1;
        array.release(&array);
        if (done != 1) return done;
    }
}

int each_text(struct ArrowArrayStream *stream, Take *take, void *state) {
    static const char *const formats[] = {"vu", NULL};
    return format_among(stream, formats) == NULL ? -1 : each_array(stream, take, state);
}
