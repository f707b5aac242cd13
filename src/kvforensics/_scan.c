/* scan() reads the lines of a block by layouts, once over the bytes: where a prefix ends, which layout a body has, what
   its slots say. It takes a line only where the expressions of the columnar way would say the same; every other
   line is left to them. Texts come in and columns go out through Arrow's C interfaces, so nothing is copied.

   beginnings() tells with which two bytes texts begin, are_printable() whether they hold printable ASCII alone.

   A program is made by parsing/native.py:
     forms:   (lead, mask, close, stamped, tails, understood)
              mask: one byte a character of the time, '0' for a digit, else the character itself
              tails: the known texts between the time and `close`; understood: one byte each, 1 or 0
     layouts: (kinds, texts, columns), one byte or entry an item
              kinds: 'c' constant, 'i' digits, 'f' decimal number, 'b' True or False, 's' run of characters
              texts: the constant, or for 's' a table of 256 bytes: which bytes may stand in the run
              columns: one byte an item, 1 where the slot is a column
*/
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Arrow's C data interface, as its specification lays it out. */
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

enum { PROGRAM = 3 }; /* what compiled.py and native.py ask of this module */
enum { MAX_ITEMS = 256, MAX_LAYOUTS = 64, MAX_FORMS = 8, EXACT_DIGITS = 15, INT_DIGITS = 18 };

/* --- columns that grow --- */

typedef struct {
    char *data;
    size_t size, room;
} Bytes;

static int grow(Bytes *bytes, size_t more) {
    if (bytes->size + more <= bytes->room) return 1;
    size_t room = bytes->room ? bytes->room : 4096;
    while (room < bytes->size + more) room += room / 2 + 4096;
    char *data = realloc(bytes->data, room);
    if (data == NULL) return 0;
    bytes->data = data;
    bytes->room = room;
    return 1;
}

#define PUSH(bytes, type, value) (*(type *)((bytes)->data + (bytes)->size) = (value), (bytes)->size += sizeof(type))

/* --- handing a column to Arrow: it owns the bytes from then on --- */

typedef struct {
    const void *buffers[2];
    char *validity;
} Owned;

static void release_array(struct ArrowArray *array) {
    Owned *owned = array->private_data;
    free((void *)owned->buffers[1]);
    free(owned->validity);
    free(owned);
    array->release = NULL;
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

/* Return (schema capsule, array capsule) of a column without nulls, or with those of `validity`; takes both. */
static PyObject *column(const char *format, Bytes *bytes, int64_t length, char *validity, int64_t nulls) {
    struct ArrowSchema *schema = calloc(1, sizeof *schema);
    struct ArrowArray *array = calloc(1, sizeof *array);
    Owned *owned = calloc(1, sizeof *owned);
    if (schema == NULL || array == NULL || owned == NULL || !grow(bytes, 1)) {
        free(schema), free(array), free(owned), free(validity);
        return PyErr_NoMemory();
    }
    owned->buffers[0] = owned->validity = validity;
    owned->buffers[1] = bytes->data;
    memset(bytes, 0, sizeof *bytes);
    *schema = (struct ArrowSchema){.format = format, .name = "", .flags = 2, .release = release_schema};
    *array = (struct ArrowArray){.length = length, .null_count = nulls, .n_buffers = 2, .buffers = owned->buffers,
                                 .release = release_array, .private_data = owned};
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

/* --- the program --- */

typedef struct {
    const char *text;
    size_t size;
} Text;

typedef struct {
    char kind;
    Text text;
    int column; /* its place in the layout's columns, -1 for none */
} Item;

typedef struct {
    Item items[MAX_ITEMS];
    int size, width; /* items, columns */
    char formats[MAX_ITEMS]; /* of the columns: i f b */
    Bytes rows, tails, columns[MAX_ITEMS];
    int64_t hits;
} Layout;

typedef struct {
    Text lead, mask, close;
    int stamped;
    Text *tails;
    const char *understood;
    uint32_t first; /* the number of its first tail; 0 stands for no prefix */
    uint32_t *slots; /* hash of the tails: place + 1 */
    size_t room;
} Form;

typedef struct {
    Form forms[MAX_FORMS];
    int form_count;
    Layout *layouts;
    int layout_count;
    uint8_t beginning[256][MAX_LAYOUTS]; /* layouts by the first byte of their lead */
    uint8_t beginnings[256];
    Bytes left, run, local;
    int64_t rows;
    Text last; /* the beginning of the last line that has a time */
    int odd;   /* a time that only the expressions may judge */
} Scan;

static uint64_t hash_of(const char *text, size_t size) {
    uint64_t hash = 1469598103934665603u;
    for (size_t at = 0; at < size; at++) hash = (hash ^ (uint8_t)text[at]) * 1099511628211u;
    return hash ^ (hash >> 29);
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
    form->stamped = stamped, form->understood = known.text, form->first = first;
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
        item->column = -1;
        if (!text_of(PyTuple_GetItem(texts, (Py_ssize_t)at), &item->text)) return 0;
        int valid = item->kind == 'c'   ? item->text.size > 0
                    : item->kind == 's' ? item->text.size == 256 && !named.text[at]
                                        : item->kind == 'i' || item->kind == 'f' || item->kind == 'b';
        if (!valid) {
            PyErr_SetString(PyExc_ValueError, "an item that cannot be");
            return 0;
        }
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

static int read_program(Scan *scan, PyObject *forms, PyObject *layouts) {
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

/* --- one line --- */

static int is_digit(char byte) { return (uint8_t)(byte - '0') < 10; }

static int fits_mask(const char *text, Text mask) {
    for (size_t at = 0; at < mask.size; at++)
        if (mask.text[at] == '0' ? !is_digit(text[at]) : text[at] != mask.text[at]) return 0;
    return 1;
}

static int number(const char *text, int digits) {
    int value = 0;
    for (int at = 0; at < digits; at++) value = value * 10 + (text[at] - '0');
    return value;
}

/* Microseconds since 1970 of `YYYY-MM-DD hh:mm:ss`; 0 where there is no such moment, or only a leap second. */
static int moment(const char *text, int64_t *micros) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = number(text, 4), month = number(text + 5, 2), day = number(text + 8, 2);
    int hour = number(text + 11, 2), minute = number(text + 14, 2), second = number(text + 17, 2);
    int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return 0;
    if (day > days[month - 1] + (month == 2 && leap)) return 0;
    int64_t before = year - (month <= 2);
    int64_t passed = 365 * before + before / 4 - before / 100 + before / 400;
    passed += (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1 - 719468;
    *micros = ((passed * 24 + hour) * 60 + minute) * INT64_C(60000000) + second * INT64_C(1000000);
    return 1;
}

static const char *find(const char *text, const char *end, Text wanted) {
    while ((size_t)(end - text) >= wanted.size) {
        const char *found = memchr(text, wanted.text[0], (size_t)(end - text) - wanted.size + 1);
        if (found == NULL) return NULL;
        if (memcmp(found, wanted.text, wanted.size) == 0) return found;
        text = found + 1;
    }
    return NULL;
}

/* The number of a known tail that is understood, else 0. */
static uint32_t tail_of(const Form *form, const char *text, size_t size) {
    for (size_t slot = hash_of(text, size) & (form->room - 1); form->slots[slot]; slot = (slot + 1) & (form->room - 1)) {
        uint32_t place = form->slots[slot] - 1;
        if (form->tails[place].size == size && memcmp(form->tails[place].text, text, size) == 0)
            return form->understood[place] ? form->first + place : 0;
    }
    return 0;
}

/* Note the time of a line: a run goes on while lines begin alike. */
static int note_time(Scan *scan, const char *text, size_t size, size_t lead) {
    if (scan->last.size == size && memcmp(scan->last.text, text, size) == 0) return 1;
    int64_t micros;
    if (size - lead != 19 || !moment(text + lead, &micros)) {
        scan->odd = 1;
        return 1;
    }
    if (!grow(&scan->local, sizeof micros)) return 0;
    PUSH(&scan->local, int64_t, micros);
    scan->last = (Text){text, size};
    return 1;
}

typedef union {
    int64_t whole;
    double decimal;
    uint8_t truth;
} Value;

static int read_decimal(const char **at, const char *end, double *value) {
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *text = *at;
    int negative = text < end && *text == '-';
    text += negative;
    int64_t digits = 0;
    const char *begin = text;
    while (text < end && is_digit(*text) && text - begin < EXACT_DIGITS) digits = digits * 10 + (*text++ - '0');
    if (text == begin || text == end || *text != '.') return 0;
    const char *point = text++;
    while (text < end && is_digit(*text) && text - begin <= EXACT_DIGITS) digits = digits * 10 + (*text++ - '0');
    if (text == point + 1 || (text < end && is_digit(*text))) return 0;
    /* both numbers are exact, so the quotient is the nearest there is */
    double found = (double)digits / powers[text - point - 1];
    *value = negative ? -found : found;
    *at = text;
    return 1;
}

static int read_item(const Item *item, const char **at, const char *end, Value *value) {
    const char *text = *at;
    size_t rest = (size_t)(end - text);
    switch (item->kind) {
    case 'c':
        if (rest < item->text.size || memcmp(text, item->text.text, item->text.size) != 0) return 0;
        *at = text + item->text.size;
        return 1;
    case 'i':
        value->whole = 0;
        while (text < end && is_digit(*text)) {
            if (text - *at == INT_DIGITS) return 0;
            value->whole = value->whole * 10 + (*text++ - '0');
        }
        break;
    case 'f':
        return read_decimal(at, end, &value->decimal);
    case 'b':
        value->truth = rest >= 4 && memcmp(text, "True", 4) == 0;
        if (!value->truth && (rest < 5 || memcmp(text, "False", 5) != 0)) return 0;
        *at = text + (value->truth ? 4 : 5);
        return 1;
    default:
        while (text < end && item->text.text[(uint8_t)*text]) text++;
    }
    if (text == *at) return 0;
    *at = text;
    return 1;
}

/* 1: the body has this layout and is taken; 0: it has not; -1: no memory */
static int read_body(Layout *layout, const char *body, const char *end, uint32_t row, uint32_t tail) {
    Value values[MAX_ITEMS];
    const char *at = body;
    for (int number = 0; number < layout->size; number++) {
        const Item *item = &layout->items[number];
        Value value;
        if (!read_item(item, &at, end, &value)) return 0;
        if (item->column >= 0) values[item->column] = value;
    }
    if (at != end) return 0;
    if (!grow(&layout->rows, 4) || !grow(&layout->tails, 4)) return -1;
    for (int place = 0; place < layout->width; place++)
        if (!grow(&layout->columns[place], 8)) return -1;
    PUSH(&layout->rows, uint32_t, row);
    PUSH(&layout->tails, uint32_t, tail);
    for (int place = 0; place < layout->width; place++) {
        Bytes *column = &layout->columns[place];
        if (layout->formats[place] == 'i') PUSH(column, int64_t, values[place].whole);
        else if (layout->formats[place] == 'f') PUSH(column, double, values[place].decimal);
        else PUSH(column, uint8_t, values[place].truth);
    }
    layout->hits++;
    return 1;
}

static int read_line(Scan *scan, const char *text, size_t size, uint32_t row, int *timed) {
    const char *body = text, *end = text + size;
    uint32_t tail = 0;
    for (int number = 0; number < scan->form_count; number++) {
        const Form *form = &scan->forms[number];
        size_t lead = form->lead.size, width = lead + form->mask.size;
        if (size < lead || memcmp(text, form->lead.text, lead) != 0) continue;
        if (size < width || !fits_mask(text + lead, form->mask)) {
            body = NULL; /* it begins like a prefix */
            continue;
        }
        if (form->stamped) {
            if (!note_time(scan, text, width, lead)) return -1;
            *timed = 1;
        }
        const char *close = find(text + width, end, form->close);
        tail = close == NULL ? 0 : tail_of(form, text + width, (size_t)(close - text) - width);
        body = tail ? close + form->close.size : NULL;
        break;
    }
    if (body == NULL || body == end) return 0;
    uint8_t begin = (uint8_t)*body;
    for (int place = 0; place < scan->beginnings[begin]; place++) {
        int taken = read_body(&scan->layouts[scan->beginning[begin][place]], body, end, row, tail);
        if (taken) return taken;
    }
    return 0;
}

/* --- a block of lines: an array of string views --- */

static const char *text_at(const struct ArrowArray *array, int64_t place, size_t *size) {
    const char *view = (const char *)array->buffers[1] + 16 * place;
    int32_t length, buffer, offset;
    memcpy(&length, view, 4);
    *size = (size_t)length;
    if (length <= 12) return view + 4;
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    return (const char *)array->buffers[2 + buffer] + offset;
}

static int scan_array(Scan *scan, const struct ArrowArray *array) {
    const uint8_t *validity = array->buffers[0];
    if (!grow(&scan->run, 4 * (size_t)array->length)) return 0;
    for (int64_t number = 0; number < array->length; number++) {
        int64_t place = array->offset + number;
        uint32_t row = (uint32_t)scan->rows++;
        int timed = 0, taken = 0;
        if (validity == NULL || (validity[place >> 3] >> (place & 7)) & 1) {
            size_t size;
            const char *text = text_at(array, place, &size);
            taken = read_line(scan, text, size, row, &timed);
            if (taken < 0) return 0;
        }
        uint32_t run = timed ? (uint32_t)(scan->local.size / 8 - 1) : 0;
        PUSH(&scan->run, uint32_t, run);
        if (!taken) {
            if (!grow(&scan->left, 4)) return 0;
            PUSH(&scan->left, uint32_t, row);
        }
    }
    return 1;
}

static int are_views(struct ArrowArrayStream *stream) {
    struct ArrowSchema schema = {0};
    if (stream->get_schema(stream, &schema) != 0) return 0;
    int views = strcmp(schema.format, "vu") == 0;
    if (schema.release != NULL) schema.release(&schema);
    return views;
}

/* 1: done; 0: no memory; -1: texts in another form than string views */
static int scan_stream(Scan *scan, struct ArrowArrayStream *stream) {
    if (!are_views(stream)) return -1;
    int64_t begin = 0; /* run 0: lines without a time */
    if (!grow(&scan->local, 8)) return 0;
    PUSH(&scan->local, int64_t, begin);
    for (;;) {
        struct ArrowArray array = {0};
        if (stream->get_next(stream, &array) != 0) return -1;
        if (array.release == NULL) return 1;
        scan->last = (Text){NULL, 0}; /* the texts of the last array are gone */
        int done = array.n_buffers >= 2 && scan_array(scan, &array);
        array.release(&array);
        if (!done) return 0;
    }
}

static PyObject *part_of(Layout *layout, int place) {
    PyObject *columns = PyTuple_New(layout->width);
    if (columns == NULL) return NULL;
    for (int number = 0; number < layout->width; number++) {
        char kind = layout->formats[number];
        PyObject *made = column(kind == 'i' ? "l" : kind == 'f' ? "g" : "C", &layout->columns[number], layout->hits, NULL, 0);
        if (made == NULL || PyTuple_SetItem(columns, number, made) < 0) {
            Py_DECREF(columns);
            return NULL;
        }
    }
    PyObject *rows = column("I", &layout->rows, layout->hits, NULL, 0);
    PyObject *tails = rows == NULL ? NULL : column("I", &layout->tails, layout->hits, NULL, 0);
    if (tails == NULL) {
        Py_XDECREF(rows);
        Py_DECREF(columns);
        return NULL;
    }
    return Py_BuildValue("(iNNN)", place, rows, tails, columns);
}

static PyObject *result_of(Scan *scan) {
    PyObject *parts = PyList_New(0);
    if (parts == NULL) return NULL;
    for (int number = 0; number < scan->layout_count; number++) {
        if (scan->layouts[number].hits == 0) continue;
        PyObject *part = part_of(&scan->layouts[number], number);
        if (part == NULL || PyList_Append(parts, part) < 0) {
            Py_XDECREF(part);
            Py_DECREF(parts);
            return NULL;
        }
        Py_DECREF(part);
    }
    int64_t left = (int64_t)(scan->left.size / 4), runs = (int64_t)(scan->local.size / 8);
    char *validity = malloc((size_t)runs / 8 + 1);
    if (validity == NULL) {
        Py_DECREF(parts);
        return PyErr_NoMemory();
    }
    memset(validity, 0xff, (size_t)runs / 8 + 1);
    validity[0] &= (char)0xfe;
    PyObject *columns[3] = {column("I", &scan->left, left, NULL, 0), NULL, NULL};
    columns[1] = column("tsu:", &scan->local, runs, validity, 1);
    columns[2] = column("I", &scan->run, scan->rows, NULL, 0);
    if (columns[0] == NULL || columns[1] == NULL || columns[2] == NULL) {
        for (int number = 0; number < 3; number++) Py_XDECREF(columns[number]);
        Py_DECREF(parts);
        return NULL;
    }
    return Py_BuildValue("(NNNN)", parts, columns[0], columns[1], columns[2]);
}

static void free_scan(Scan *scan) {
    for (int number = 0; number < scan->form_count; number++) free(scan->forms[number].tails), free(scan->forms[number].slots);
    for (int number = 0; scan->layouts != NULL && number < scan->layout_count; number++) {
        Layout *layout = &scan->layouts[number];
        free(layout->rows.data), free(layout->tails.data);
        for (int place = 0; place < layout->width; place++) free(layout->columns[place].data);
    }
    free(scan->layouts);
    free(scan->left.data), free(scan->run.data), free(scan->local.data);
    free(scan);
}

static PyObject *scan(PyObject *module, PyObject *args) {
    PyObject *capsule, *forms, *layouts;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO!O!", &capsule, &PyTuple_Type, &forms, &PyTuple_Type, &layouts)) return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    Scan *made = calloc(1, sizeof *made);
    if (made == NULL) return PyErr_NoMemory();
    PyObject *result = NULL;
    if (read_program(made, forms, layouts)) {
        int done;
        Py_BEGIN_ALLOW_THREADS
        done = scan_stream(made, stream);
        Py_END_ALLOW_THREADS
        if (done == 0) PyErr_NoMemory();
        else if (done < 0 || made->odd) result = Py_NewRef(Py_None);
        else result = result_of(made);
    }
    free_scan(made);
    return result;
}

/* --- how texts begin: the first bytes of a text lie in its view, whatever its length --- */

static void note_beginnings(const struct ArrowArray *array, uint8_t *seen) {
    const uint8_t *validity = array->buffers[0];
    for (int64_t place = array->offset; place < array->offset + array->length; place++) {
        if (validity != NULL && !((validity[place >> 3] >> (place & 7)) & 1)) continue;
        const uint8_t *view = (const uint8_t *)array->buffers[1] + 16 * place;
        int32_t size;
        memcpy(&size, view, 4);
        unsigned pair = (unsigned)(size > 0 ? view[4] : 0) << 8 | (size > 1 ? view[5] : 0);
        seen[pair >> 3] |= (uint8_t)(1 << (pair & 7));
    }
}

static PyObject *beginnings(PyObject *module, PyObject *capsule) {
    (void)module;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    uint8_t seen[8192] = {0};
    int views;
    Py_BEGIN_ALLOW_THREADS
    views = are_views(stream);
    while (views) {
        struct ArrowArray array = {0};
        if (stream->get_next(stream, &array) != 0) views = 0;
        if (array.release == NULL) break;
        if (array.n_buffers >= 2) note_beginnings(&array, seen);
        else views = 0;
        array.release(&array);
    }
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

/* --- whether there is anything but printable ASCII --- */

static int all_printable(const char *text, size_t size) {
    unsigned odd = 0; /* without a branch, so that the compiler may take many bytes at once */
    for (size_t at = 0; at < size; at++) odd |= (uint8_t)(text[at] - 0x20) > 0x5e;
    return !odd;
}

static int printable_array(const struct ArrowArray *array) {
    const uint8_t *validity = array->buffers[0];
    for (int64_t place = array->offset; place < array->offset + array->length; place++) {
        if (validity != NULL && !((validity[place >> 3] >> (place & 7)) & 1)) continue;
        size_t size;
        const char *text = text_at(array, place, &size);
        if (!all_printable(text, size)) return 0;
    }
    return 1;
}

static PyObject *are_printable(PyObject *module, PyObject *capsule) {
    (void)module;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return NULL;
    int printable;
    Py_BEGIN_ALLOW_THREADS
    printable = are_views(stream);
    while (printable) {
        struct ArrowArray array = {0};
        if (stream->get_next(stream, &array) != 0) printable = 0;
        if (array.release == NULL) break;
        printable = printable && array.n_buffers >= 2 && printable_array(&array);
        array.release(&array);
    }
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(printable);
}

static PyMethodDef methods[] = {
    {"are_printable", are_printable, METH_O, "are_printable(stream) -> whether all texts are of printable ASCII"},
    {"beginnings", beginnings, METH_O, "beginnings(stream) -> bytes, two for each beginning, or None"},
    {"scan", scan, METH_VARARGS,
     "scan(stream, forms, layouts) -> (parts, left, local, run) or None\n\n"
     "None: the lines are for the expressions alone. A column is a pair of capsules (schema, array)."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "PROGRAM", PROGRAM) < 0) Py_CLEAR(module);
    return module;
}
