/* The program of a scan: how lines may begin, which layouts their bodies may have. */
#include "program.h"

/* Texts are short: a prefix behind its time. */
static uint64_t hash_of(const char *text, size_t size) {
    uint64_t hash = size, piece;
    uint32_t four, last;
    for (; size >= 8; text += 8, size -= 8) {
        memcpy(&piece, text, 8);
        hash = (hash ^ piece) * 0x9e3779b97f4a7c15u;
    }
    if (size >= 4) {
        memcpy(&four, text, 4), memcpy(&last, text + size - 4, 4);
        hash = (hash ^ four ^ (uint64_t)last << 32) * 0x9e3779b97f4a7c15u;
    } else {
        for (; size > 0; size--) hash = (hash ^ (uint8_t)*text++) * 0x9e3779b97f4a7c15u;
    }
    return hash ^ (hash >> 32);
}

static int text_of(PyObject *object, Text *text) {
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return 0;
    text->text = data;
    text->size = (size_t)size;
    return 1;
}

static int read_form(Form *form, PyObject *given, uint32_t first) {
    PyObject *lead, *mask, *close, *tails, *understood;
    int stamped;
    Text known;
    if (!PyArg_ParseTuple(given, "SSSpO!S", &lead, &mask, &close, &stamped, &PyTuple_Type, &tails, &understood)) return 0;
    if (!text_of(lead, &form->lead) || !text_of(mask, &form->mask) || !text_of(close, &form->close)) return 0;
    if (!text_of(understood, &known)) return 0;
    size_t count = (size_t)PyTuple_Size(tails);
    if (known.size != count || form->close.size == 0) {
        PyErr_SetString(PyExc_ValueError, "a form that does not fit together");
        return 0;
    }
    form->stamped = stamped, form->understood = known.text, form->first = first, form->count = count;
    for (form->room = 16; form->room < 2 * count; form->room *= 2) {}
    form->tails = calloc(count + 1, sizeof *form->tails);
    form->slots = calloc(form->room, sizeof *form->slots);
    if (form->tails == NULL || form->slots == NULL) return PyErr_NoMemory(), 0;
    for (size_t place = 0; place < count; place++) {
        Text *tail = &form->tails[place];
        if (!text_of(PyTuple_GetItem(tails, (Py_ssize_t)place), tail)) return 0;
        size_t slot = hash_of(tail->text, tail->size) & (form->room - 1);
        while (form->slots[slot]) slot = (slot + 1) & (form->room - 1);
        form->slots[slot] = (uint32_t)place + 1;
    }
    return 1;
}

static int read_layout(Layout *layout, PyObject *given) {
    PyObject *kinds, *texts, *columns;
    Text kind, named;
    if (!PyArg_ParseTuple(given, "SO!S", &kinds, &PyTuple_Type, &texts, &columns)) return 0;
    if (!text_of(kinds, &kind) || !text_of(columns, &named)) return 0;
    size_t size = (size_t)PyTuple_Size(texts);
    if (size == 0 || size > MAX_ITEMS || kind.size != size || named.size != size) {
        PyErr_SetString(PyExc_ValueError, "a layout that does not fit together");
        return 0;
    }
    layout->size = (int)size;
    for (size_t at = 0; at < size; at++) {
        Item *item = &layout->items[at];
        item->kind = kind.text[at];
        item->column = MAX_ITEMS;
        if (!text_of(PyTuple_GetItem(texts, (Py_ssize_t)at), &item->text)) return 0;
        int valid = item->kind == 'c'   ? item->text.size > 0
                    : item->kind == 's' ? item->text.size == 256 && !named.text[at]
                                        : item->kind == 'i' || item->kind == 'f' || item->kind == 'b';
        if (!valid) {
            PyErr_SetString(PyExc_ValueError, "an item that cannot be");
            return 0;
        }
        if (item->kind == 's' ? item->text.text[ESCAPE] : item->kind == 'c' && memchr(item->text.text, ESCAPE, item->text.size) != NULL)
            layout->may_escape = 1;
        if (named.text[at]) {
            layout->formats[layout->width] = item->kind;
            item->column = layout->width++;
        }
    }
    if (layout->items[0].kind != 'c') {
        PyErr_SetString(PyExc_ValueError, "a layout without a lead");
        return 0;
    }
    return 1;
}

int read_program(Scan *scan, PyObject *forms, PyObject *layouts) {
    Py_ssize_t form_count = PyTuple_Size(forms), layout_count = PyTuple_Size(layouts);
    if (form_count > MAX_FORMS || layout_count > MAX_LAYOUTS) {
        PyErr_SetString(PyExc_ValueError, "a program that is too large");
        return 0;
    }
    uint32_t first = 1;
    for (; scan->form_count < form_count; scan->form_count++) {
        Form *form = &scan->forms[scan->form_count];
        if (!read_form(form, PyTuple_GetItem(forms, scan->form_count), first)) {
            scan->form_count++;
            return 0;
        }
        first += (uint32_t)PyTuple_Size(PyTuple_GetItem(PyTuple_GetItem(forms, scan->form_count), 4));
    }
    scan->layouts = calloc((size_t)layout_count + 1, sizeof *scan->layouts);
    if (scan->layouts == NULL) return PyErr_NoMemory(), 0;
    for (; scan->layout_count < layout_count; scan->layout_count++) {
        Layout *layout = &scan->layouts[scan->layout_count];
        if (!read_layout(layout, PyTuple_GetItem(layouts, scan->layout_count))) return 0;
        uint8_t begin = (uint8_t)layout->items[0].text.text[0];
        scan->beginning[begin][scan->beginnings[begin]++] = (uint8_t)scan->layout_count;
    }
    return 1;
}

uint32_t tail_of(const Form *form, const char *text, size_t size) {
    for (size_t slot = hash_of(text, size) & (form->room - 1); form->slots[slot]; slot = (slot + 1) & (form->room - 1)) {
        uint32_t place = form->slots[slot] - 1;
        if (form->tails[place].size == size && memcmp(form->tails[place].text, text, size) == 0)
            return form->understood[place] ? form->first + place : 0;
    }
    return 0;
}

void free_scan(Scan *scan) {
    for (int number = 0; number < scan->form_count; number++) free(scan->forms[number].tails), free(scan->forms[number].slots);
    for (int number = 0; scan->layouts != NULL && number < scan->layout_count; number++) {
        Layout *layout = &scan->layouts[number];
        free(layout->rows.data), free(layout->tails.data);
        for (int place = 0; place < layout->width; place++) free(layout->columns[place].data);
    }
    free(scan->layouts);
    free(scan->left.data), free(scan->run.data), free(scan->headed.data), free(scan->local.data);
    free(scan);
}
