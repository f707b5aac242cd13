/* lines() parts bytes at their line ends, where they lie. */
#include "functions.h"

enum { SHORT = 12 }; /* bytes that stand in the view itself */

/* The bytes of one character that is not ASCII; 0 where there is none (Unicode 16, table 3-7). */
static size_t character(const uint8_t *text, size_t size) {
    uint8_t first = text[0], least = 0x80, most = 0xbf;
    size_t width = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
    if (width == 0 || size < width) return 0;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
    if (text[1] < least || text[1] > most) return 0;
    for (size_t at = 2; at < width; at++)
        if ((text[at] & 0xc0) != 0x80) return 0;
    return width;
}

static int is_ascii(const char *text, size_t size) {
    uint64_t high = 0, eight;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        memcpy(&eight, text + at, 8);
        high |= eight;
    }
    for (; at < size; at++) high |= (uint8_t)text[at];
    return (high & UINT64_C(0x8080808080808080)) == 0;
}

static int is_utf8(const char *text, size_t size) {
    const uint8_t *bytes = (const uint8_t *)text;
    for (size_t at = 0; at < size;) {
        size_t width = bytes[at] < 0x80 ? 1 : character(bytes + at, size - at);
        if (width == 0) return 0;
        at += width;
    }
    return 1;
}

static int push_view(Bytes *views, const char *data, size_t start, size_t size) {
    if (!grow(views, 16)) return 0;
    int32_t view[4] = {(int32_t)size, 0, 0, 0};
    memcpy(&view[1], data + start, size > SHORT ? 4 : size);
    if (size > SHORT) view[3] = (int32_t)start;
    memcpy(views->data + views->size, view, sizeof view);
    views->size += sizeof view;
    return 1;
}

/* 1: done; 0: no memory; -1: not UTF-8 */
static int part(Bytes *views, const char *data, size_t size) {
    for (size_t start = 1; start < size;) {
        const char *found = memchr(data + start, '\n', size - start);
        size_t end = found == NULL ? size : (size_t)(found - data);
        size_t width = end - start;
        if (width > 0 && data[end - 1] == '\r') width--;
        if (!is_ascii(data + start, width) && !is_utf8(data + start, width)) return -1;
        if (!push_view(views, data, start, width)) return 0;
        start = end + 1;
    }
    return 1;
}

PyObject *lines(PyObject *module, PyObject *object) {
    char *data;
    Py_ssize_t size;
    (void)module;
    let_go();
    if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return NULL;
    if (size > INT32_MAX) return Py_NewRef(Py_None);
    Bytes views = {0};
    int done;
    Py_BEGIN_ALLOW_THREADS
    done = part(&views, data, (size_t)size);
    Py_END_ALLOW_THREADS
    PyObject *result = done > 0 ? text_column(&views, (int64_t)(views.size / 16), object) : NULL;
    if (done < 0) result = Py_NewRef(Py_None);
    else if (done == 0) PyErr_NoMemory();
    free(views.data);
    return result;
}
