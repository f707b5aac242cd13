/* Columns in and out through Arrow's C data interface, as its specification lays it out. */
#ifndef KVFORENSICS_ARROW_H
#define KVFORENSICS_ARROW_H
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* A column that grows. */
typedef struct {
    char *data;
    size_t size, room;
} Bytes;

int enlarge(Bytes *bytes, size_t more);

/* Make room for some more bytes; 0: no memory. */
static inline int grow(Bytes *bytes, size_t more) { return bytes->size + more <= bytes->room || enlarge(bytes, more); }

#define PUSH(bytes, type, value) (*(type *)((bytes)->data + (bytes)->size) = (value), (bytes)->size += sizeof(type))

/* A column of a table, and which of its values are null: NULL for none. */
typedef struct {
    const char *format;
    Bytes *bytes;
    char *validity;
    int64_t nulls;
} Column;

/* Return (schema capsule, array capsule); takes both. */
PyObject *capsules(struct ArrowSchema *schema, struct ArrowArray *array);

/* Return the capsules of a table of columns of some length, named 0, 1 …; takes what they hold. */
PyObject *table(Column *columns, size_t count, int64_t length);

/* The buffers in which texts lie: bytes objects, and behind them one of our own. */
typedef struct {
    PyObject *held; /* a tuple of bytes */
    int64_t count, longest;
    const char **buffers;
    int64_t *sizes;
    char *own;
} Texts;

/* NULL with an exception where it is no tuple of bytes */
Texts *new_texts(PyObject *held);

void free_texts(Texts *texts);

/* Return the capsules of a column of texts, views of 16 bytes, that lie in `texts` and in `own`; takes all of them. */
PyObject *text_column(Bytes *views, int64_t length, Texts *texts, Bytes *own);

/* Let go of what `text_column` kept for columns that are gone by now. */
void let_go(void);

/* Takes an array; 1: go on. */
typedef int Take(const struct ArrowArray *array, void *state);

/* The format of whole numbers, floats and times of 8 bytes; NULL where a stream is of others. */
const char *number_format(struct ArrowArrayStream *stream);

/* Take the arrays of a stream in turn; 1: all of them, else what stopped. */
int each_array(struct ArrowArrayStream *stream, Take *take, void *state);

/* The same of a stream of string views; -1 also where it is of others. */
int each_text(struct ArrowArrayStream *stream, Take *take, void *state);

static inline int is_null(const struct ArrowArray *array, int64_t place) {
    const uint8_t *validity = array->buffers[0];
    return validity != NULL && !((validity[place >> 3] >> (place & 7)) & 1);
}

/* The bytes of a string view. */
static inline const char *text_at(const struct ArrowArray *array, int64_t place, size_t *size) {
    const char *view = (const char *)array->buffers[1] + 16 * place;
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    *size = (size_t)length;
    if (length <= 12) return view + 4;
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    return (const char *)array->buffers[2 + buffer] + offset;
}

#endif
