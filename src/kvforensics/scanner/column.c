/* Handing columns to Arrow: it owns their bytes from then on. */
#include "arrow.h"

#include <stdatomic.h>

typedef struct Owned {
    const void **buffers;
    char *data, *validity;
    Texts *texts; /* in which texts lie */
    struct Owned *next;
} Owned;

/* Columns that are gone but for the objects in which their texts lie: whoever lets a column go may not hold Python's lock. */
static _Atomic(Owned *) gone;

int enlarge(Bytes *bytes, size_t more) {
    size_t room = bytes->room ? bytes->room : 4096;
    while (room < bytes->size + more) room += room / 2 + 4096;
    char *data = realloc(bytes->data, room);
    if (data == NULL) return 0;
    bytes->data = data;
    bytes->room = room;
    return 1;
}

static void release_array(struct ArrowArray *array) {
    Owned *owned = array->private_data;
    free(owned->data), free(owned->validity), free(owned->buffers);
    array->release = NULL;
    if (owned->texts == NULL) {
        free(owned);
        return;
    }
    owned->next = atomic_load(&gone);
    while (!atomic_compare_exchange_weak(&gone, &owned->next, owned)) {}
}

void let_go(void) {
    Owned *owned = atomic_exchange(&gone, NULL);
    while (owned != NULL) {
        Owned *next = owned->next;
        free_texts(owned->texts);
        free(owned);
        owned = next;
    }
}

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }

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

/* Return the capsules of a column; takes `owned`. */
static PyObject *handed(const char *format, Owned *owned, struct ArrowArray shape) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    struct ArrowArray *array = calloc(1, sizeof *array);
    shape.buffers = owned->buffers, shape.private_data = owned, shape.release = release_array;
    if (schema == NULL || array == NULL) {
        free(schema), free(array);
        release_array(&shape);
        return PyErr_NoMemory();
    }
    *schema = (struct ArrowSchema){.format = format, .name = "", .flags = 2, .release = release_schema};
    *array = shape;
    PyObject *first = PyCapsule_New(schema, "arrow_schema", drop_schema);
    if (first == NULL) {
        release_array(array);
        free(array), free(schema);
        return NULL;
    }
    PyObject *second = PyCapsule_New(array, "arrow_array", drop_array);
    if (second == NULL) {
        release_array(array);
        free(array);
        Py_DECREF(first);
        return NULL;
    }
    return Py_BuildValue("(NN)", first, second);
}

/* Take the bytes of a column, which may be none, but not nowhere; it has some buffers. */
static Owned *owned_of(Bytes *bytes, size_t buffers) {
    Owned *owned = calloc(1, sizeof *owned);
    const void **places = calloc(buffers, sizeof *places);
    if (owned == NULL || places == NULL || !grow(bytes, 1)) {
        free(owned), free(places);
        return NULL;
    }
    owned->buffers = places;
    places[1] = owned->data = bytes->data;
    memset(bytes, 0, sizeof *bytes);
    return owned;
}

PyObject *column(const char *format, Bytes *bytes, int64_t length, char *validity, int64_t nulls) {
    Owned *owned = owned_of(bytes, 2);
    if (owned == NULL) {
        free(validity);
        return PyErr_NoMemory();
    }
    owned->buffers[0] = owned->validity = validity;
    return handed(format, owned, (struct ArrowArray){.length = length, .null_count = nulls, .n_buffers = 2});
}

Texts *new_texts(PyObject *held) {
    Texts *texts = calloc(1, sizeof *texts);
    if (texts == NULL) return PyErr_NoMemory(), NULL;
    size_t count = (size_t)PyTuple_Size(held);
    texts->held = Py_NewRef(held), texts->count = (int64_t)count;
    texts->buffers = calloc(count + 1, sizeof *texts->buffers), texts->sizes = calloc(count + 1, sizeof *texts->sizes);
    if (texts->buffers == NULL || texts->sizes == NULL) return free_texts(texts), PyErr_NoMemory(), NULL;
    for (size_t number = 0; number < count; number++) {
        char *data;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(held, (Py_ssize_t)number), &data, &size) < 0) return free_texts(texts), NULL;
        texts->buffers[number] = data, texts->sizes[number] = size;
        if (size > texts->longest) texts->longest = size;
    }
    return texts;
}

void free_texts(Texts *texts) {
    Py_DECREF(texts->held);
    free(texts->buffers), free(texts->sizes), free(texts->own), free(texts);
}

PyObject *text_column(Bytes *views, int64_t length, Texts *texts, Bytes *own) {
    size_t count = (size_t)texts->count;
    if (!grow(own, 1)) return free(views->data), free(own->data), free_texts(texts), PyErr_NoMemory();
    texts->own = own->data;
    texts->buffers[count] = own->data, texts->sizes[count] = (int64_t)own->size;
    Owned *owned = owned_of(views, count + 4);
    if (owned == NULL) return free(views->data), free_texts(texts), PyErr_NoMemory();
    owned->texts = texts;
    for (size_t number = 0; number <= count; number++) owned->buffers[2 + number] = texts->buffers[number];
    owned->buffers[count + 3] = texts->sizes;
    return handed("vu", owned, (struct ArrowArray){.length = length, .n_buffers = (int64_t)count + 4});
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
