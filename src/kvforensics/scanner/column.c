/* A column of texts that lie in bytes objects. */
#include "arrow.h"

#include <stdatomic.h>

typedef struct Owned {
    const void **buffers;
    char *views;
    Texts *texts;
    struct Owned *next;
} Owned;

/* Columns that are gone but for the objects in which their texts lie: whoever lets a column go may not hold Python's lock. */
static _Atomic(Owned *) gone;

static void release_array(struct ArrowArray *array) {
    Owned *owned = array->private_data;
    free(owned->views), free(owned->buffers);
    array->release = NULL;
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
    Owned *owned = calloc(1, sizeof *owned);
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    struct ArrowArray *array = calloc(1, sizeof *array);
    const void **buffers = calloc(count + 4, sizeof *buffers);
    if (owned == NULL || schema == NULL || array == NULL || buffers == NULL || !grow(views, 1)) {
        free(owned), free(schema), free(array), free(buffers), free(views->data), free_texts(texts);
        return PyErr_NoMemory();
    }
    *owned = (Owned){buffers, views->data, texts, NULL};
    buffers[1] = views->data;
    for (size_t number = 0; number <= count; number++) buffers[2 + number] = texts->buffers[number];
    buffers[count + 3] = texts->sizes;
    *schema = (struct ArrowSchema){.format = "vu", .name = "", .release = release_schema};
    *array = (struct ArrowArray){.length = length, .n_buffers = (int64_t)count + 4, .buffers = buffers, .private_data = owned};
    array->release = release_array;
    return capsules(schema, array);
}
