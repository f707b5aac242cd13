/* A table of numbers: one struct of columns, so that polars takes them all over at once. */
#include "arrow.h"

#include <stdio.h>

typedef struct {
    const void *buffers[2];
    char *data, *validity;
} Part;

typedef struct {
    const void *buffers[1]; /* no validity */
    struct ArrowArray **children, *parts;
} Whole;

typedef struct {
    struct ArrowSchema **children, *parts;
    char (*names)[8];
} Names;

static void release_part(struct ArrowArray *array) {
    Part *part = array->private_data;
    free(part->data), free(part->validity), free(part);
    array->release = NULL;
}

static void release_whole(struct ArrowArray *array) {
    Whole *whole = array->private_data;
    for (int64_t number = 0; number < array->n_children; number++)
        if (whole->parts[number].release != NULL) release_part(&whole->parts[number]);
    free(whole->children), free(whole->parts), free(whole);
    array->release = NULL;
}

static void release_name(struct ArrowSchema *schema) { schema->release = NULL; }

static void release_names(struct ArrowSchema *schema) {
    Names *names = schema->private_data;
    free(names->children), free(names->parts), free(names->names), free(names);
    schema->release = NULL;
}

/* 0: no memory */
static int fill_part(struct ArrowArray *array, const Column *column, int64_t length) {
    Part *part = calloc(1, sizeof *part);
    if (part == NULL || !grow(column->bytes, 1)) { /* there may be no bytes, but not nowhere */
        free(part);
        return 0;
    }
    part->buffers[0] = part->validity = column->validity;
    part->buffers[1] = part->data = column->bytes->data;
    memset(column->bytes, 0, sizeof *column->bytes);
    *array = (struct ArrowArray){.length = length, .null_count = column->nulls, .n_buffers = 2, .buffers = part->buffers};
    array->private_data = part, array->release = release_part;
    return 1;
}

static struct ArrowArray *array_of(Column *columns, size_t count, int64_t length) {
    struct ArrowArray *array = calloc(1, sizeof *array);
    Whole *whole = calloc(1, sizeof *whole);
    if (array == NULL || whole == NULL) return free(array), free(whole), NULL;
    *array = (struct ArrowArray){.length = length, .n_buffers = 1, .buffers = whole->buffers, .private_data = whole, .release = release_whole};
    array->children = whole->children = calloc(count + 1, sizeof *whole->children);
    whole->parts = calloc(count + 1, sizeof *whole->parts);
    while (whole->children != NULL && whole->parts != NULL && array->n_children < (int64_t)count) {
        size_t number = (size_t)array->n_children;
        whole->children[number] = &whole->parts[number];
        if (!fill_part(&whole->parts[number], &columns[number], length)) break;
        columns[number].validity = NULL;
        array->n_children++;
    }
    if (array->n_children == (int64_t)count && whole->children != NULL && whole->parts != NULL) return array;
    release_whole(array);
    return free(array), NULL;
}

static struct ArrowSchema *schema_of(const Column *columns, size_t count) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    Names *names = calloc(1, sizeof *names);
    if (schema == NULL || names == NULL) return free(schema), free(names), NULL;
    *schema = (struct ArrowSchema){.format = "+s", .name = "", .n_children = (int64_t)count, .private_data = names, .release = release_names};
    schema->children = names->children = calloc(count + 1, sizeof *names->children);
    names->parts = calloc(count + 1, sizeof *names->parts), names->names = calloc(count + 1, sizeof *names->names);
    if (names->children == NULL || names->parts == NULL || names->names == NULL) return release_names(schema), free(schema), NULL;
    for (size_t number = 0; number < count; number++) {
        snprintf(names->names[number], sizeof names->names[number], "%u", (unsigned)number & 0xffff);
        names->parts[number] = (struct ArrowSchema){.format = columns[number].format, .name = names->names[number], .flags = 2, .release = release_name};
        names->children[number] = &names->parts[number];
    }
    return schema;
}

PyObject *table(Column *columns, size_t count, int64_t length) {
    struct ArrowSchema *schema = schema_of(columns, count);
    struct ArrowArray *array = schema == NULL ? NULL : array_of(columns, count, length);
    if (array != NULL) return capsules(schema, array);
    for (size_t number = 0; number < count; number++) {
        free(columns[number].bytes->data), free(columns[number].validity);
        memset(columns[number].bytes, 0, sizeof *columns[number].bytes);
    }
    if (schema != NULL) schema->release(schema), free(schema);
    return PyErr_NoMemory();
}
