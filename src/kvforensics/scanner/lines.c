/* lines() parts bytes at their line ends, where they lie. */
#include "functions.h"
#include "pieces.h"

enum { SHORT = 12 }; /* bytes that stand in the view itself */

int add_view(Bytes *views, const char *text, size_t size, Spot spot) {
    if (!grow(views, 16)) return 0;
    int32_t view[4] = {(int32_t)size, 0, 0, 0};
    memcpy(&view[1], text, size > SHORT ? 4 : size);
    if (size > SHORT) view[2] = spot.buffer, view[3] = (int32_t)spot.start;
    memcpy(views->data + views->size, view, sizeof view);
    views->size += sizeof view;
    return 1;
}

static int take(void *state, const char *text, size_t size, Spot spot) { return add_view(state, text, size, spot); }

PyObject *lines(PyObject *module, PyObject *pieces) {
    Bytes views = {0}, joined = {0};
    (void)module;
    let_go();
    Texts *texts = new_texts(pieces);
    if (texts == NULL) return NULL;
    int done;
    Py_BEGIN_ALLOW_THREADS
    done = each_line(texts, &joined, take, &views);
    Py_END_ALLOW_THREADS
    if (done > 0) return text_column(&views, (int64_t)(views.size / 16), texts, &joined);
    free(views.data), free(joined.data), free_texts(texts);
    return done < 0 ? Py_NewRef(Py_None) : PyErr_NoMemory();
}
