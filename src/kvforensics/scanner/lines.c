/* lines() parts bytes at their line ends, where they lie; only a line that is cut is put together. */
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

typedef struct {
    Bytes views;
    Bytes joined; /* lines that were cut */
    size_t begun; /* where the last of them begins, while it is not at its end */
    int32_t pieces;
} Lines;

/* Take the line at `text`, which lies in a buffer at `start`. 1: done; 0: no memory; -1: not UTF-8 */
static int take(Lines *lines, const char *text, size_t size, int32_t buffer, size_t start) {
    if (size > 0 && text[size - 1] == '\r') size--;
    if (!is_ascii(text, size) && !is_utf8(text, size)) return -1;
    if (!grow(&lines->views, 16)) return 0;
    int32_t view[4] = {(int32_t)size, 0, 0, 0};
    memcpy(&view[1], text, size > SHORT ? 4 : size);
    if (size > SHORT) view[2] = buffer, view[3] = (int32_t)start;
    memcpy(lines->views.data + lines->views.size, view, sizeof view);
    lines->views.size += sizeof view;
    return 1;
}

static int join(Lines *lines, const char *data, size_t size) {
    if (lines->joined.size + size > INT32_MAX) return -1;
    if (!grow(&lines->joined, size)) return 0;
    memcpy(lines->joined.data + lines->joined.size, data, size);
    lines->joined.size += size;
    return 1;
}

/* Take the line that was put together. */
static int take_joined(Lines *lines) {
    size_t begun = lines->begun;
    lines->begun = lines->joined.size;
    return take(lines, lines->joined.data + begun, lines->joined.size - begun, lines->pieces, begun);
}

static int part(Lines *lines, const char *data, size_t size, int32_t number) {
    size_t start = 0;
    int done = 1;
    while (done == 1 && start < size) {
        const char *found = memchr(data + start, '\n', size - start);
        size_t width = found == NULL ? size - start : (size_t)(found - data) - start;
        int whole = found != NULL && lines->begun == lines->joined.size;
        if (whole) done = take(lines, data + start, width, number, start);
        else done = join(lines, data + start, width);
        if (done == 1 && !whole && found != NULL) done = take_joined(lines);
        start += width + 1;
    }
    return done;
}

static int part_all(Lines *lines, char *const *data, const int64_t *sizes) {
    int done = 1;
    for (int32_t number = 0; done == 1 && number < lines->pieces; number++) done = part(lines, data[number], (size_t)sizes[number], number);
    if (done == 1 && lines->begun < lines->joined.size) done = take_joined(lines);
    return done;
}

PyObject *lines(PyObject *module, PyObject *pieces) {
    Lines found = {0};
    (void)module;
    let_go();
    Py_ssize_t count = PyTuple_Size(pieces);
    if (count < 0 || count >= INT32_MAX) return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    found.pieces = (int32_t)count;
    Texts *texts = new_texts(pieces);
    if (texts == NULL) return NULL;
    int done = -1;
    if (texts->longest <= INT32_MAX) {
        Py_BEGIN_ALLOW_THREADS
        done = part_all(&found, (char *const *)texts->buffers, texts->sizes);
        Py_END_ALLOW_THREADS
    }
    int64_t height = (int64_t)(found.views.size / 16);
    if (done > 0) return text_column(&found.views, height, texts, &found.joined);
    free(found.views.data), free(found.joined.data), free_texts(texts);
    return done < 0 ? Py_NewRef(Py_None) : PyErr_NoMemory();
}
